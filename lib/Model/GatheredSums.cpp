//===- GatheredSums.cpp - Sums of inputs that all are gathered ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/GatheredSums.h"

#include "ScheduleEdits.h"

#include "sccl/Model/CollectiveFamily.h"

#include <algorithm>
#include <numeric>
#include <ranges>

using namespace sccl;

namespace {
/// The sends that bring one input to the other rank.
struct Way {
  struct Hop {
    unsigned step;
    Send send;
  };
  std::vector<Hop> hops;     ///< in order
  std::vector<bool> isRelay; ///< by rank
};

/// Pairs the inputs of two ranks whose ways share no relay.
class Pairing {
public:
  /// Both have as many.
  Pairing(const std::vector<Way> &first, const std::vector<Way> &second)
      : first(first), second(second), partnerOf(second.size(), none) {}

  /// By input of the second rank the one of the first; nothing if some are left
  /// over.
  std::optional<std::vector<unsigned>> find() {
    for (unsigned i = 0; i < first.size(); ++i) {
      tried.assign(second.size(), false);
      if (!place(i))
        return std::nullopt;
    }
    return partnerOf;
  }

private:
  static constexpr unsigned none = ~0u;

  bool mayMeet(unsigned i, unsigned j) const {
    for (size_t rank = 0; rank < first[i].isRelay.size(); ++rank)
      if (first[i].isRelay[rank] && second[j].isRelay[rank])
        return false;
    return true;
  }
  /// Finds a partner for input `i`, if need be by finding others new ones.
  bool place(unsigned i) {
    for (unsigned j = 0; j < second.size(); ++j) {
      if (tried[j] || !mayMeet(i, j))
        continue;
      tried[j] = true;
      if (partnerOf[j] != none && !place(partnerOf[j]))
        continue;
      partnerOf[j] = i;
      return true;
    }
    return false;
  }

  const std::vector<Way> &first, &second;
  std::vector<unsigned> partnerOf;
  std::vector<bool> tried;
};
} // namespace

/// By chunk of the all_gather the sends on its way to `target`, from there
/// back. Fails if it does not get there from `source`.
static Result<std::vector<Way>> waysTo(const Implementation &gather,
                                       unsigned firstChunk, unsigned source,
                                       unsigned target) {
  unsigned numRanks = gather.collective.numRanks();
  unsigned count = gather.collective.chunks();
  std::vector<Way> ways(count, {{}, std::vector<bool>(numRanks)});
  std::vector<unsigned> at(count, target);
  const std::vector<Step> &steps = gather.schedule.steps;
  for (unsigned step = unsigned(steps.size()); step-- > 0;)
    for (const Send &send : steps[step].sends) {
      unsigned i = send.chunk - firstChunk;
      bool isOfTarget = i < count && at[i] != source && send.dst == at[i];
      if (!isOfTarget ||
          (!ways[i].hops.empty() && ways[i].hops.back().step == step))
        continue;
      ways[i].hops.push_back({step, send});
      at[i] = send.src;
      if (send.src != source)
        ways[i].isRelay[send.src] = true;
    }
  for (unsigned i = 0; i < count; ++i) {
    if (at[i] != source)
      return Error{"chunk " + std::to_string(firstChunk + i) +
                   " does not get to rank " + std::to_string(target)};
    std::ranges::reverse(ways[i].hops);
  }
  return ways;
}

/// Adds the sends of `way` as those of `chunk` of the sum.
static void addWay(const Way &way, unsigned chunk, Schedule &schedule) {
  for (const Way::Hop &hop : way.hops) {
    Send send = hop.send;
    send.chunk = chunk;
    send.action = SendAction::Reduce;
    send.payload =
        &hop == &way.hops.front() ? SendPayload::Input : SendPayload::Current;
    schedule.steps[hop.step].sends.push_back(send);
  }
}

Result<Implementation> sccl::sumOnArrival(const Implementation &allGather) {
  const Collective &gather = allGather.collective;
  if (std::optional<Error> error = checkNumbers(allGather))
    return *error;
  if (gather.groupKind() != CollectiveKind::AllGather)
    return Error{"only an all_gather brings all inputs, got " + quoted(gather)};
  RankGroups groups = gather.groups();
  if (groups.empty()) {
    groups.emplace_back(gather.numRanks());
    std::iota(groups[0].begin(), groups[0].end(), 0u);
  }
  Result<Collective> sum =
      CollectiveFamily{CollectiveKind::AllReduce, 0, gather.groups()}.make(
          gather.numRanks(), gather.chunks());
  if (!sum)
    return Error{sum.error()};
  Schedule schedule;
  schedule.period = allGather.schedule.period;
  for (const Step &step : allGather.schedule.steps)
    schedule.steps.push_back({step.rounds, {}});
  unsigned chunks = gather.chunks();
  for (unsigned group = 0; group < groups.size(); ++group) {
    if (groups[group].size() != 2)
      return Error{
          "arrivals are added up in pairs of ranks only, a group has " +
          std::to_string(groups[group].size())};
    unsigned one = groups[group][0], other = groups[group][1];
    Result<std::vector<Way>> there =
        waysTo(allGather, 2 * group * chunks, one, other);
    Result<std::vector<Way>> back =
        waysTo(allGather, (2 * group + 1) * chunks, other, one);
    for (const auto *ways : {&there, &back})
      if (!*ways)
        return Error{ways->error()};
    auto partners = Pairing(*there, *back).find();
    if (!partners)
      return Error{"too many of the ways between ranks " + std::to_string(one) +
                   " and " + std::to_string(other) + " share relays"};
    for (unsigned i = 0; i < chunks; ++i) {
      addWay((*there)[i], group * chunks + i, schedule);
      addWay((*back)[i], group * chunks + (*partners)[i], schedule);
    }
  }
  schedule.normalize();
  return Implementation{std::move(*sum), std::move(schedule)};
}
