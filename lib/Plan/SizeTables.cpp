//===- SizeTables.cpp - Which program for which size ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/SizeTables.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace sccl;

/// The last line of the times needs another point, however far.
static constexpr uint64_t farther = uint64_t(1) << 30;

plan::SizeTable sccl::tableOfModel(const std::vector<SizedSchedule> &schedules,
                                   const CostModel &model) {
  std::vector<Cost> costs;
  for (const SizedSchedule &schedule : schedules)
    costs.push_back(schedule.cost);
  plan::SizeTable table;
  table.source = "model";
  auto addTime = [&](size_t schedule, uint64_t bytes) {
    double time = model.microseconds(costs[schedule], bytes) * 1e3;
    table.times.push_back({bytes, wholeNanoseconds(time)});
  };
  std::vector<SizeRange> ranges = selectBySize(costs, model);
  for (const SizeRange &range : ranges) {
    table.choices.push_back(
        {range.firstByte, schedules[range.best].program, plan::Path::Auto, 0});
    addTime(range.best, range.firstByte);
  }
  addTime(ranges.back().best, ranges.back().firstByte + farther);
  return table;
}

bool sccl::areAdvised(const std::vector<AdvisedProgram> &programs) {
  return std::ranges::any_of(programs, [](const AdvisedProgram &program) {
    return !program.bestAt.empty();
  });
}

/// By size: the best time there, and its program.
using Advised = std::map<uint64_t, std::pair<SizedTime, unsigned>>;

static Advised join(const std::vector<AdvisedProgram> &programs) {
  Advised best;
  for (const AdvisedProgram &program : programs)
    for (const SizedTime &time : program.bestAt) {
      auto [it, isNew] = best.try_emplace(time.bytes, time, program.program);
      if (!isNew && time.nanoseconds < it->second.first.nanoseconds)
        it->second = {time, program.program};
    }
  return best;
}

plan::SizeTable
sccl::tableOfAdvice(const std::vector<AdvisedProgram> &programs) {
  plan::SizeTable table;
  table.source = "model";
  uint64_t before = 0, last = 0;
  for (const auto &[bytes, best] : join(programs)) {
    const auto &[time, program] = best;
    if (table.choices.empty())
      table.choices.push_back({0, program, plan::Path::Auto, 0});
    if (program != table.choices.back().program) {
      uint64_t mean = std::llround(std::sqrt(double(before) * double(bytes)));
      table.choices.push_back(
          {std::clamp(mean, before + 1, bytes), program, plan::Path::Auto, 0});
    }
    table.times.push_back(time);
    before = bytes;
    last = time.nanoseconds;
  }
  double rate = before == 0 ? 0 : double(last) / double(before);
  table.times.push_back(
      {before + farther, last + wholeNanoseconds(rate * farther)});
  return table;
}

std::vector<plan::SizeChoice>::const_iterator
sccl::choiceFor(const plan::SizeTable &table, double bytes) {
  // The first choice is from 0 bytes on.
  auto isAbove = [&](const plan::SizeChoice &choice) {
    return double(choice.firstByte) > bytes;
  };
  return std::prev(std::ranges::find_if(table.choices, isAbove));
}

llvm::ArrayRef<SizedTime> sccl::advisedTimes(const plan::SizeTable &table) {
  auto hasBound = [](const SizedTime &time) { return time.bound > 0; };
  if (std::ranges::none_of(table.times, hasBound))
    return {};
  return llvm::ArrayRef(table.times).drop_back();
}
