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
#include <queue>
#include <tuple>

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
  if (through.empty())
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

/// Collects the flows and limits that are joined to the changed limits.
void FairShare::reach() {
  reachedFlows.clear();
  reachedLimits.clear();
  auto reachLimit = [&](unsigned limit) {
    if (!limits[limit].isReached)
      reachedLimits.push_back(limit);
    limits[limit].isReached = true;
  };
  for (unsigned limit : changedLimits) {
    limits[limit].isChanged = false;
    reachLimit(limit);
  }
  changedLimits.clear();
  for (unsigned flow : changedFlows)
    if (flows[flow].isThere && !flows[flow].isReached) {
      flows[flow].isReached = true;
      reachedFlows.push_back(flow);
    }
  changedFlows.clear();
  for (size_t next = 0; next < reachedLimits.size(); ++next)
    for (unsigned flow : limits[reachedLimits[next]].users) {
      if (flows[flow].isReached)
        continue;
      flows[flow].isReached = true;
      reachedFlows.push_back(flow);
      for (unsigned limit : flows[flow].limits)
        reachLimit(limit);
    }
}

void FairShare::fix(unsigned number, double rate) {
  Flow &flow = flows[number];
  flow.rate = rate;
  flow.isFixed = true;
  for (unsigned limit : flow.limits) {
    Limit &through = limits[limit];
    through.left = std::max(through.left - rate * flow.weight, 0.0);
    through.weight -= flow.weight;
    --through.open;
  }
}

/// Raises all rates alike until a limit is full, whose flows stay there, or a
/// flow is at its cap.
void FairShare::fill() {
  // The rate of a flow, the limit, and the flow where it is the cap of one.
  using Share = std::tuple<double, unsigned, unsigned>;
  constexpr unsigned none = ~0u;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  auto share = [&](const Limit &limit) { return limit.left / limit.weight; };
  for (unsigned number : reachedLimits) {
    Limit &limit = limits[number];
    limit.left = limit.rate;
    limit.open = unsigned(limit.users.size());
    limit.weight = 0;
    for (unsigned flow : limit.users)
      limit.weight += flows[flow].weight;
    if (limit.open > 0)
      shares.push({share(limit), number, none});
  }
  for (unsigned number : reachedFlows) {
    flows[number].isFixed = false;
    if (!std::isinf(flows[number].cap))
      shares.push({flows[number].cap, none, number});
  }
  while (!shares.empty()) {
    auto [rate, number, capped] = shares.top();
    shares.pop();
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
      shares.push({now, number, none});
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
