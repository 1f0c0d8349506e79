//===- FairShare.cpp - Rates of flows that share limits -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FairShare.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

using namespace sccl;

FairShare::FairShare(std::vector<double> rates, unsigned numFlows)
    : flows(numFlows) {
  for (double rate : rates)
    limits.push_back({rate, {}});
}

void FairShare::change(unsigned limit) {
  if (!limits[limit].isChanged)
    changedLimits.push_back(limit);
  limits[limit].isChanged = true;
}

void FairShare::add(unsigned number, const std::vector<unsigned> &through,
                    double cap, double weight) {
  Flow &flow = flows[number];
  flow.cap = cap;
  flow.weight = weight;
  changedFlows.push_back(number);
  flow.limits = through;
  flow.places.clear();
  flow.isThere = true;
  for (unsigned limit : through) {
    flow.places.push_back(unsigned(limits[limit].users.size()));
    limits[limit].users.push_back(number);
    change(limit);
  }
}

void FairShare::remove(unsigned number) {
  Flow &flow = flows[number];
  flow.isThere = false;
  for (size_t i = 0; i < flow.limits.size(); ++i) {
    unsigned limit = flow.limits[i];
    std::vector<unsigned> &users = limits[limit].users;
    unsigned last = users.back();
    users[flow.places[i]] = last;
    users.pop_back();
    Flow &moved = flows[last];
    auto at = std::ranges::find(moved.limits, limit) - moved.limits.begin();
    moved.places[at] = flow.places[i];
    change(limit);
  }
}

bool FairShare::isShort(const Limit &limit) const {
  double asked = 0;
  for (unsigned flow : limit.users)
    asked += flows[flow].cap * flows[flow].weight;
  return asked > limit.rate;
}

/// Collects the flows and limits that are joined to what has changed.
void FairShare::reach() {
  reachedFlows.clear();
  reachedLimits.clear();
  auto reachLimit = [&](unsigned limit) {
    if (!limits[limit].isReached)
      reachedLimits.push_back(limit);
    limits[limit].isReached = true;
  };
  auto reachFlow = [&](unsigned flow) {
    if (!flows[flow].isReached)
      reachedFlows.push_back(flow);
    flows[flow].isReached = true;
  };
  for (unsigned number : changedLimits) {
    Limit &limit = limits[number];
    limit.isChanged = false;
    bool wasShort = std::exchange(limit.isShort, isShort(limit));
    if (wasShort || limit.isShort)
      reachLimit(number);
  }
  changedLimits.clear();
  for (unsigned flow : changedFlows)
    if (flows[flow].isThere)
      reachFlow(flow);
  changedFlows.clear();
  size_t nextFlow = 0, nextLimit = 0;
  while (nextFlow < reachedFlows.size() || nextLimit < reachedLimits.size()) {
    for (; nextFlow < reachedFlows.size(); ++nextFlow)
      for (unsigned limit : flows[reachedFlows[nextFlow]].limits)
        if (limits[limit].isShort)
          reachLimit(limit);
    for (; nextLimit < reachedLimits.size(); ++nextLimit)
      for (unsigned flow : limits[reachedLimits[nextLimit]].users)
        reachFlow(flow);
  }
}

void FairShare::fix(unsigned number, double rate) {
  Flow &flow = flows[number];
  flow.rate = rate;
  flow.isFixed = true;
  --numOpen;
  for (unsigned limit : flow.limits) {
    Limit &through = limits[limit];
    if (!through.isShort)
      continue;
    through.left = std::max(through.left - rate * flow.weight, 0.0);
    through.weight -= flow.weight;
    --through.open;
  }
}

/// Raises all rates alike until a limit is full, whose flows stay there, or a
/// flow is at its cap.
void FairShare::fill() {
  constexpr unsigned none = ~0u;
  shares.clear();
  auto share = [&](const Limit &limit) { return limit.left / limit.weight; };
  for (unsigned number : reachedLimits) {
    Limit &limit = limits[number];
    if (!limit.isShort)
      continue;
    limit.left = limit.rate;
    limit.open = unsigned(limit.users.size());
    limit.weight = 0;
    for (unsigned flow : limit.users)
      limit.weight += flows[flow].weight;
    shares.push_back({share(limit), number, none});
  }
  numOpen = unsigned(reachedFlows.size());
  for (unsigned number : reachedFlows) {
    flows[number].isFixed = false;
    if (!std::isinf(flows[number].cap))
      shares.push_back({flows[number].cap, none, number});
  }
  std::ranges::make_heap(shares, std::greater<>());
  while (numOpen > 0 && !shares.empty()) {
    std::ranges::pop_heap(shares, std::greater<>());
    auto [rate, number, capped] = shares.back();
    shares.pop_back();
    if (capped != none) {
      if (!flows[capped].isFixed)
        fix(capped, rate);
      continue;
    }
    Limit &limit = limits[number];
    if (limit.open == 0)
      continue;
    // What others took less of is more for these.
    if (double now = share(limit); now > rate) {
      shares.push_back({now, number, none});
      std::ranges::push_heap(shares, std::greater<>());
      continue;
    }
    for (unsigned flow : limit.users)
      if (!flows[flow].isFixed)
        fix(flow, rate);
  }
}

const std::vector<unsigned> &FairShare::update() {
  reach();
  fill();
  for (unsigned flow : reachedFlows)
    flows[flow].isReached = false;
  for (unsigned limit : reachedLimits)
    limits[limit].isReached = false;
  return reachedFlows;
}
