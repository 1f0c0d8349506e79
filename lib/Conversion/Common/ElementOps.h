//===- ElementOps.h - Code that reduces elements ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Floats of less than 32 bits are extended to f32, reduced and rounded once.
// Where the target has no conversions of its own, they are written with
// integers and one f32 addition.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
#define SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H

#include "AverageBuilder.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Model/ElementType.h"

#include "mlir/IR/Types.h"
#include "mlir/IR/Value.h"

#include <string>
#include <vector>

namespace sccl::coll {

class CodeBuilder;

/// How to reduce two elements.
struct ElementOp {
  ElementType element;
  Reduction reduction;
  /// True if LLVM's conversions of f16 and bf16 need no run-time library.
  bool convertsHalves;

  /// The type of an element in memory: integers of its width, unless the
  /// target computes with it.
  mlir::Type type(mlir::MLIRContext *context) const;
  bool averages() const { return reduction == Reduction::Avg; }
  /// What a launch passes to choose this one among several, see KernelABI.h.
  uint64_t number() const {
    return reductionNumber(element.number, unsigned(reduction));
  }
  /// "f32_sum"
  std::string name() const;
  /// What does the same but for the last reduction: for averages of integers
  /// the sum, for sums and products of signed integers those of unsigned ones.
  ElementOp plain() const;
};

/// Each of the reductions on each of the types.
std::vector<ElementOp> makeElementOps(llvm::ArrayRef<Element> elements,
                                      llvm::ArrayRef<Reduction> reductions,
                                      bool convertsHalves);

/// What averages need to know beside their operands.
struct AverageOperands {
  AverageFactors factors;   ///< of floats
  mlir::Value divisor = {}; ///< of integers, in the last reduction
};

/// Which operands of a transfer are f32 in memory, where its elements are
/// smaller floats.
struct WideOperands {
  bool dst = false, src0 = false, src1 = false;

  bool any() const { return dst || src0 || src1; }
};

/// Builds code that reduces values of `lanes` elements each; 0 lanes are one
/// element that is not in a vector.
class ReduceBuilder {
public:
  using Value = mlir::Value;

  ReduceBuilder(CodeBuilder &code, const ElementOp &op, unsigned lanes,
                WideOperands operands = {});

  /// The type of the values in memory, f32 or that of the elements.
  mlir::Type memoryType(bool isF32 = false) const {
    return wide(isF32 ? f32 : type);
  }
  /// What a copy makes of a value of its source.
  Value convert(Value value);
  /// What reduce() of an average takes, from an AverageWord (i32); of the last
  /// reduction if it `divides`.
  AverageOperands averageOperands(Value word, bool divides);
  /// The reduction of two values. Averages need `average`.
  Value reduce(Value lhs, Value rhs, const AverageOperands &average = {});

  // The same of more values: in types that need no conversion, and rounded
  // once, at the end.

  using Values = llvm::SmallVector<Value>;
  Values begin(Value lhs, const AverageOperands &average);
  /// Goes on with what begin() has returned.
  void add(Values &sums, Value rhs, const AverageOperands &average);
  Value finish(const Values &sums, const AverageOperands &average);

private:
  /// Conversions written with integers are done for so many lanes at a time:
  /// the masks and words of 16 would fill the registers.
  unsigned partLanes() const {
    return element.saturates() && lanes > 4 ? 4 : lanes;
  }
  ReduceBuilder part() const { return {code, op, partLanes(), operands}; }
  unsigned numParts() const { return lanes == 0 ? 1 : lanes / partLanes(); }
  /// Part `index` of `value`.
  Value partOf(Value value, unsigned index);
  Value join(Values parts);
  bool isMeanOfFloats() const { return op.averages() && element.isFloat(); }
  bool selectsSmall() const;
  Value selectSmall(Value lhs, Value rhs);
  Value apply(Value lhs, Value rhs, ElementKind kind);
  Value divideInteger(Value value, Value divisor);
  Value selectByte(Value lhs, Value rhs);
  Value inOrder(Value byte);
  Value extend(Value value);
  Value extendBits(Value word);
  Value subnormalBits(Value shifted);
  Value round(Value value);
  Value roundBits(Value magnitude);
  Value roundSubnormal(Value magnitude, uint64_t unit);

  mlir::Type wide(mlir::Type element) const;
  /// `value` as i32 in all lanes.
  Value word(uint64_t value) const;
  Value toFloat(Value word);
  Value toWord(Value value);

  CodeBuilder &code;
  const ElementOp &op;
  const ElementType &element;
  unsigned lanes;
  mlir::Type type, f32;
  WideOperands operands;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_ELEMENTOPS_H
