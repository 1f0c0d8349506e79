//===- Choice.cpp - What to execute for which size ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Choice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <limits>

using namespace sccl;

Choice Choices::make(const LoadedProgram &program, plan::Path path,
                     uint64_t pieceBytes, const char *reason) const {
  Choice choice{&program, nullptr, nullptr, path, pieceBytes, reason};
  for (const LoadedProgram &other : *programs) {
    if (other.info->schedule != program.info->schedule ||
        other.info->blocks != program.info->blocks)
      continue;
    // Switches lack types and reductions.
    if (!other.touchesPeers() && !other.isAtSwitch() && !choice.aloof)
      choice.aloof = &other;
    if (other.hasCopies() && !choice.copying)
      choice.copying = &other;
  }
  return choice;
}

/// The choices of `from` that this device can execute.
std::vector<Choices::SizedChoice>
Choices::choicesOf(const plan::SizeTable &from, const char *reason) const {
  std::vector<SizedChoice> result;
  for (const plan::SizeChoice &entry : from.choices) {
    // Another program of the same schedule is the next best.
    const LoadedProgram *best = nullptr;
    for (const LoadedProgram &program : *programs) {
      if (program.index == entry.program)
        best = &program;
      if (!best &&
          program.info->schedule == manifest->programs[entry.program].schedule)
        best = &program;
    }
    if (!best)
      continue;
    uint64_t first = result.empty() ? 0 : entry.firstByte;
    result.push_back(
        {first, make(*best, entry.path, entry.pieceBytes, reason)});
  }
  return result;
}

bool Choices::take(const plan::SizeTable &from, const char *reason) {
  choices = choicesOf(from, reason);
  table = &from;
  return !choices.empty();
}

void Choices::resolve(const plan::Manifest &plan,
                      const std::vector<LoadedProgram> &loaded,
                      const std::string &target, bool isOneProcess) {
  constexpr const char *modelled = "cheapest in the cost model";
  manifest = &plan;
  programs = &loaded;
  const char *ranksAs = isOneProcess ? "threads" : "processes";
  auto isAtSwitch = [&](const plan::SizeChoice &entry) {
    return !plan.programs[entry.program].switchGroups.empty();
  };
  auto isLacking = [&](const plan::SizeChoice &entry) {
    return isAtSwitch(entry) &&
           llvm::none_of(loaded, [&](const LoadedProgram &program) {
             return program.index == entry.program;
           });
  };
  otherChoices.clear();
  for (const plan::SizeTable &table : plan.tables)
    if (table.source == "model" && llvm::none_of(table.choices, isAtSwitch))
      otherChoices = choicesOf(table, modelled);
  for (const plan::SizeTable &table : plan.tables)
    if (table.source == "measured" && table.target == target &&
        table.ranksAs == ranksAs && llvm::none_of(table.choices, isLacking) &&
        take(table, measured))
      return;
  // First those of which all can be done here.
  for (bool mayLack : {false, true})
    for (const plan::SizeTable &table : plan.tables)
      if (table.source == "model" &&
          (mayLack || llvm::none_of(table.choices, isLacking)) &&
          take(table, modelled))
        return;
  table = nullptr;
  choices = {{0, make(loaded.front(), plan::Path::Auto, 0, "the only one")}};
}

const Choice &Choices::at(const std::vector<SizedChoice> &sized,
                          uint64_t bytes) {
  auto next = std::upper_bound(sized.begin(), sized.end(), bytes,
                               [](uint64_t size, const SizedChoice &choice) {
                                 return size < choice.firstByte;
                               });
  return std::prev(next)->choice;
}

const Choice &Choices::forBytes(uint64_t bytes) const {
  return forced ? *forced : at(choices, bytes);
}

const Choice &Choices::withoutSwitches(uint64_t bytes) const {
  return at(otherChoices.empty() ? choices : otherChoices, bytes);
}

/// On straight lines between what the table has, and beyond its end.
static double interpolate(const std::vector<SizedTime> &times, uint64_t bytes) {
  if (times.empty())
    return std::numeric_limits<double>::infinity();
  auto isLess = [](const SizedTime &time, uint64_t size) {
    return time.bytes < size;
  };
  auto next = std::lower_bound(times.begin(), times.end(), bytes, isLess);
  if (next == times.begin() || times.size() == 1)
    return times.front().nanoseconds;
  if (next == times.end())
    --next;
  const SizedTime &a = *std::prev(next), &b = *next;
  double slope = (double(b.nanoseconds) - double(a.nanoseconds)) /
                 double(b.bytes - a.bytes);
  // A measurement may get less from size to size, but not for ever.
  return b.bytes < bytes
             ? b.nanoseconds + std::max(slope, 0.0) * double(bytes - b.bytes)
             : a.nanoseconds + slope * double(bytes - a.bytes);
}

Expectation Choices::expect(uint64_t bytes) const {
  Expectation result;
  result.isMeasured = choices.front().choice.reason == measured;
  static const std::vector<SizedTime> none;
  result.nanoseconds = interpolate(table ? table->times : none, bytes);
  return result;
}

Status Choices::set(const scclChoice *choice, const std::string &target) {
  if (!choice) {
    forced.reset();
    return {};
  }
  for (const LoadedProgram &program : *programs)
    if (int(program.index) == choice->program) {
      if (unsigned(choice->path) > unsigned(scclPathStaging))
        return invalid("path is " + std::to_string(int(choice->path)) +
                       ", expected 0 to 2");
      forced = make(program, plan::Path(choice->path), choice->pieceBytes,
                    "set by the caller");
      return {};
    }
  return {scclErrorUnsupported, "program " + std::to_string(choice->program) +
                                    " has no code for " + target};
}
