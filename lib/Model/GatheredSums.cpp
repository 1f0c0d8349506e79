//===- GatheredSums.cpp - Sums of inputs that all are gathered ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/GatheredSums.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"
#include "sccl/Model/PartialSums.h"

#include <map>
#include <numeric>

using namespace sccl;

namespace {
/// What a chunk of an all_gather is in the sum.
struct Contribution {
  unsigned rank, chunk;
};
} // namespace

/// By chunk of the all_gather.
static std::vector<Contribution> contributionsTo(const Collective &sum) {
  RankGroups groups = sum.groups();
  if (groups.empty()) {
    groups.emplace_back(sum.numRanks());
    std::iota(groups[0].begin(), groups[0].end(), 0u);
  }
  std::vector<Contribution> contributions;
  for (unsigned group = 0; group < groups.size(); ++group)
    for (unsigned rank : groups[group])
      for (unsigned i = 0; i < sum.chunks(); ++i)
        contributions.push_back({rank, group * sum.chunks() + i});
  return contributions;
}

/// Each message is one input, and each result all that has arrived.
static Result<Schedule> addArrivals(const Schedule &gathered,
                                    const Collective &sum) {
  std::vector<Contribution> contributions = contributionsTo(sum);
  std::vector<SumMessage> messages;
  std::vector<Send> arrivals;
  std::map<std::pair<unsigned, unsigned>, size_t> arrived;
  std::map<std::pair<unsigned, unsigned>, PartialSum> results;
  for (unsigned step = 0; step < gathered.steps.size(); ++step)
    for (const Send &send : gathered.steps[step].sends) {
      auto [rank, chunk] = contributions[send.chunk];
      PartialSum carried{send.src == rank, {}};
      if (!carried.own) {
        auto at = arrived.find({send.src, send.chunk});
        if (at == arrived.end() || messages[at->second].step == step)
          return Error{"rank " + std::to_string(send.src) +
                       " passes on what it does not have"};
        carried.parts = {at->second};
      }
      arrived.try_emplace({send.dst, send.chunk}, messages.size());
      if (sum.post().contains(send.dst, chunk))
        results[{send.dst, chunk}].parts.push_back(messages.size());
      messages.push_back({step, chunk, send.src, send.dst, std::move(carried)});
      arrivals.push_back(send);
    }
  std::vector<SumResult> asked;
  for (auto &[place, result] : results) {
    result.own = sum.pre().contains(place.first, place.second);
    asked.push_back({place.first, place.second, std::move(result)});
  }
  auto sends = writePartialSums(sum, messages, asked);
  if (!sends)
    return Error{"a rank would keep more than " +
                 std::to_string(Send::maxKept) +
                 " arrivals of a chunk at a time"};
  Schedule result;
  result.period = gathered.period;
  for (const Step &step : gathered.steps)
    result.steps.push_back({step.rounds, {}});
  for (size_t i = 0; i < messages.size(); ++i)
    if (std::optional<Send> &send = (*sends)[i]) {
      send->transport = arrivals[i].transport;
      result.steps[messages[i].step].sends.push_back(*send);
    }
  result.normalize();
  return result;
}

Result<Implementation> sccl::sumOnArrival(const Implementation &allGather) {
  const Collective &gather = allGather.collective;
  if (std::optional<Error> error = checkNumbers(allGather))
    return *error;
  if (gather.groupKind() != CollectiveKind::AllGather)
    return Error{"only an all_gather brings all inputs, got " + quoted(gather)};
  Result<Collective> sum =
      CollectiveFamily{CollectiveKind::AllReduce, 0, gather.groups()}.make(
          gather.numRanks(), gather.chunks());
  if (!sum)
    return Error{sum.error()};
  Result<Schedule> schedule = addArrivals(allGather.schedule, *sum);
  if (!schedule)
    return Error{schedule.error()};
  return Implementation{std::move(*sum), std::move(*schedule)};
}
