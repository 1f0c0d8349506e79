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

std::optional<Rational> KnownPoints::writableTreesAt(unsigned steps) const {
  return leastUpTo(inTrees, steps);
}

std::optional<Rational> KnownPoints::treesAt(unsigned steps) const {
  std::optional<Rational> few = writableTreesAt(steps);
  std::optional<Rational> many = leastUpTo(inHugeTrees, steps);
  return !few || (many && *many < *few) ? many : few;
}

const FrontierPoint *KnownPoints::add(FrontierPoint point) {
  return insert(found, std::move(point));
}

void KnownPoints::add(TreePoint point) {
  bool isHuge = point.sends > Schedule::maxSends;
  insert(isHuge ? inHugeTrees : inTrees, std::move(point));
}

FrontierPoint *KnownPoints::pointOf(unsigned steps) {
  auto at = found.find(steps);
  return at == found.end() ? nullptr : &at->second;
}

/// False if a point, or other trees of up to as many steps, are as cheap. Of
/// equal ones of as many steps, those of few sends are listed.
bool KnownPoints::isListed(const TreePoint &point) const {
  auto isBelow = [&](const std::optional<Rational> &known) {
    return !known || point.bandwidth() < *known;
  };
  unsigned steps = point.steps;
  if (!isBelow(at(steps)))
    return false;
  if (point.sends > Schedule::maxSends)
    return isBelow(leastUpTo(inTrees, steps));
  auto huge = inHugeTrees.find(steps);
  bool isBeaten =
      huge != inHugeTrees.end() && huge->second.bandwidth() < point.bandwidth();
  return !isBeaten && isBelow(leastUpTo(inHugeTrees, steps - 1));
}

/// Where the trees of just `steps` steps are kept that are listed.
KnownPoints::Trees *KnownPoints::holderOf(unsigned steps) {
  for (Trees *trees : {&inHugeTrees, &inTrees})
    if (auto at = trees->find(steps);
        at != trees->end() && isListed(at->second))
      return trees;
  return nullptr;
}

TreePoint *KnownPoints::treesOf(unsigned steps) {
  Trees *holder = holderOf(steps);
  return holder ? &holder->at(steps) : nullptr;
}

void KnownPoints::dropTrees(unsigned steps) {
  if (Trees *holder = holderOf(steps))
    holder->erase(steps);
}

bool KnownPoints::hasTrees() const {
  auto isListedHere = [&](const auto &point) { return isListed(point.second); };
  return std::ranges::any_of(inTrees, isListedHere) ||
         std::ranges::any_of(inHugeTrees, isListedHere);
}

void KnownPoints::moveTo(Frontier &frontier) {
  std::map<unsigned, TreePoint> listed;
  for (const Trees *trees : {&inTrees, &inHugeTrees})
    for (const auto &[steps, point] : *trees)
      if (isListed(point))
        listed.emplace(steps, point);
  for (auto &[steps, point] : listed)
    frontier.trees.push_back(std::move(point));
  for (auto &[steps, point] : found)
    frontier.points.push_back(std::move(point));
  inTrees.clear();
  inHugeTrees.clear();
  found.clear();
}
