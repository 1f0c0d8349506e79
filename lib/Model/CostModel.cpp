//===- CostModel.cpp - Time in the alpha-beta model -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/CostModel.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace sccl;

/// The size from which on `next` is cheaper than `current`; nothing if never.
static std::optional<uint64_t> crossover(const Cost &current, const Cost &next,
                                         const CostModel &model) {
  if (!(next.bandwidth < current.bandwidth))
    return std::nullopt;
  double perByte = (current.bandwidth.toDouble() - next.bandwidth.toDouble()) *
                   model.betaMicrosecondsPerByte;
  double latency =
      (double(next.steps) - double(current.steps)) * model.alphaMicroseconds;
  double bytes = latency / perByte;
  if (!(bytes < 0x1p63))
    return std::nullopt;
  return bytes < 0 ? 0 : static_cast<uint64_t>(std::floor(bytes)) + 1;
}

unsigned CostModel::bestPieces(const PipelinedCost &cost, double bytes,
                               unsigned most) const {
  double moving = cost.load.toDouble() * bytes * betaMicrosecondsPerByte;
  double ideal = std::sqrt((cost.steps - 1.0) * moving / alphaMicroseconds);
  // Without latency the division gives infinity, or nothing if S is 1.
  double capped = std::isnan(ideal) ? 1 : std::clamp(ideal, 1.0, double(most));
  unsigned below = static_cast<unsigned>(capped);
  unsigned above = std::min(below + 1, most);
  return microseconds(cost, bytes, above) < microseconds(cost, bytes, below)
             ? above
             : below;
}

std::vector<SizeRange> sccl::selectBySize(const std::vector<Cost> &costs,
                                          const CostModel &model) {
  if (costs.empty())
    return {};
  size_t best = 0;
  for (size_t i = 1; i < costs.size(); ++i) {
    double now = model.microseconds(costs[best], 0);
    double other = model.microseconds(costs[i], 0);
    if (other < now ||
        (other == now && costs[i].bandwidth < costs[best].bandwidth))
      best = i;
  }
  std::vector<SizeRange> ranges{{0, best}};
  // Walks along the lower envelope of the lines.
  while (true) {
    std::optional<SizeRange> next;
    for (size_t i = 0; i < costs.size(); ++i) {
      std::optional<uint64_t> from =
          crossover(costs[ranges.back().best], costs[i], model);
      if (!from)
        continue;
      if (!next || *from < next->firstByte ||
          (*from == next->firstByte &&
           costs[i].bandwidth < costs[next->best].bandwidth))
        next = SizeRange{*from, i};
    }
    if (!next)
      return ranges;
    ranges.push_back(*next);
  }
}
