//===- CallSchedule.cpp - The schedule that a call follows ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallLayout.h"
#include "TraceSums.h"
#include "UsedLinks.h"

#include "sccl/Check/ScheduleChecker.h"

#include <set>

using namespace sccl;
using namespace sccl::exchange;

Error exchange::firstError(const Findings &findings) {
  const Finding &first = findings.first().front();
  return Error{first.place.str() + ": " + first.message};
}

Topology exchange::usedLinks(const Schedule &schedule, unsigned ranks) {
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
static TraceTask taskOf(const CallLayout &layout,
                        const Collective &collective) {
  const Call &call = layout.call;
  TraceTask task{collective, {}, {}, {}};
  unsigned chunks = collective.chunks(), part = call.chunks / call.ranks;
  bool isAllToAll = call.kind == CollectiveKind::AllToAll;
  for (unsigned rank = 0; rank < call.ranks; ++rank) {
    task.cells.push_back(layout.numCells(rank));
    for (unsigned i = 0; i < call.inputs(); ++i)
      if (unsigned chunk =
              i + (call.gathers() || isAllToAll ? rank * chunks : 0);
          collective.pre().contains(rank, chunk))
        task.inputs.push_back({rank, layout.input(rank, i), chunk});
    for (unsigned i = 0; i < call.outputs(); ++i) {
      unsigned chunk = call.scatters() ? rank * part + i
                       : isAllToAll ? i / part * chunks + rank * part + i % part
                                    : i;
      if (collective.post().contains(rank, chunk))
        task.outputs.push_back({rank, layout.output(rank, i), chunk});
    }
  }
  return task;
}

/// `schedule` on the links that it uses, in the fewest rounds, if it is right.
static Result<FoundSchedule> onUsedLinks(Result<Schedule> schedule,
                                         const Collective &collective) {
  if (!schedule)
    return Error{schedule.error()};
  Topology topology = usedLinks(*schedule, collective.numRanks());
  fitRounds(*schedule, topology);
  if (auto violation = checkSchedule(topology, collective, *schedule))
    return Error{"as a schedule it is refused: " + violation->message};
  return FoundSchedule{std::move(topology), collective, std::move(*schedule)};
}

Result<FoundSchedule> exchange::scheduleOfCall(const CheckedCall &checked) {
  const Call &call = checked.layout.call;
  Result<Collective> collective =
      Collective::make(call.kind, call.ranks, call.inputs(), call.root);
  if (!collective)
    return Error{collective.error()};
  TraceTask task = taskOf(checked.layout, *collective);
  Result<FoundSchedule> found = onUsedLinks(
      scheduleOfValues(checked.trace, checked.order, task), *collective);
  if (found || !collective->combining())
    return found;
  return onUsedLinks(scheduleOfSums(checked.trace, checked.order, task),
                     *collective);
}
