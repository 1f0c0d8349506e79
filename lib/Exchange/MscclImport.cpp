//===- MscclImport.cpp - From algorithms of MSCCL to schedules ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclTrace.h"
#include "TraceSchedule.h"

#include "sccl/Check/ScheduleChecker.h"

#include <set>

using namespace sccl;
using namespace sccl::exchange;

/// The links that sends go over, of bandwidth 1.
static Topology linksOf(const Schedule &schedule, unsigned ranks) {
  std::set<std::pair<unsigned, unsigned>> ends;
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends)
      ends.insert({send.src, send.dst});
  Topology topology("imported", ranks);
  for (auto [src, dst] : ends)
    (void)topology.addLink(src, dst, 1);
  return topology;
}

/// Which cells hold which chunks, before and after.
static TraceTask taskOf(const MscclAlgorithm &algorithm,
                        const MscclLayout &layout,
                        const Collective &collective) {
  using enum CollectiveKind;
  TraceTask task{collective, {}, {}, {}};
  unsigned ranks = collective.numRanks(), chunks = collective.chunks();
  unsigned part = unsigned(algorithm.chunks) / ranks;
  CollectiveKind kind = collective.kind();
  bool sendsOwn = kind == AllGather || kind == AllToAll;
  for (unsigned rank = 0; rank < ranks; ++rank) {
    task.cells.push_back(layout.numCells(rank));
    for (unsigned i = 0; i < layout.numInputs(); ++i)
      if (unsigned chunk = i + (sendsOwn ? rank * chunks : 0);
          collective.pre().contains(rank, chunk))
        task.inputs.push_back(
            {rank, layout.cell(rank, MscclBuffer::Input, i), chunk});
    for (unsigned i = 0; i < layout.numOutputs(); ++i) {
      unsigned chunk = kind == ReduceScatter ? rank * part + i
                       : kind == AllToAll
                           ? i / part * chunks + rank * part + i % part
                           : i;
      if (collective.post().contains(rank, chunk))
        task.outputs.push_back(
            {rank, layout.cell(rank, MscclBuffer::Output, i), chunk});
    }
  }
  return task;
}

Result<MscclSchedule> exchange::fromMsccl(const MscclAlgorithm &algorithm,
                                          const MscclCheckOptions &options) {
  Findings findings;
  auto refuse = [&] {
    const Finding &first = findings.first().front();
    return Error{std::to_string(first.place.line) + ":" +
                 std::to_string(first.place.column) + ": " + first.message};
  };
  std::optional<MscclVerdict> verdict =
      checkMsccl(algorithm, options, findings);
  if (!verdict)
    return refuse();
  auto ranks = unsigned(algorithm.gpus.size());
  bool gathers = verdict->kind == CollectiveKind::AllGather;
  Result<Collective> collective = Collective::make(
      verdict->kind, ranks, unsigned(algorithm.chunks) / (gathers ? ranks : 1),
      options.root);
  if (!collective)
    return Error{collective.error()};
  bool inPlace = !verdict->outOfPlace;
  MscclLayout layout(algorithm, verdict->kind, inPlace);
  Trace trace = makeMscclTrace(algorithm, layout, inPlace, findings);
  auto order = orderEvents(trace, findings);
  if (!order || !findings.empty())
    return refuse();
  Result<Schedule> schedule =
      scheduleOf(trace, *order, taskOf(algorithm, layout, *collective));
  if (!schedule)
    return Error{schedule.error()};
  Topology topology = linksOf(*schedule, ranks);
  fitRounds(*schedule, topology);
  if (auto violation = checkSchedule(topology, *collective, *schedule))
    return Error{"as a schedule it is refused: " + violation->message};
  return MscclSchedule{std::move(topology), std::move(*collective),
                       std::move(*schedule)};
}
