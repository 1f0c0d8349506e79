//===- InputSums.cpp - Candidates that add up inputs only -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputSums.h"

#include "sccl/Model/GatheredSums.h"
#include "sccl/Solver/Makers.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl;
using namespace sccl::advice;

/// The schedules that are candidates for a collective that moves what `family`
/// adds up, each once, step by step.
static std::vector<Implementation> movesFor(CollectiveKind kind,
                                            const Fabric &fabric,
                                            const CollectiveFamily &family,
                                            FrontierOptions options,
                                            const Deadline &deadline) {
  options.order = {};
  std::vector<Implementation> moves;
  Result<Found> found = findCandidates(
      fabric, {kind, family.root, family.groups}, options, deadline);
  if (!found)
    return moves;
  for (Candidate &candidate : found->candidates) {
    Implementation &move = candidate.implementation;
    move.schedule.period = 0;
    fitRounds(move.schedule, fabric.topology);
    if (!llvm::is_contained(
            llvm::map_range(moves,
                            [](const Implementation &other)
                                -> const Schedule & { return other.schedule; }),
            move.schedule))
      moves.push_back(std::move(move));
  }
  return moves;
}

/// What adds up what `moves` bring, as far as ranks can keep as much.
static std::vector<Implementation>
sumsOf(const std::vector<Implementation> &moves) {
  std::vector<Implementation> sums;
  for (const Implementation &move : moves)
    if (Result<Implementation> sum = sumOnArrival(move))
      sums.push_back(std::move(*sum));
  return sums;
}

/// Each of `scatters`, and then each of `gathers`, unless that has so many
/// sends that it takes seconds to lower.
static void joinAll(const std::vector<Implementation> &scatters,
                    const std::vector<Implementation> &gathers,
                    std::vector<Implementation> &sums) {
  constexpr uint64_t mostSends = 30'000;
  for (const Implementation &scatter : scatters)
    for (const Implementation &gather : gathers)
      if (Result<Implementation> sum = joinSum(
              scatter, gather, FrontierOptions::maxMaxChunks, mostSends))
        sums.push_back(std::move(*sum));
}

std::vector<Candidate> advice::inputSums(const Fabric &fabric,
                                         const CollectiveFamily &family,
                                         const FrontierOptions &options,
                                         const Deadline &deadline) {
  std::vector<Implementation> sums;
  auto moves = [&](CollectiveKind kind) {
    return movesFor(kind, fabric, family, options, deadline);
  };
  if (!isAsked(Maker::input_sums) || deadline.isOver())
    return {};
  if (family.kind == CollectiveKind::ReduceScatter) {
    sums = sumsOf(moves(CollectiveKind::AllToAll));
  } else if (family.kind == CollectiveKind::Reduce ||
             family.kind == CollectiveKind::AllReduce) {
    std::vector<Implementation> gathers = moves(
        family.kind == CollectiveKind::Reduce ? CollectiveKind::Gather
                                              : CollectiveKind::AllGather);
    sums = sumsOf(gathers);
    joinAll(sumsOf(moves(CollectiveKind::AllToAll)), gathers, sums);
  }
  std::vector<Candidate> candidates;
  for (Implementation &sum : sums) {
    fitRounds(sum.schedule, fabric.topology);
    llvm::append_range(candidates, candidatesOf(sum, fabric));
  }
  return candidates;
}
