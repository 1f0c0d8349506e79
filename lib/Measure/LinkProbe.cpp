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

#include <algorithm>

using namespace mlir;
using namespace sccl;

FailureOr<HostPlan> sccl::compileLinkProbe(const Topology &topology,
                                           std::optional<unsigned> link,
                                           llvm::StringRef target) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  Link ends = link ? topology.links()[*link] : Link{0, 0};
  RankChunkSet before(topology.numRanks(), 1), after(topology.numRanks(), 1);
  before.insert(ends.src, 0);
  after.insert(ends.dst, 0);
  Result<Collective> handover = Collective::makeCustom(
      "handover", 1, /*combining=*/false, std::move(before), std::move(after));
  if (!handover)
    return emitError(UnknownLoc::get(&context), handover.error());
  Schedule schedule;
  if (link) {
    schedule.steps.emplace_back().sends.push_back({0, ends.src, ends.dst});
    fitRounds(schedule, topology);
  }
  auto module =
      coll::exportModule(context, "probe", topology, *handover, schedule);
  return HostPlan::compile(*module, LoweringOptions(), target);
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

static Result<LinkTimes> timeLink(PlanRank &rank,
                                  const LinkProbeOptions &options) {
  std::vector<double> microseconds;
  for (uint64_t bytes : {uint64_t(4), options.bytes / 8, options.bytes}) {
    Result<double> seconds = timeFor(rank, bytes, options);
    if (!seconds)
      return Error{seconds.error()};
    microseconds.push_back(*seconds * 1e6);
  }
  double more = double(options.bytes) - double(options.bytes / 8);
  double per = (microseconds[2] - microseconds[1]) / more;
  if (!(per > 0)) // noise: all that is known is what the long one took
    per = microseconds[2] / double(options.bytes);
  return LinkTimes{microseconds[0], per};
}

Result<LinkTimes> sccl::measureLink(const HostPlan &plan, const RankEnd &end,
                                    const scclConfig &config,
                                    const LinkProbeOptions &options) {
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, config);
  if (!rank)
    return Error{rank.error()};
  Result<LinkTimes> times = timeLink(**rank, options);
  Result<bool> left = (*rank)->leave();
  if (times && !left)
    return Error{left.error()};
  return times;
}
