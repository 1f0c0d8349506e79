//===- ElementOps.h - Code that combines elements ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats of less than 32 bits are extended to f32, combined and rounded once.
// Where the target has no conversions of its own, they are written with
// integers and one f32 addition.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
#define SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H

#include "sccl/Model/ElementType.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace sccl::coll {

/// How to combine two elements.
struct ElementOp {
  ElementType element;
  Reduction reduction;
  /// True if LLVM's conversions of f16 and bf16 need no run-time library.
  bool convertsHalves;

  /// The type of an element in memory, in the words of MLIR: "f32".
  std::string type() const;
  bool averages() const { return reduction == Reduction::Avg; }
};

/// Looks up an element type ("f32", "u8", ...) and a reduction ("sum", ...).
/// Fails with a message on a name it does not know.
Result<ElementOp> makeElementOp(llvm::StringRef element,
                                llvm::StringRef reduction, bool convertsHalves);

/// Writes MLIR text that combines values of `lanes` elements each; 0 lanes are
/// one element that is not in a vector.
class CombineWriter {
public:
  /// Takes the text of an operation with one result and returns the name that
  /// it has given to the result.
  using Define = llvm::function_ref<std::string(const std::string &)>;

  CombineWriter(const ElementOp &op, unsigned lanes, Define define)
      : op(op), element(op.element), lanes(lanes), define(define) {}

  /// The type of the values in memory.
  std::string memoryType() const { return wide(op.type()); }
  /// The value by which combine() divides, from one of type i32.
  std::string divisor(const std::string &value);
  /// The combination of two values, divided by `divisor` unless that is empty.
  std::string combine(const std::string &lhs, const std::string &rhs,
                      const std::string &divisor = "");

private:
  /// Conversions written with integers are done for so many lanes at a time:
  /// the masks and words of 16 would fill the registers.
  unsigned partLanes() const {
    return element.saturates() && lanes > 4 ? 4 : lanes;
  }
  std::string combineParts(const std::string &lhs, const std::string &rhs,
                           const std::string &divisor);
  std::string wide(llvm::StringRef type) const;
  std::string constant(uint64_t value, llvm::StringRef type);
  std::string binary(llvm::StringRef operation, const std::string &lhs,
                     const std::string &rhs, llvm::StringRef type);
  std::string integer(llvm::StringRef operation, const std::string &value,
                      uint64_t operand, llvm::StringRef type = "i32");
  std::string select(const std::string &condition, const std::string &yes,
                     const std::string &no, llvm::StringRef type = "i32");
  std::string convert(llvm::StringRef operation, const std::string &value,
                      llvm::StringRef from, llvm::StringRef to);
  std::string combineFull(const std::string &lhs, const std::string &rhs,
                          const std::string &divisor, llvm::StringRef type);
  std::string divideInteger(const std::string &value,
                            const std::string &divisor);
  std::string selectByte(const std::string &lhs, const std::string &rhs);
  std::string extend(const std::string &value);
  std::string extendBits(const std::string &word);
  std::string round(const std::string &value);
  std::string roundBits(const std::string &magnitude);

  const ElementOp &op;
  const ElementType &element;
  unsigned lanes;
  Define define;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
