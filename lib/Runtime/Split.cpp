//===- Split.cpp - Groups of some ranks of a group ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Communicator.h"

#include <algorithm>

using namespace sccl;

namespace {
/// What ranks tell each other before they part.
struct SplitHello {
  int color, key;
  unsigned rank;
  ProcessId process;
  SharedMemoryHandle board;
  Outcome outcome;
};
} // namespace

/// Those of `color`, in the order of their new numbers.
static std::vector<SplitHello> membersOf(const std::vector<SplitHello> &all,
                                         int color) {
  std::vector<SplitHello> members;
  for (const SplitHello &hello : all)
    if (hello.color == color)
      members.push_back(hello);
  std::stable_sort(members.begin(), members.end(),
                   [](const auto &a, const auto &b) { return a.key < b.key; });
  return members;
}

Status Communicator::split(int color, int key, const scclConfig &config,
                           const Status &arguments,
                           std::unique_ptr<Membership> &result) const {
  auto board = std::make_shared<GatherBoard>();
  Status status = arguments;
  if (status.ok())
    status = board->create();
  SplitHello hello = {};
  hello.color = color;
  hello.key = key;
  hello.rank = theGroup->rank();
  hello.process = theGroup->processes[theGroup->rank()];
  hello.outcome = Outcome(status);
  if (status.ok())
    hello.board = board->handle();
  std::vector<SplitHello> all;
  if (Status gathered = theGroup->bootstrap.gather(hello, all); !gathered.ok())
    return gathered;
  if (status = theGroup->bootstrap.agree(status, all); !status.ok())
    return status;
  if (color < 0)
    return {};
  std::vector<SharedMemoryHandle> handles;
  std::vector<ProcessId> processes;
  unsigned rank = 0;
  for (const SplitHello &member : membersOf(all, color)) {
    if (member.rank == theGroup->rank())
      rank = handles.size();
    handles.push_back(member.board);
    processes.push_back(member.process);
  }
  // If this fails, the others learn of it when they join.
  status = board->open(rank, handles, processes, config.timeoutSeconds);
  Bootstrap bootstrap(GatherBoard::allGather, board.get(), rank,
                      handles.size());
  std::unique_ptr<Group> made;
  status = Group::create(rank, handles.size(), bootstrap, config, status, made);
  board->seal();
  if (!status.ok())
    return status;
  result = std::make_unique<Communicator>(std::move(made), std::move(board));
  return {};
}
