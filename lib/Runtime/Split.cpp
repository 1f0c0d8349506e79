//===- Split.cpp - Groups of some ranks of a group ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>
#include <tuple>

using namespace sccl;

namespace {
/// What ranks tell each other before they part.
struct SplitHello {
  int color, key;
  unsigned rank;
  SharedMemoryHandle board;
  Outcome outcome;
};
} // namespace

/// A rank's number among those of its colour.
static unsigned placeOf(const Gathered<SplitHello> &all,
                        const SplitHello &member) {
  return std::count_if(all.begin(), all.end(), [&](const SplitHello &other) {
    return other.color == member.color &&
           std::tie(other.key, other.rank) < std::tie(member.key, member.rank);
  });
}

/// Maps the boards of all ranks of the colour of `own`.
static Status openBoard(GatherBoard &board, const Gathered<SplitHello> &all,
                        const SplitHello &own, unsigned numMembers,
                        const std::vector<ProcessId> &known,
                        double limitSeconds) {
  std::vector<SharedMemoryHandle> handles(numMembers);
  std::vector<ProcessId> processes(numMembers);
  for (const SplitHello &member : all)
    if (member.color == own.color) {
      unsigned place = placeOf(all, member);
      handles[place] = member.board;
      processes[place] = known[member.rank];
    }
  return board.open(placeOf(all, own), handles, processes, limitSeconds);
}

Status Communicator::split(int color, int key, const scclConfig &config,
                           const Status &arguments,
                           std::unique_ptr<Membership> &result) const {
  std::shared_ptr<GatherBoard> board;
  Status status = attempt([&] {
    board = std::make_shared<GatherBoard>();
    return arguments.ok() ? board->create() : arguments;
  });
  SplitHello hello = {};
  hello.color = color;
  hello.key = key;
  hello.rank = theGroup->rank();
  hello.outcome = Outcome(status);
  if (status.ok())
    hello.board = board->handle();
  Gathered<SplitHello> all(numRanks());
  if (Status gathered = theGroup->bootstrap.gather(hello, all); !gathered.ok())
    return gathered;
  if (status = theGroup->bootstrap.agree(status, all); !status.ok())
    return status;
  if (color < 0)
    return {};
  unsigned rank = placeOf(all, hello);
  unsigned numMembers =
      std::count_if(all.begin(), all.end(), [&](const SplitHello &other) {
        return other.color == color;
      });
  // If this fails, the others learn of it when they join.
  status = attempt([&] {
    return openBoard(*board, all, hello, numMembers, theGroup->processes,
                     config.timeoutSeconds);
  });
  Bootstrap bootstrap(GatherBoard::allGather, board.get(), rank, numMembers);
  bootstrap.explainBy(GatherBoard::explain);
  // Until there is a communicator of its own.
  board->watch(theGroup->plane);
  status = Communicator::create(bootstrap, rank, config, status, board, result);
  board->seal();
  return status;
}
