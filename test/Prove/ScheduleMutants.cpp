//===- ScheduleMutants.cpp - Schedules with one change --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Changes.h"
#include "Mutants.h"

#include "Check/SlowReplay.h"

using namespace sccl;
using namespace sccl::test;

namespace {
using Change = ScheduleChange::Change;

/// A change of the send alone.
Change ofSend(bool (*change)(const RandomCase &given, Send &send,
                             Random &random)) {
  return [=](const RandomCase &given, Schedule &schedule, size_t step,
             size_t index, Random &random) {
    return change(given, schedule.steps[step].sends[index], random);
  };
}

/// Removes the send, and adds it to the step `distance` later.
Change moveBy(int distance) {
  return [=](const RandomCase &, Schedule &schedule, size_t step, size_t index,
             Random &) {
    if (step + distance >= schedule.steps.size())
      return false;
    std::vector<Send> &sends = schedule.steps[step].sends;
    schedule.steps[step + distance].sends.push_back(sends[index]);
    sends.erase(sends.begin() + index);
    return true;
  };
}

/// Adds the send once more to the step `distance` later.
Change repeatAfter(unsigned distance) {
  return [=](const RandomCase &, Schedule &schedule, size_t step, size_t index,
             Random &) {
    if (step + distance >= schedule.steps.size())
      return false;
    Send send = schedule.steps[step].sends[index];
    schedule.steps[step + distance].sends.push_back(send);
    return true;
  };
}

bool dropSend(const RandomCase &, Schedule &schedule, size_t step, size_t index,
              Random &) {
  std::vector<Send> &sends = schedule.steps[step].sends;
  sends.erase(sends.begin() + index);
  return true;
}
bool dropStep(const RandomCase &, Schedule &schedule, size_t step, size_t,
              Random &) {
  schedule.steps.erase(schedule.steps.begin() + step);
  return true;
}
bool swapSteps(const RandomCase &, Schedule &schedule, size_t step, size_t,
               Random &) {
  if (step + 1 == schedule.steps.size())
    return false;
  std::swap(schedule.steps[step], schedule.steps[step + 1]);
  return true;
}
bool joinSteps(const RandomCase &, Schedule &schedule, size_t step, size_t,
               Random &) {
  if (step + 1 == schedule.steps.size())
    return false;
  std::vector<Send> &sends = schedule.steps[step].sends;
  std::vector<Send> &next = schedule.steps[step + 1].sends;
  schedule.steps[step].rounds += schedule.steps[step + 1].rounds;
  sends.insert(sends.end(), next.begin(), next.end());
  schedule.steps.erase(schedule.steps.begin() + step + 1);
  return true;
}
bool fewerRounds(const RandomCase &, Schedule &schedule, size_t step, size_t,
                 Random &) {
  --schedule.steps[step].rounds;
  return true;
}

/// A random link that the topology has, with the same source or destination.
bool redirect(const RandomCase &given, Send &send, Random &random) {
  const std::vector<Link> &links = given.topology.links();
  const Link &other = links[random() % links.size()];
  bool isOther = (other.src == send.src) != (other.dst == send.dst);
  if (isOther)
    std::tie(send.src, send.dst) = std::tie(other.src, other.dst);
  return isOther;
}
bool otherChunk(const RandomCase &given, Send &send, Random &random) {
  unsigned numChunks = given.implementation.collective.numChunks();
  if (numChunks == 1)
    return false;
  send.chunk = (send.chunk + 1 + random() % (numChunks - 1)) % numChunks;
  return true;
}
bool chunkBeyond(const RandomCase &given, Send &send, Random &) {
  send.chunk = given.implementation.collective.numChunks();
  return true;
}
bool turnRound(const RandomCase &, Send &send, Random &) {
  std::swap(send.src, send.dst);
  return true;
}
bool toSelf(const RandomCase &, Send &send, Random &) {
  send.dst = send.src;
  return true;
}
bool rankBeyond(const RandomCase &given, Send &send, Random &) {
  send.dst = given.topology.numRanks();
  return true;
}
bool otherAction(const RandomCase &, Send &send, Random &) {
  send.action =
      send.action == SendAction::Copy ? SendAction::Reduce : SendAction::Copy;
  return true;
}
bool otherPayload(const RandomCase &given, Send &send, Random &) {
  send.payload = send.payload == SendPayload::Current ? SendPayload::Input
                                                      : SendPayload::Current;
  return given.implementation.collective.combining();
}

} // namespace

const std::vector<ScheduleChange> &test::scheduleChanges() {
  static const std::vector<ScheduleChange> classes = {
      {"send dropped", dropSend},
      {"send twice in a step", repeatAfter(0)},
      {"send again in the next step", repeatAfter(1)},
      {"send a step later", moveBy(1)},
      {"send a step earlier", moveBy(-1)},
      {"send over another link", ofSend(redirect)},
      {"send turned round", ofSend(turnRound)},
      {"send to its own rank", ofSend(toSelf)},
      {"send to no rank", ofSend(rankBeyond)},
      {"send of another chunk", ofSend(otherChunk)},
      {"send of no chunk", ofSend(chunkBeyond)},
      {"copy for reduce, or back", ofSend(otherAction)},
      {"input for sum, or back", ofSend(otherPayload)},
      {"step dropped", dropStep},
      {"steps swapped", swapSteps},
      {"steps joined", joinSteps},
      {"a round less", fewerRounds},
  };
  return classes;
}

bool test::changeOne(RandomCase &mutant, const ScheduleChange &one,
                     Random &random) {
  Schedule &schedule = mutant.implementation.schedule;
  for (unsigned tries = 0; tries < 8; ++tries) {
    size_t step = random() % schedule.steps.size();
    if (schedule.steps[step].sends.empty())
      continue;
    size_t send = random() % schedule.steps[step].sends.size();
    if (one.change(mutant, schedule, step, send, random))
      return !schedule.steps.empty();
  }
  return false;
}

static Fate judge(const RandomCase &mutant) {
  const auto &[collective, schedule] = mutant.implementation;
  auto fast = checkSchedule(mutant.topology, collective, schedule);
  // The slow replay knows no numbers out of range.
  if (fast && fast->rule == Violation::Rule::MalformedSend)
    return {Fate::Caught, "the check of schedules"};
  std::optional<Verdict> slow =
      slowCheck(mutant.topology, collective, schedule);
  if (fast.has_value() != slow.has_value())
    return {Fate::Missed, fast ? "the slow replay" : "the check of schedules"};
  if (fast)
    return {Fate::Caught, "the check of schedules"};
  if (std::optional<std::string> wrong = findFault(mutant))
    return {Fate::Missed, "all checks (" + *wrong + ")"};
  return {Fate::Equivalent, "two checks, and it runs"};
}

void test::mutateSchedule(const RandomCase &given, Random &random,
                          KillMatrix &matrix) {
  for (const ScheduleChange &one : scheduleChanges()) {
    RandomCase mutant = given;
    if (changeOne(mutant, one, random))
      matrix.add("schedule", one.name, judge(mutant));
  }
}
