//===- LinkProbe.cpp - What one link does ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/LinkProbe.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

#include <algorithm>

using namespace mlir;
using namespace sccl;

namespace {
/// Who has the only chunk before, and after.
struct Handover {
  std::vector<unsigned> before, after;
  bool reduces = false;
  Schedule schedule;
};
} // namespace

static FailureOr<HostPlan> compile(const Topology &topology, Handover handover,
                                   llvm::StringRef target, bool messages) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  registerBuiltinDialectTranslation(context);
  registerLLVMDialectTranslation(context);
  RankChunkSet before(topology.numRanks(), 1), after(topology.numRanks(), 1);
  for (unsigned rank : handover.before)
    before.insert(rank, 0);
  for (unsigned rank : handover.after)
    after.insert(rank, 0);
  Result<Collective> collective = Collective::makeCustom(
      "handover", 1, handover.reduces, std::move(before), std::move(after));
  if (!collective)
    return emitError(UnknownLoc::get(&context), collective.error());
  fitRounds(handover.schedule, topology);
  auto module = coll::exportModule(context, "probe", topology, *collective,
                                   handover.schedule);
  return HostPlan::compile(*module, LoweringOptions(), target, messages);
}

static Handover roundTripOver(const Link &link) {
  Handover result{{link.src, link.dst}, {link.src, link.dst}, true, {}};
  result.schedule.steps.emplace_back().sends.push_back(
      {0, link.src, link.dst, SendAction::Reduce});
  result.schedule.steps.emplace_back().sends.push_back({0, link.dst, link.src});
  return result;
}

FailureOr<LinkProbe> sccl::compileLinkProbe(const Topology &topology,
                                            std::optional<unsigned> number,
                                            llvm::StringRef target,
                                            bool messages) {
  Link link = number ? topology.links()[*number] : Link{0, 0};
  Handover handover{{link.src}, {link.dst}, false, {}};
  if (number)
    handover.schedule.steps.emplace_back().sends.push_back(
        {0, link.src, link.dst});
  auto there = compile(topology, handover, target, messages);
  if (failed(there))
    return failure();
  LinkProbe probe{std::move(*there), std::nullopt};
  if (!messages || !number || !topology.findLink(link.dst, link.src))
    return probe;
  auto back = compile(topology, roundTripOver(link), target, messages);
  if (failed(back))
    return failure();
  probe.roundTrip = std::move(*back);
  return probe;
}

/// Seconds for a message of `bytes`, whole elements of 4 bytes.
static Result<double> timeFor(PlanRank &rank, uint64_t bytes,
                              const LinkProbeOptions &options) {
  MeasureRequest request;
  request.count = std::max<uint64_t>(bytes / 4, 1);
  request.batches = options.batches;
  // Short ones follow each other, so that a clock can tell.
  request.launches = unsigned(
      std::clamp<uint64_t>((uint64_t(1) << 20) / (4 * request.count), 1, 100));
  Result<Measurement> measured = rank.measure(request);
  if (!measured)
    return Error{measured.error()};
  if (measured->wrong != 0)
    return Error{"wrong result in " + measured->firstWrong};
  return measured->seconds;
}

/// Microseconds of messages of each size.
static Result<std::vector<double>>
timeSizes(const HostPlan &plan, const RankEnd &end, const scclConfig &config,
          const LinkProbeOptions &options, llvm::ArrayRef<uint64_t> sizes) {
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, config);
  if (!rank)
    return Error{rank.error()};
  std::vector<double> microseconds;
  std::optional<Error> error;
  for (uint64_t bytes : sizes) {
    Result<double> seconds = timeFor(**rank, bytes, options);
    if (!seconds) {
      error = Error{seconds.error()};
      break;
    }
    microseconds.push_back(*seconds * 1e6);
  }
  Result<bool> left = (*rank)->leave();
  if (error)
    return *error;
  if (!left)
    return Error{left.error()};
  return microseconds;
}

Result<LinkTimes> sccl::measureLink(const LinkProbe &probe, const RankEnd &end,
                                    const scclConfig &config,
                                    const LinkProbeOptions &options) {
  Result<std::vector<double>> times =
      timeSizes(probe.handover, end, config, options,
                {4, options.bytes / 8, options.bytes});
  if (!times)
    return Error{times.error()};
  double more = double(options.bytes) - double(options.bytes / 8);
  double per = ((*times)[2] - (*times)[1]) / more;
  if (!(per > 0)) // noise: all that is known is what the long one took
    per = (*times)[2] / double(options.bytes);
  if (!probe.roundTrip)
    return LinkTimes{times->front(), 1, per};
  times = timeSizes(*probe.roundTrip, end, config, options, {4});
  if (!times)
    return Error{times.error()};
  return LinkTimes{times->front(), 2, per};
}
