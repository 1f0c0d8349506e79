//===- ProgramEmitter.h - Code for one rank's channels ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H
#define SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H

#include "Helpers.h"
#include "ProgramCode.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace sccl::coll {

/// The arguments of a rank's function, in the order of KernelABI.h.
struct KernelArguments {
  mlir::Value input, output, scratch, control, peers, abort, segment, distance,
      table;

  static KernelArguments of(mlir::ValueRange values);
  /// Types of the arguments for pointers of type `pointer`.
  static llvm::SmallVector<mlir::Type> types(mlir::Type pointer);
  /// Emits loads of all of them from the RankArguments at `record`.
  static KernelArguments load(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value record);
};

/// Emits calls of the helpers into one straight line of code: a channel of a
/// GPU kernel, or a whole rank on the host.
class ProgramEmitter {
public:
  /// Code goes to the builder's insertion point, tables to the end of `module`.
  /// `block` is the number of the thread block within its channel, as i32.
  ProgramEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                 const ProgramCode &code, const KernelArguments &arguments,
                 mlir::Value block);
  /// The same with arguments that are loaded from the RankArguments at `record`
  /// for each use.
  ProgramEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                 const ProgramCode &code, mlir::Value record,
                 mlir::Value block);

  /// Begins the launch by the epoch word of channel number `channel` of
  /// `rank`. Without it, launches are not counted, and flags are out of use.
  void begin(unsigned rank, unsigned channel);
  /// Emits a call for each row. `flagTable` is the symbol of the table of
  /// flags.
  void emitUnrolled(llvm::ArrayRef<CodeRow> rows, llvm::StringRef flagTable);
  /// Emits one call that executes `count` rows, from number `first` on, of the
  /// table `codeTable`.
  void emitTable(llvm::StringRef codeTable, unsigned first, unsigned count,
                 llvm::StringRef flagTable);
  /// Ends the launch.
  void end();

private:
  mlir::Value constant(int64_t value);
  mlir::Value constant32(int64_t value);
  mlir::Value offset(mlir::Value base, mlir::Value bytes);
  mlir::Value addressOf(llvm::StringRef table, uint64_t bytes);
  mlir::Value buffer(int32_t where);
  void reload();
  void appendSlot(const CodeSlot &slot,
                  llvm::SmallVectorImpl<mlir::Value> &operands);
  void emitTransfer(const CodeRow &row);
  void emitFlags(const CodeRow &row, llvm::StringRef flagTable);
  void call(llvm::StringRef helper, mlir::ValueRange arguments);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const ProgramCode &code;
  KernelArguments arguments;
  mlir::Value record; ///< null if arguments are values
  mlir::Value block;
  mlir::Value epochRow;
  mlir::Value launch;
};

/// Creates the table `name` of 32-bit words at the builder's insertion point.
void createTable(mlir::OpBuilder &builder, mlir::Location loc,
                 llvm::StringRef name, llvm::ArrayRef<int32_t> words,
                 unsigned addressSpace);
/// The words of all rows, one after the other.
std::vector<int32_t> tableWords(llvm::ArrayRef<CodeRow> rows);
std::vector<int32_t> tableWords(llvm::ArrayRef<FlagRow> rows);

/// Emits an error and fails if `module` holds a schedule, or something that
/// becomes one, or a program that is not finished: with copies by engines, but
/// without barriers.
llvm::LogicalResult requireLowered(mlir::ModuleOp module);
/// Removes every coll op at the top of `module`: after a conversion, nothing
/// refers to topologies and collectives any more.
void eraseCollOps(mlir::ModuleOp module);

/// True if `program` combines chunks.
bool hasCombine(ProgramOp program);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H
