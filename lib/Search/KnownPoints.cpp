//===- KnownPoints.cpp - The points found so far --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownPoints.h"

#include <algorithm>

using namespace sccl;

template <typename Point>
static std::optional<Rational>
leastUpTo(const std::map<unsigned, Point> &points, unsigned steps) {
  auto above = points.upper_bound(steps);
  if (above == points.begin())
    return std::nullopt;
  return std::prev(above)->second.bandwidth();
}

/// Leaves out those of more steps that are no cheaper.
template <typename Point>
static Point *insert(std::map<unsigned, Point> &points, Point point) {
  unsigned steps = point.steps;
  Rational cost = point.bandwidth();
  std::optional<Rational> known = leastUpTo(points, steps);
  if (known && *known <= cost)
    return nullptr;
  auto at = points.insert_or_assign(steps, std::move(point)).first;
  while (std::next(at) != points.end() &&
         cost <= std::next(at)->second.bandwidth())
    points.erase(std::next(at));
  return &at->second;
}

std::optional<Rational> KnownPoints::at(unsigned steps) const {
  return leastUpTo(found, steps);
}

std::optional<Rational> KnownPoints::treesAt(unsigned steps) const {
  return leastUpTo(inTrees, steps);
}

const FrontierPoint *KnownPoints::add(FrontierPoint point) {
  return insert(found, std::move(point));
}

void KnownPoints::add(TreePoint point) { insert(inTrees, std::move(point)); }

FrontierPoint *KnownPoints::pointOf(unsigned steps) {
  auto at = found.find(steps);
  return at == found.end() ? nullptr : &at->second;
}

/// False if points are as cheap.
bool KnownPoints::isListed(const TreePoint &point) const {
  std::optional<Rational> known = at(point.steps);
  return !known || point.bandwidth() < *known;
}

TreePoint *KnownPoints::treesOf(unsigned steps) {
  auto trees = inTrees.find(steps);
  bool isThere = trees != inTrees.end() && isListed(trees->second);
  return isThere ? &trees->second : nullptr;
}

bool KnownPoints::hasTrees() const {
  return std::ranges::any_of(
      inTrees, [&](const auto &point) { return isListed(point.second); });
}

void KnownPoints::moveTo(Frontier &frontier) {
  for (auto &[steps, point] : inTrees)
    if (isListed(point))
      frontier.trees.push_back(std::move(point));
  for (auto &[steps, point] : found)
    frontier.points.push_back(std::move(point));
  inTrees.clear();
  found.clear();
}
