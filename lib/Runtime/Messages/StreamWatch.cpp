//===- StreamWatch.cpp - Giving up what does not end in a stream ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamWatch.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace sccl;

/// The queue of a GPU has room for fewer.
static constexpr size_t mostWatched = 1024;

Status StreamWatch::dropEnded() {
  for (bool isReached = true; !launches.empty();) {
    if (Status status = launches.front().end->poll(isReached); !status.ok())
      return status;
    if (!isReached)
      break;
    spare.push_back(std::move(launches.front()));
    launches.pop_front();
    limit.restart();
    nextQuestion = 0;
    group.restartInquiry();
  }
  return {};
}

/// Where there is room there is a spare launch.
Status StreamWatch::makeRoom(bool &hasRoom) {
  if (launches.size() == mostWatched)
    if (Status status = dropEnded(); !status.ok())
      return status;
  hasRoom = launches.size() < mostWatched;
  if (!hasRoom || !spare.empty())
    return {};
  Launch made;
  for (std::unique_ptr<StreamEvent> *event : {&made.begin, &made.end}) {
    if (Status status = device.makeEvent(*event); !status.ok())
      return status;
    hasRoom &= *event != nullptr;
  }
  if (hasRoom)
    spare.push_back(std::move(made));
  return {};
}

Status StreamWatch::begin(void *stream) {
  isOpen = false;
  bool isCaptured = false, hasRoom = false;
  if (Status status = device.isCaptured(stream, isCaptured);
      !status.ok() || isCaptured)
    return status;
  if (Status status = makeRoom(hasRoom); !status.ok() || !hasRoom)
    return status;
  // For the null stream, behind what the caller has there.
  if (Status status = device.begin(stream); !status.ok())
    return status;
  if (Status status = spare.back().begin->record(stream); !status.ok())
    return status;
  if (launches.empty())
    limit.restart();
  isOpen = true;
  return {};
}

Status StreamWatch::end(void *stream) {
  if (!isOpen)
    return {};
  isOpen = false;
  if (Status status = spare.back().end->record(stream); !status.ok())
    return status;
  launches.push_back(std::move(spare.back()));
  launches.back().call = group.call().number;
  spare.pop_back();
  return {};
}

Status StreamWatch::look() {
  if (Status status = dropEnded(); !status.ok() || launches.empty())
    return status;
  const Launch &first = launches.front();
  bool hasBegun = false;
  if (Status status = first.begin->poll(hasBegun); !status.ok())
    return status;
  if (!hasBegun) {
    limit.restart();
    return {};
  }
  // A rank of another host may know who is late, where this one only knows of
  // some that do not answer.
  constexpr double grace = 1.25;
  bool isKnown;
  unsigned late = findLate(first.call, isKnown);
  if (limit.isOver() && (isKnown || limit.share() > grace))
    return giveUp(late, isKnown);
  askAround(first.call, late);
  return {};
}

/// As far as this rank knows.
bool StreamWatch::hasCalled(unsigned peer, uint64_t call) const {
  if (group.lastCallOf(peer) >= call || peer == group.rank())
    return true;
  if (!near)
    return false;
  auto found = llvm::find(near->ranks(), peer);
  return found != near->ranks().end() &&
         near->board().hasPosted(found - near->ranks().begin(), call);
}

/// A rank that is known not to have made the call, else one that has not
/// answered; `nobody` if all have made it.
unsigned StreamWatch::findLate(uint64_t call, bool &isKnown) const {
  unsigned silent = Inquiry::nobody;
  for (unsigned peer = 0; peer < group.numRanks(); ++peer) {
    if (hasCalled(peer, call))
      continue;
    isKnown = (near && llvm::is_contained(near->ranks(), peer)) ||
              group.inquiry().hasAnswered(peer);
    if (isKnown)
      return peer;
    if (silent == Inquiry::nobody)
      silent = peer;
  }
  isKnown = silent == Inquiry::nobody;
  return silent;
}

/// Asks those that may not have made the call how far they are.
void StreamWatch::askAround(uint64_t call, unsigned late) {
  constexpr double first = 0.5, interval = 0.125;
  if (limit.share() < std::max(nextQuestion, first))
    return;
  nextQuestion = limit.share() + interval;
  for (unsigned peer = 0; peer < group.numRanks(); ++peer)
    if (!hasCalled(peer, call))
      group.ask(peer, late);
}

Status StreamWatch::giveUp(unsigned late, bool isKnown) {
  std::string text = group.hasWaited() + " for a launch in its stream";
  AbortCause cause{scclErrorTimeout, AbortCause::noRank, group.rank()};
  if (late != Inquiry::nobody)
    cause.culprit = late;
  if (late == Inquiry::nobody)
    text +=
        ", which all ranks have made: what precedes it in streams of others "
        "may not have ended, or messages cannot get through";
  else if (isKnown)
    text += " that " + group.nameOf(late) + " has not made";
  else
    text += "; " + group.nameOf(late) +
            " does not answer: it has not made the call, does not ask for "
            "errors, has ended or cannot be reached";
  group.raise(cause, text);
  return group.poison();
}
