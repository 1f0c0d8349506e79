//===- ImportExport.h - Between coll ops and the Model ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The Model is what solvers and checkers work on; the ops are what people and
// passes read. Imports report every problem as a diagnostic on the op that
// causes it.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_DIALECT_COLL_IMPORTEXPORT_H
#define SCCL_DIALECT_COLL_IMPORTEXPORT_H

#include "sccl/Dialect/Coll/Way.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/OrderedSums.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Support/LLVM.h"

#include <string>

namespace sccl::coll {

class CollectiveOp;
class GroupedOp;
class ProgramOp;
class ScheduleOp;
class SendOpInterface;
class SynthesizeOp;
class TopologyOp;

/// The Model's view of `op`. Emits an error and fails if a constraint of
/// `coll.topology` is broken.
mlir::FailureOr<Topology> importTopology(TopologyOp op);
/// The Model's view of a user-defined collective.
mlir::FailureOr<Collective> importCollective(CollectiveOp op);
/// The same of one in groups. It is called what its symbol is.
mlir::FailureOr<Collective> importCollective(GroupedOp op);
/// The collectives that `module` defines, in groups or by conditions, in order.
/// Emits an error and fails if one is none.
mlir::FailureOr<std::vector<Collective>>
importCollectives(mlir::ModuleOp module);
/// What `op` does with each of its chunks; the chunk is the first one.
Send importSend(SendOpInterface op);
/// The sends of `op`, in its order. Numbers of ranks and chunks are not
/// checked.
Schedule importSchedule(ScheduleOp op);
/// The order, of those `asked` for, in which ranks sum up what `op`, of
/// `collective`, sends, with each sum rounded once if `oneRounding`.
OrderedSums importOrder(ScheduleOp op, const Collective &collective,
                        const SumOrder &asked, bool oneRounding);
/// The `ways` of `op`, and back; null if there are none.
std::vector<Way> importWays(ScheduleOp op);
mlir::ArrayAttr exportWays(mlir::MLIRContext *context,
                           llvm::ArrayRef<Way> ways);

/// A topology and a collective that an op names.
struct Problem {
  Topology topology;
  Collective collective;
};
/// Looks up what `op` names and builds both. Emits an error on `op` and fails
/// if a symbol is missing, or the collective does not exist for these numbers.
mlir::FailureOr<Problem> importProblem(ScheduleOp op);
mlir::FailureOr<Problem> importProblem(ProgramOp op);
/// Likewise all that `op` asks for; fails also where Instance::make does.
mlir::FailureOr<Instance> importInstance(SynthesizeOp op);

/// Creates the ops at the builder's insertion point. The name of a topology
/// becomes its symbol, with characters that read badly in IR replaced.
TopologyOp exportTopology(mlir::OpBuilder &builder, mlir::Location loc,
                          const Topology &topology);
/// The numbers of the limits of `topology` in the order of the ops that
/// `exportTopology` makes, in which `importTopology` numbers them.
std::vector<unsigned> exportedLimits(const Topology &topology);
/// A coll.collective, or a coll.grouped if it has groups.
void exportCollective(mlir::OpBuilder &builder, mlir::Location loc,
                      const Collective &collective);
/// Sends of a step that differ in their chunks only become one op.
/// Names the collective by its keyword, or if it is user-defined by the symbol
/// of its name, whose op must exist. An empty `certificate` is none.
ScheduleOp exportSchedule(mlir::OpBuilder &builder, mlir::Location loc,
                          llvm::StringRef name, llvm::StringRef topologySymbol,
                          const Collective &collective,
                          const Schedule &schedule,
                          llvm::StringRef certificate = "",
                          llvm::ArrayRef<Way> ways = {});

/// A module with a topology, the collective if it is user-defined, and a
/// schedule called `name`. Loads the dialect into `context`.
mlir::OwningOpRef<mlir::ModuleOp>
exportModule(mlir::MLIRContext &context, llvm::StringRef name,
             const Topology &topology, const Collective &collective,
             const Schedule &schedule, llvm::StringRef certificate = "",
             llvm::ArrayRef<Way> ways = {});

/// A copy of the module of `schedule` that holds no other schedule.
mlir::OwningOpRef<mlir::ModuleOp> extract(ScheduleOp schedule);

/// The symbol that `exportTopology` gives to a topology called `name`:
/// "torus:4x4" becomes "torus_4x4".
std::string topologySymbolName(llvm::StringRef name);

} // namespace sccl::coll

#endif // SCCL_DIALECT_COLL_IMPORTEXPORT_H
