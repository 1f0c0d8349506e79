//===- ElementType.h - Element types and reductions -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one table of what buffers can hold and how it can be combined. Every
// reduction is defined on every type; docs/Rationale/ElementTypes.md has the
// rules for rounding, overflow, NaN and division.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_ELEMENTTYPE_H
#define SCCL_MODEL_ELEMENTTYPE_H

#include "sccl/Model/Result.h"

#include <span>
#include <string>
#include <string_view>

namespace sccl {

enum class ElementKind { Float, Signed, Unsigned };

/// One row of the table.
struct ElementType {
  const char *name;
  const char *alias; ///< another accepted spelling, or nullptr
  unsigned bytes;
  ElementKind kind;
  // Of floats; 0 for integers. The exponent's bias is 2^(exponentBits-1) - 1.
  unsigned exponentBits = 0;
  unsigned mantissaBits = 0;
  /// False if the largest exponent holds numbers, all but its last mantissa.
  bool hasInfinity = false;

  bool isFloat() const { return kind == ElementKind::Float; }
  unsigned bits() const { return 8 * bytes; }
  unsigned bias() const { return (1u << (exponentBits - 1)) - 1; }
  /// Floats of 8 bits saturate: the sum of two finite numbers is finite.
  bool saturates() const { return isFloat() && bytes == 1; }
  /// Floats of less than 32 bits are combined as f32.
  bool combinesAsF32() const { return isFloat() && bytes < 4; }
};

enum class Reduction { Sum, Prod, Min, Max, Avg };

/// All element types, in the order of messages.
std::span<const ElementType> elementTypes();
/// All reductions, likewise.
std::span<const Reduction> reductions();
/// "sum".
const char *toString(Reduction reduction);

/// The element type with this name or alias. Fails with the list of names.
Result<ElementType> findElementType(std::string_view name);
/// The reduction with this name. Fails with the list of names.
Result<Reduction> findReduction(std::string_view name);

} // namespace sccl

#endif // SCCL_MODEL_ELEMENTTYPE_H
