//===- ElementType.h - Element types and reductions -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What buffers can hold and how it can be reduced; ElementTypes.def is the
// table. Every reduction is defined on every type;
// docs/Rationale/ElementTypes.md has the rules for rounding, overflow, NaN and
// division.
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

/// The types, in the order of messages.
enum class Element {
#define SCCL_ELEMENT_TYPE(id, ...) id,
#include "sccl/Model/ElementTypes.def"
};

/// One row of the table.
struct ElementType {
  Element id;
  const char *name;
  const char *alias; ///< another accepted spelling, or nullptr
  unsigned number;   ///< its scclDataType
  unsigned bytes;
  ElementKind kind;
  // Of floats; 0 for integers. The exponent's bias is 2^(exponentBits-1) - 1.
  unsigned exponentBits;
  unsigned mantissaBits;
  /// False if the largest exponent holds numbers, all but its last mantissa.
  bool hasInfinity;

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
/// The row of `element`.
const ElementType &elementType(Element element);
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
