//===- GatheredSums.cpp - Sums of inputs that are moved -------------------===//
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
/// What a chunk that is moved is in the sum.
struct Contribution {
  unsigned rank, chunk;
};
} // namespace

/// By chunk of what is moved.
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
static Result<Schedule> addArrivals(const Schedule &moved,
                                    const Collective &sum) {
  std::vector<Contribution> contributions = contributionsTo(sum);
  std::vector<SumMessage> messages;
  std::vector<Send> arrivals;
  std::map<std::pair<unsigned, unsigned>, size_t> arrived;
  std::map<std::pair<unsigned, unsigned>, PartialSum> results;
  for (unsigned step = 0; step < moved.steps.size(); ++step)
    for (const Send &send : moved.steps[step].sends) {
      auto [rank, chunk] = contributions[send.chunk];
      PartialSum carried{send.src == rank, {}};
      if (!carried.own) {
        auto at = arrived.find({send.src, send.chunk});
        if (at == arrived.end() || messages[at->second].step == step)
          return Error{"rank " + std::to_string(send.src) +
                       " passes on what it does not have"};
        carried.parts = {at->second};
      }
      bool isNew =
          arrived.try_emplace({send.dst, send.chunk}, messages.size()).second;
      if (isNew && sum.post().contains(send.dst, chunk))
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
  result.period = moved.period;
  for (const Step &step : moved.steps)
    result.steps.push_back({step.rounds, {}});
  for (size_t i = 0; i < messages.size(); ++i)
    if (std::optional<Send> &send = (*sends)[i]) {
      send->transport = arrivals[i].transport;
      result.steps[messages[i].step].sends.push_back(*send);
    }
  result.normalize();
  return result;
}

/// The collective that adds up what one of `kind` brings.
static std::optional<CollectiveKind> sumOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return CollectiveKind::AllReduce;
  case CollectiveKind::AllToAll:
    return CollectiveKind::ReduceScatter;
  case CollectiveKind::Gather:
    return CollectiveKind::Reduce;
  default:
    return std::nullopt;
  }
}

Result<Implementation> sccl::sumOnArrival(const Implementation &moves) {
  const Collective &moved = moves.collective;
  if (std::optional<Error> error = checkNumbers(moves))
    return *error;
  std::optional<CollectiveKind> kind = sumOf(moved.groupKind());
  if (!kind)
    return Error{"only an all_gather, an all_to_all and a gather bring all "
                 "inputs of a sum, got " +
                 quoted(moved)};
  Result<Collective> sum =
      CollectiveFamily{*kind, moved.root(), moved.groups()}.make(
          moved.numRanks(), moved.chunks());
  if (!sum)
    return Error{sum.error()};
  Result<Schedule> schedule = addArrivals(moves.schedule, *sum);
  if (!schedule)
    return Error{schedule.error()};
  return Implementation{std::move(*sum), std::move(*schedule)};
}
