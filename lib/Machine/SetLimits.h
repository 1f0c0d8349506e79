//===- SetLimits.h - Limits on sets of links in GB/s ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MACHINE_SETLIMITS_H
#define SCCL_LIB_MACHINE_SETLIMITS_H

#include "sccl/Model/Rational.h"

#include <algorithm>
#include <map>
#include <vector>

namespace sccl {

/// What links carry together at most.
struct SetLimit {
  std::vector<unsigned> links; ///< ascending
  Rational bandwidth;          ///< GB/s
};

/// One limit for each set: the narrowest.
class SetLimits {
public:
  const std::vector<SetLimit> &all() const { return limits; }

  void add(std::vector<unsigned> links, const Rational &bandwidth) {
    auto [it, isNew] = known.try_emplace(links, limits.size());
    if (isNew)
      limits.push_back({std::move(links), bandwidth});
    else
      limits[it->second].bandwidth =
          std::min(limits[it->second].bandwidth, bandwidth);
  }
  /// True if a limit of at most `bandwidth` has all of `links`.
  bool areCovered(const std::vector<unsigned> &links,
                  const Rational &bandwidth) const {
    return std::ranges::any_of(limits, [&](const SetLimit &limit) {
      return limit.bandwidth <= bandwidth &&
             std::ranges::includes(limit.links, links);
    });
  }

private:
  std::vector<SetLimit> limits; ///< in order of insertion
  std::map<std::vector<unsigned>, size_t> known;
};

} // namespace sccl

#endif // SCCL_LIB_MACHINE_SETLIMITS_H
