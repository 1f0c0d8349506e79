//===- CallHistory.cpp - The calls of ranks, to be compared ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallHistory.h"

using namespace sccl;

void CallHistory::begin(const Announcement &what) {
  uint64_t history = ControlPlane::extend(current().history, what);
  ++number;
  marks[number % marks.size()] = {number, history, what.signature, what.count};
}

const CallMark *CallHistory::find(const CallMark &mark) const {
  const CallMark &own = marks[mark.number % marks.size()];
  return own.number == mark.number && mark.number != 0 ? &own : nullptr;
}

bool CallHistory::differs(unsigned peer, const CallMark &mark) {
  if (mark.number > number) {
    numEarly += early[peer].number == 0;
    early[peer] = mark;
    return false;
  }
  const CallMark *own = find(mark);
  return own && own->history != mark.history;
}

unsigned CallHistory::findEarly() {
  unsigned found = early.size();
  for (unsigned peer = 0; peer < early.size() && numEarly != 0; ++peer) {
    if (early[peer].number == 0 || early[peer].number > number)
      continue;
    // The text needs the mark of a rank that differs.
    if (early[peer].number == number && !early[peer].isSameAs(current()))
      return peer;
    early[peer].number = 0;
    --numEarly;
  }
  return found;
}

/// "launched", with "another count", or whatever differs.
static std::string describeLaunch(const CallMark &mark, const CallMark &own,
                                  const std::string &who,
                                  const std::string &self) {
  AbortCause cause;
  bool isKnown = mark.signature != CallMark::unknown;
  if (isKnown)
    cause.differences = ControlPlane::compare({mark.signature, mark.count},
                                              {own.signature, own.count});
  if (cause.differences == 0 && isKnown)
    return "an earlier call of " + who +
           " was for something else than that of " + self;
  return who + " launched with another " + cause.describeDifferences() +
         " than " + self;
}

std::string CallHistory::describe(const CallMark &mark, const std::string &who,
                                  const std::string &self,
                                  const std::string &note) const {
  const CallMark *own = find(mark);
  if (!own)
    return "what " + who + " sent is not of the call that " + self +
           " is in: ranks have made other calls";
  if (mark.signature == ControlPlane::refused &&
      own->signature != ControlPlane::refused)
    return "a call of " + who + " has failed" +
           (note.empty() ? "" : ": " + note) + "; " + self + " made it";
  if (own->signature == ControlPlane::refused &&
      mark.signature != ControlPlane::refused)
    return "a call of " + self + " has failed that " + who + " made";
  if (own->signature == gather && mark.signature != gather)
    return who + " launched where " + self +
           " loads a plan, allocates memory or splits the communicator";
  if (mark.signature == gather && own->signature != gather)
    return self + " launched where " + who +
           " loads a plan, allocates memory or splits the communicator";
  if (mark.signature == gather && mark.count != own->count)
    return who + " makes another collective call than " + self;
  return describeLaunch(mark, *own, who, self);
}
