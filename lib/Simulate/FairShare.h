//===- FairShare.h - Rates of flows that share limits -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SIMULATE_FAIRSHARE_H
#define SCCL_SIMULATE_FAIRSHARE_H

#include <limits>
#include <tuple>
#include <vector>

namespace sccl {

/// Flows through limits, and the max-min fair rate of each: progressive filling
/// (Bertsekas and Gallager, Data Networks, section 6.5.2). Only the flows that
/// a change can reach are looked at again: a limit that has room for the caps
/// of all its users joins nothing.
class FairShare {
public:
  /// Flows have numbers below `numFlows`; limits have the given rates.
  FairShare(std::vector<double> rates, unsigned numFlows);

  /// Flow `flow`, which is not there, comes through `limits`, of each of which
  /// it takes `weight` times its rate; or it goes. Its rate is never above
  /// `cap`.
  void add(unsigned flow, const std::vector<unsigned> &limits,
           double cap = std::numeric_limits<double>::infinity(),
           double weight = 1);
  void remove(unsigned flow);

  /// Finds the rates after what came and went. Returns the flows whose rates
  /// may have changed, until the next call.
  const std::vector<unsigned> &update();
  double rate(unsigned flow) const { return flows[flow].rate; }

private:
  struct Flow {
    std::vector<unsigned> limits;
    std::vector<unsigned> places; ///< in `users` of each of them
    double rate = 0, cap = 0, weight = 1;
    bool isThere = false, isReached = false, isFixed = false;
  };
  struct Limit {
    double rate;
    std::vector<unsigned> users;
    double left = 0;        ///< of the rate
    unsigned open = 0;      ///< users whose rates are not fixed
    double weight = 0;      ///< of those users
    bool isChanged = false; ///< a user came or went
    bool isShort = false;   ///< of what the caps of its users ask for
    bool isReached = false;
  };

  /// The rate of a flow, the limit, and the flow where it is the cap of one.
  using Share = std::tuple<double, unsigned, unsigned>;

  void change(unsigned limit);
  bool isShort(const Limit &limit) const;
  void reach();
  void fill();
  void fix(unsigned flow, double rate);

  std::vector<Flow> flows;
  std::vector<Limit> limits;
  std::vector<unsigned> changedLimits;
  std::vector<unsigned> changedFlows; ///< that came
  std::vector<unsigned> reachedFlows, reachedLimits;
  unsigned numOpen = 0;      ///< reached flows whose rates are not fixed
  std::vector<Share> shares; ///< a heap, the least first
};

} // namespace sccl

#endif // SCCL_SIMULATE_FAIRSHARE_H
