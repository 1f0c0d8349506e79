//===- Lowerings.cpp - The programs of candidates -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowerings.h"
#include "OneOrder.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Model/Threads.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Simulate/TimingOps.h"
#include "sccl/Simulate/Traffic.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace sccl;
using namespace sccl::advice;

namespace {
/// While this object lives, passes that are not yet running are left out once
/// `deadline` is over. What they leave behind is good for nothing.
class PassesUntil {
public:
  PassesUntil(mlir::MLIRContext &context, const Deadline &deadline)
      : context(context) {
    context.registerActionHandler([&deadline](llvm::function_ref<void()> run,
                                              const mlir::tracing::Action &) {
      if (!deadline.isOver())
        run();
    });
  }
  ~PassesUntil() { context.registerActionHandler(nullptr); }
  PassesUntil(const PassesUntil &) = delete;
  PassesUntil &operator=(const PassesUntil &) = delete;

private:
  mlir::MLIRContext &context;
};
} // namespace

Lowerings::Lowerings(mlir::MLIRContext &context, const Fabric &fabric,
                     const std::vector<Candidate> &candidates,
                     const std::vector<LoweringWay> &ways)
    : context(context), secondContext(context.getDialectRegistry(),
                                      mlir::MLIRContext::Threading::DISABLED),
      fabric(fabric), candidates(candidates), ways(ways) {
  this->ways.push_back({inNetworkName, optionsOf(*findWay(inNetworkName),
                                                 ways.front().options)});
}

/// What `read` sees in the program of `variant`.
template <typename Program>
Lowerings::Lowered<Program>
Lowerings::lower(mlir::MLIRContext &context, const Variant &variant,
                 bool isForMessages, const Deadline &deadline,
                 Read<Program> read) const {
  Result<Implementation> cut =
      cutIntoPieces(candidates[variant.candidate].implementation,
                    fabric.topology, variant.pieces, variant.order);
  if (!cut)
    return Error{cut.error()};
  const auto &[collective, schedule] = *cut;
  const LoweringOptions options = isForMessages
                                      ? messageLowering(wayOf(variant).options)
                                      : wayOf(variant).options;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      coll::exportModule(context, collective.name() + "_schedule",
                         fabric.topology, collective, schedule);
  coll::setTiming(*module->getOps<coll::TopologyOp>().begin(), fabric.topology,
                  fabric.timing);
  PassesUntil guard(context, deadline);
  // Programs that are only simulated; whoever runs one has it verified and
  // checked.
  mlir::PassManager manager(&context);
  manager.enableVerifier(false);
  if (isForMessages)
    addUncheckedMessageLowering(manager, options);
  else
    addUncheckedLowering(manager, options);
  mlir::LogicalResult lowered = manager.run(*module);
  if (deadline.isOver())
    return std::shared_ptr<const Program>();
  if (failed(lowered))
    return Error{"a schedule of C = " + std::to_string(collective.chunks()) +
                 ", S = " + std::to_string(schedule.steps.size()) +
                 " was not lowered with " + wayOf(variant).name};
  auto program = *module->getOps<coll::ProgramOp>().begin();
  if (mayBreakContract(*cut, options) &&
      !coll::isRight(program, collective, contractFor(options)))
    return std::shared_ptr<const Program>();
  mlir::FailureOr<Program> seen = read(program, collective, variant);
  if (failed(seen))
    return Error{"a program leaves the machine's links"};
  return std::make_shared<const Program>(std::move(*seen));
}

/// Lowers `variant` unless it is in `store`, while the second thread lowers
/// `next`. What is wrong with that one is said when it is asked for.
template <typename Program>
Lowerings::Lowered<Program>
Lowerings::lowerTwo(const Variant &variant, std::optional<Variant> next,
                    bool isForMessages, const Deadline &deadline,
                    Read<Program> read, ProgramStore<Program> &store) {
  if (auto known = store.find(variant))
    return *known;
  if (next && (*next == variant || store.find(*next)))
    next.reset();
  Beside<Lowered<Program>> other(
      [&] {
        mlir::ScopedDiagnosticHandler silent(
            &secondContext, [](mlir::Diagnostic &) { return mlir::success(); });
        return lower(secondContext, *next, isForMessages, deadline, read);
      },
      next.has_value());
  Lowered<Program> result =
      lower(context, variant, isForMessages, deadline, read);
  auto keep = [&](const Variant &made, const Lowered<Program> &lowered) {
    uint64_t sends =
        candidates[made.candidate].implementation.schedule.numSends();
    if (lowered && !deadline.isOver())
      store.add(made, *lowered, sends * made.pieces);
  };
  keep(variant, result);
  if (next)
    keep(*next, other.get());
  return result;
}

Lowerings::Lowered<Traffic>
Lowerings::traffic(const Variant &variant, const std::optional<Variant> &next,
                   const Deadline &deadline) {
  return lowerTwo<Traffic>(
      variant, next, /*isForMessages=*/false, deadline,
      [&](coll::ProgramOp program, const Collective &, const Variant &) {
        return coll::trafficOf(program, fabric.topology, /*chunkBytes=*/1);
      },
      traffics);
}

Lowerings::Lowered<MessageTraffic>
Lowerings::messages(const Variant &variant, const std::optional<Variant> &next,
                    const Deadline &deadline) {
  return lowerTwo<MessageTraffic>(
      variant, next, /*isForMessages=*/true, deadline,
      [&](coll::ProgramOp program, const Collective &collective,
          const Variant &lowered) {
        return messageTrafficOf(program, collective, fabric.topology,
                                *fabric.messages, lowered.pieces);
      },
      messageTraffics);
}
