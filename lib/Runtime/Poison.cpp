//===- Poison.cpp - Why a communicator is out of use ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Group.h"

#include <cstdio>

using namespace sccl;

static std::string rankText(unsigned rank) {
  return rank == AbortCause::noRank ? "a rank" : "rank " + std::to_string(rank);
}

/// What a timeout is blamed on. `note` is that of the late rank.
static std::string describeTimeout(const AbortCause &cause, double seconds,
                                   const std::string &note) {
  char limit[32];
  std::snprintf(limit, sizeof(limit), "%g s", seconds);
  if (cause.culprit == AbortCause::noRank)
    return std::string("a launch was not done after ") + limit;
  if (cause.isStopped)
    return "the process of " + rankText(cause.culprit) +
           " is stopped in a launch that " + rankText(cause.reporter) +
           " waited in for " + limit;
  return rankText(cause.culprit) + " did not begin a " +
         (cause.isElsewhere ? "call" : "launch") + " that " +
         rankText(cause.reporter) + " waited in for " + limit +
         (note.empty() ? "" : ": its last call failed: " + note);
}

std::string AbortCause::describeDifferences() const {
  std::string what;
  for (auto [kind, name] : {std::pair{difference::Plan, "plan"},
                            {difference::Count, "count"},
                            {difference::Type, "type"},
                            {difference::Reduction, "reduction"}})
    if (differences & kind && (what != "plan"))
      what += (what.empty() ? "" : " and ") + std::string(name);
  return what.empty() ? "plan, count, type or reduction" : what;
}

/// That they do, and which. `note` is that of the culprit.
static std::string describeMismatch(const AbortCause &cause,
                                    const std::string &note) {
  std::string who = rankText(cause.culprit), whom = rankText(cause.reporter);
  if (cause.differences & difference::Refused)
    return "a call of " + who + " has failed" +
           (note.empty() ? "" : ": " + note) + "; " + whom + " made it";
  if (cause.differences & difference::Past)
    return "an earlier launch of " + who +
           " was for something else than that "
           "of " +
           whom;
  if (cause.differences & difference::Memory)
    return who + " has allocated or freed other memory than " + whom;
  if (cause.differences & difference::Plan)
    return who + " launched another plan than " + whom;
  return who + " launched with another " + cause.describeDifferences() +
         " than " + whom;
}

Status AbortCause::describe(double seconds, const std::string &note) const {
  std::string who = rankText(culprit);
  switch (code) {
  case scclErrorAborted:
    return {code, who + " has aborted the communicator"};
  case scclErrorRankLost:
    return {code, "the process of " + who + " has ended during a " +
                      (isElsewhere ? "call" : "launch")};
  case scclErrorMismatch:
    return {code, describeMismatch(*this, note)};
  case scclErrorInvalidArgument:
    if (culprit != reporter)
      return {code, "a buffer of " + who + " is not memory that " +
                        rankText(reporter) + " can read"};
    break;
  case scclErrorTimeout:
    return {code, describeTimeout(*this, seconds, note)};
  default:
    break;
  }
  return {code, "the communicator failed on " + who +
                    (note.empty() ? "" : ": " + note)};
}

Status Group::poison() const {
  uint64_t word = plane.abortWord().load(std::memory_order_relaxed);
  if (word == 0)
    return {};
  AbortCause cause = AbortCause::decode(word);
  std::string note;
  if (cause.culprit < count)
    note = plane.readNote(cause.culprit);
  return cause.describe(config.timeoutSeconds, note);
}
