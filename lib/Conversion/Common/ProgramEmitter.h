//===- ProgramEmitter.h - Code for one rank's channels ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H
#define SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H

#include "Helpers.h"

#include "sccl/Analysis/Program.h"
#include "sccl/Conversion/KernelABI.h"
#include "sccl/Model/Collective.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <array>

namespace sccl::coll {

/// The arguments of a rank's function, in the order of KernelABI.h.
struct KernelArguments {
  mlir::Value input, output, scratch, control, peers, abort, segment;

  static KernelArguments of(mlir::ValueRange values);
  /// Types of the arguments for pointers of type `pointer`.
  static llvm::SmallVector<mlir::Type> types(mlir::Type pointer);
};

/// What is the same for all ranks of one program.
struct ProgramContext {
  /// `averages` tells that the reduction is an average.
  ProgramContext(ProgramOp program, const Collective &collective,
                 bool averages);

  /// The symbol of the function of rank `rank`.
  std::string functionName(unsigned rank) const;

  std::string name;
  const Collective &collective;
  SignalCounts signals;
  ControlLayout layout;
  bool averages;
};

/// Emits calls of the helpers for the ops of one rank, into one straight line
/// of code: a channel of a GPU kernel, or a whole rank on the host.
class ProgramEmitter {
public:
  /// Code goes to the builder's insertion point. `block` is the number of the
  /// thread block within its channel, as i32.
  ProgramEmitter(mlir::OpBuilder &builder, mlir::Location loc,
                 const ProgramContext &context, unsigned rank,
                 const KernelArguments &arguments, mlir::Value block);

  /// Begins the launch by the epoch word of the channel to `peer`.
  void begin(unsigned peer);
  /// Emits one op of `channel`.
  void emit(ChannelOp channel, mlir::Operation *op);
  /// Ends the launch.
  void end();

private:
  mlir::Value constant(int64_t value);
  mlir::Value constant32(int64_t value);
  mlir::Value offset(mlir::Value base, mlir::Value bytes);
  mlir::Value peerAddress(unsigned peer, unsigned field);
  std::array<mlir::Value, 3> slotOperands(const SlotRange &range);
  llvm::SmallVector<mlir::Value> flagOperands(mlir::Value control, Flag flag,
                                              unsigned src, unsigned dst,
                                              unsigned value);
  void emitTransfer(mlir::Operation *op, const Transfer &transfer);
  void call(llvm::StringRef helper, mlir::ValueRange arguments);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const ProgramContext &context;
  unsigned rank;
  KernelArguments arguments;
  mlir::Value block;
  mlir::Value epochRow;
  mlir::Value launch;
};

/// Parses the helper functions into `body`, at its end.
void insertHelpers(mlir::Block &body, const HelperOptions &options);

/// Removes every coll op at the top of `module`: after a conversion, nothing
/// refers to topologies and collectives any more.
void eraseCollOps(mlir::ModuleOp module);

/// True if `program` has a coll.combine.
bool hasCombine(ProgramOp program);

} // namespace sccl::coll

#endif // SCCL_LIB_CONVERSION_COMMON_PROGRAMEMITTER_H
