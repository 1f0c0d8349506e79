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

bool sccl::areAdvised(const std::vector<SizedSchedule> &schedules) {
  auto isSilent = [](const SizedSchedule &schedule) {
    return !schedule.bestAt;
  };
  auto isNowhere = [](const SizedSchedule &schedule) {
    return schedule.bestAt->empty();
  };
  return std::ranges::none_of(schedules, isSilent) &&
         !std::ranges::all_of(schedules, isNowhere);
}

/// By size: the time of the best one there, and its program.
using Advised = std::map<uint64_t, std::pair<uint64_t, unsigned>>;

static Advised join(const std::vector<SizedSchedule> &schedules) {
  Advised best;
  for (const SizedSchedule &schedule : schedules)
    for (const plan::SizedTime &time : *schedule.bestAt) {
      auto [it, isNew] =
          best.try_emplace(time.bytes, time.nanoseconds, schedule.program);
      if (!isNew && time.nanoseconds < it->second.first)
        it->second = {time.nanoseconds, schedule.program};
    }
  return best;
}

plan::SizeTable
sccl::tableOfAdvice(const std::vector<SizedSchedule> &schedules) {
  plan::SizeTable table;
  table.source = "model";
  uint64_t before = 0, last = 0;
  for (const auto &[bytes, best] : join(schedules)) {
    auto [nanoseconds, program] = best;
    if (table.choices.empty())
      table.choices.push_back({0, program, plan::Path::Auto, 0});
    if (program != table.choices.back().program) {
      uint64_t mean = std::llround(std::sqrt(double(before) * double(bytes)));
      table.choices.push_back(
          {std::clamp(mean, before + 1, bytes), program, plan::Path::Auto, 0});
    }
    table.times.push_back({bytes, nanoseconds});
    before = bytes;
    last = nanoseconds;
  }
  double rate = before == 0 ? 0 : double(last) / double(before);
  table.times.push_back(
      {before + farther, last + wholeNanoseconds(rate * farther)});
  return table;
}
