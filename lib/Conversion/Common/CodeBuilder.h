//===- CodeBuilder.h - Code of helper functions -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Short names for the ops that helpers are made of, so that a helper reads like
// what it does, and so that only one source pays for the headers of the
// dialects.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_CODEBUILDER_H
#define SCCL_LIB_CONVERSION_COMMON_CODEBUILDER_H

#include "mlir/IR/Builders.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl::coll {

/// How an access is ordered with accesses to other addresses, at system scope.
/// All but plain ones are atomic.
enum class Order { Plain, Relaxed, Acquire, Release };

/// Comparisons of integers.
enum class Compare {
  Equal,
  NotEqual,
  SignedLess,
  SignedGreater,
  Less,
  AtLeast,
  Greater
};

/// Builds code at an insertion point. Operands must be values, not calls of the
/// builder, where an op has two of them: C++ does not say which comes first.
class CodeBuilder {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;
  using Block = llvm::function_ref<void()>;

  /// Pointers are of `addressSpace`.
  CodeBuilder(mlir::OpBuilder &builder, mlir::Location loc,
              unsigned addressSpace);

  /// For ops that have no name here.
  mlir::OpBuilder &ops() { return builder; }
  mlir::Location loc() const { return where; }

  mlir::Type i1, i8, i32, i64, pointer;
  mlir::Type vector(unsigned lanes, mlir::Type element) const;

  // Functions. They are never inlined: the code of a rank then grows by one
  // call per op.

  enum class Linkage { Internal, Hidden };
  /// A function, whose code `body` builds from its arguments. If it has a
  /// result, `body` ends with give(), else it falls off its end.
  void function(llvm::StringRef name, llvm::ArrayRef<mlir::Type> arguments,
                llvm::function_ref<void(mlir::ValueRange)> body,
                Linkage linkage = Linkage::Internal, mlir::Type result = {});
  /// Declares a function of the C library without arguments.
  void declare(llvm::StringRef name, mlir::Type result);
  /// Returns `value`.
  void give(Value value);
  /// Calls a function, which may come later, and returns its result, if any.
  Value call(llvm::StringRef name, mlir::ValueRange operands,
             mlir::Type result = {});
  /// Calls an intrinsic of LLVM without operands and results.
  void intrinsic(llvm::StringRef name);

  // Integers, and vectors of them.

  /// `value`, truncated to an integer type, or in all lanes of a vector.
  Value constant(uint64_t value, mlir::Type type);
  Value c32(int64_t value) { return constant(value, i32); }
  Value c64(int64_t value) { return constant(value, i64); }
  Value yes() { return constant(1, i1); }

  Value add(Value lhs, Value rhs);
  Value sub(Value lhs, Value rhs);
  Value mul(Value lhs, Value rhs);
  Value divide(Value lhs, Value rhs);
  Value divideSigned(Value lhs, Value rhs);
  Value remainder(Value lhs, Value rhs);
  Value bitAnd(Value lhs, Value rhs);
  Value bitOr(Value lhs, Value rhs);
  Value bitXor(Value lhs, Value rhs);
  Value shiftLeft(Value lhs, Value rhs);
  Value shiftRight(Value lhs, Value rhs);
  Value shiftRightSigned(Value lhs, Value rhs);
  Value min(Value lhs, Value rhs);
  Value minSigned(Value lhs, Value rhs);
  Value max(Value lhs, Value rhs);
  Value maxSigned(Value lhs, Value rhs);
  Value is(Compare compare, Value lhs, Value rhs);
  Value select(Value condition, Value yes, Value no);
  Value zeroExtend(Value value, mlir::Type type);
  Value signExtend(Value value, mlir::Type type);
  Value truncate(Value value, mlir::Type type);

  // Vectors.

  /// The bits of `value` as another type.
  Value bitcast(Value value, mlir::Type type);
  Value splat(Value value, unsigned lanes);
  Value extract(Value vector, unsigned lane);
  /// Lanes of the concatenation of two vectors.
  Value shuffle(Value lhs, Value rhs, llvm::ArrayRef<int32_t> lanes);

  // Memory.

  /// The address `bytes` (i64) behind `base`.
  Value at(Value base, Value bytes);
  Value at(Value base, int32_t bytes);
  Value toInteger(Value address);
  Value toPointer(Value integer);
  Value differ(Value lhs, Value rhs);
  /// Without an alignment, that of the type.
  Value load(mlir::Type type, Value address, unsigned alignment = 0,
             Order order = Order::Plain);
  void store(Value value, Value address, unsigned alignment = 0,
             Order order = Order::Plain);
  /// Two words of 64 bits, `ahead` bytes behind an address that is a multiple
  /// of 16, in one access of relaxed order at system scope. PTX only: there
  /// each word of the vector is loaded as if it were alone, which LLVM cannot
  /// say.
  Values loadPair(Value address, int32_t ahead);
  void storePair(Value first, Value second, Value address, int32_t ahead);
  // At the address of a group at its switch, by PTX; `ahead` bytes behind one
  // that is a multiple of 16.

  /// The reduction of 16 bytes, as `how` says ("add.v4.f32"): a vector of words
  /// of 32 or 64 bits.
  Value loadReduced(llvm::StringRef how, Value address, int32_t ahead);
  /// Has the switch store four words of 32 bits for all ranks.
  void multicast(Value words, Value address, int32_t ahead);
  /// Orders accesses by the address of a group with those by others to the same
  /// memory, before and after.
  void fenceSwitch();
  /// Stores without leaving the line in the cache.
  void storeStreaming(Value value, Value address, unsigned alignment);
  void copyMemory(Value dst, Value src, Value bytes);
  Value allocate(Value bytes, unsigned alignment);
  void fence(Order order);

  // Threads of a GPU.

  /// The number of the thread in its block, as `type`.
  Value threadId(mlir::Type type);
  /// Ticks of a clock that all blocks share, and that no sleep stops, as i64.
  Value time();
  void barrier();

  // Control.

  void when(Value condition, Block then, Block otherwise = nullptr);
  /// The value that `then` or `otherwise` returns.
  Value choose(Value condition, llvm::function_ref<Value()> then,
               llvm::function_ref<Value()> otherwise);
  /// The block of `then` whose place in `cases` is that of `value` (i32), else
  /// `otherwise`. It becomes branches: tables of jumps would be read through
  /// caches of their own on GPUs, which the audit forbids for all loads alike.
  void switchOver(Value value, llvm::ArrayRef<int64_t> cases,
                  llvm::function_ref<void(size_t)> then, Block otherwise);
  /// For each index from `from` to less than `to`, as signed numbers. `body`
  /// returns what is carried into the next round. Returns what the last one
  /// has.
  Values loop(Value from, Value to, Value step, mlir::ValueRange carried,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void loop(Value from, Value to, Value step,
            llvm::function_ref<void(Value)> body);
  /// What a round of whileLoop() decides: whether to go on, and its values.
  struct Decision {
    Value goesOn;
    Values values;
  };
  /// Evaluates `decide`, and, as long as it says so, `next` and again.
  /// Returns the values of the last decision.
  Values whileLoop(mlir::ValueRange initial, llvm::ArrayRef<mlir::Type> types,
                   llvm::function_ref<Decision(mlir::ValueRange)> decide,
                   llvm::function_ref<Values(mlir::ValueRange)> next);

private:
  mlir::OpBuilder &builder;
  mlir::Location where;
};

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_CODEBUILDER_H
