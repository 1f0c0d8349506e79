//===- MessageWaiting.cpp - Waiting for messages, and for how long --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageEngine.h"

#include "Runtime/Devices/Device.h"

#include <algorithm>

using namespace sccl;

/// The first rank that this one waits for; `isReceive` if it is for a message
/// from it, else it has to take one.
unsigned MessageEngine::firstAwaited(bool &isReceive) const {
  auto first = [](const std::vector<unsigned> &counts) {
    unsigned peer = 0;
    while (peer < counts.size() && counts[peer] == 0)
      ++peer;
    return peer;
  };
  unsigned peer = first(awaited);
  isReceive = peer < awaited.size();
  if (!isReceive)
    peer = first(untaken);
  return peer < awaited.size() ? peer : sender.lateRank();
}

/// Asks those that this rank waits for whether they are there.
void MessageEngine::askAround() {
  constexpr double first = 0.5, interval = 0.125;
  if (limit.share() < std::max(nextQuestion, first))
    return;
  nextQuestion = limit.share() + interval;
  bool isReceive;
  unsigned mainPeer = firstAwaited(isReceive);
  for (unsigned peer = 0; peer < awaited.size(); ++peer)
    if (awaited[peer] != 0 || untaken[peer] != 0 || peer == mainPeer)
      group.ask(peer, mainPeer);
}

/// Nothing has come or gone for the time limit. Who is to blame?
Status MessageEngine::giveUp() {
  bool isReceive;
  unsigned peer = firstAwaited(isReceive);
  if (unsigned suspect = group.inquiry().suspect();
      suspect != Inquiry::nobody) {
    peer = suspect;
    isReceive = awaited[peer] != 0;
  }
  std::string text =
      group.hasWaited() +
      (isReceive ? " for a message from " : " for a message to be taken by ") +
      group.nameOf(peer) + ", " + group.explainSilence(peer);
  group.raise({scclErrorTimeout, peer, group.rank()}, text);
  return group.poison();
}

/// Who waits for long tells which call it is in: one who makes another call may
/// wait for this rank.
void MessageEngine::tellOfCall(Clock::duration waited) {
  constexpr std::chrono::milliseconds patience{50};
  if (hasTold || waited < patience)
    return;
  hasTold = true;
  if (slicesLeft != 0)
    group.tellAllOfCall("");
  else if (launch)
    group.tellCall(launch->program->peers(), "");
  else
    group.tellCall(roundPeers, "");
}

/// Nothing was to be done.
Status MessageEngine::wait() {
  Clock::time_point now = Clock::now();
  tellOfCall(now - lastMove);
  // Whoever only waits for others that wait leaves it to them to say for whom.
  // So does a rank that suspects several: one of them may only not have been
  // given the processor, and another rank, which waits for one, names that one.
  constexpr double grace = 1.25;
  if (limit.isOver() &&
      (group.inquiry().suspects().size() == 1 || limit.share() > grace))
    return giveUp();
  askAround();
  // Two ranks may each have the ways to the other full of what the other cannot
  // receive yet. What it needs before gets through then.
  constexpr std::chrono::milliseconds patience{100};
  if (now - std::max(lastMove, lastExtra) > patience) {
    lastExtra = now;
    if (Status status = startSends(/*insists=*/true); !status.ok())
      return status;
  }
  Patience::rest(now - lastMove);
  return {};
}

/// Takes what has ended, or waits.
Status MessageEngine::awaitMore() {
  if (Status status = takeEnded(); !status.ok())
    return status;
  if (!hasMoved)
    return wait();
  hasMoved = false;
  lastMove = Clock::now();
  limit.restart();
  nextQuestion = 0;
  group.restartInquiry();
  return {};
}
