//===- FairShare.cpp - Rates of flows that share limits -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FairShare.h"

#include <algorithm>
#include <functional>
#include <queue>

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

void FairShare::add(unsigned number, const std::vector<unsigned> &through) {
  Flow &flow = flows[number];
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
    limits[limit].left = std::max(limits[limit].left - rate, 0.0);
    --limits[limit].open;
  }
}

/// Raises all rates alike until a limit is full; its flows stay there.
void FairShare::fill() {
  using Share = std::pair<double, unsigned>; // of a flow, and the limit
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  auto share = [&](const Limit &limit) { return limit.left / limit.open; };
  for (unsigned number : reachedLimits) {
    Limit &limit = limits[number];
    limit.left = limit.rate;
    limit.open = unsigned(limit.users.size());
    if (limit.open > 0)
      shares.push({share(limit), number});
  }
  for (unsigned flow : reachedFlows)
    flows[flow].isFixed = false;
  while (!shares.empty()) {
    auto [rate, number] = shares.top();
    shares.pop();
    Limit &limit = limits[number];
    if (limit.open == 0)
      continue;
    // What others took less of is more for these.
    if (double now = share(limit); now > rate) {
      shares.push({now, number});
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
