//===- Cheapest.h - The cheapest of several schedules -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_CHEAPEST_H
#define SCCL_LIB_SOLVER_TREES_CHEAPEST_H

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace sccl::trees {

/// Keeps the cheapest of what it is offered: packings of one problem, rounded
/// for different numbers of chunks. Costs are rounds per chunk.
template <typename T> class Cheapest {
public:
  /// Nothing that costs `below` or more is kept.
  explicit Cheapest(std::optional<double> below) : least(below) {}
  void offer(T candidate, double cost) {
    constexpr double tolerance = 1e-12;
    if (least && cost >= *least * (1 - tolerance))
      return;
    least = cost;
    best = std::move(candidate);
  }
  /// Of `chunks` chunks, so many rounds or more are of no use.
  uint64_t limitOf(uint64_t chunks) const {
    return least ? uint64_t(std::ceil(*least * double(chunks) - 1e-9))
                 : UINT64_MAX;
  }
  bool isBelow(double cost) const { return !least || cost < *least; }
  /// True if nothing better than `value` is there to be found.
  bool meets(double value) const {
    return best && *least <= value * (1 + 1e-9);
  }
  std::optional<T> take() { return std::move(best); }

private:
  std::optional<double> least;
  std::optional<T> best;
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_CHEAPEST_H
