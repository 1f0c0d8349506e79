//===- PriceList.h - Prices of limits in a certificate ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A certificate names limits by their links and lists everything in ascending
// order of links.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_PRICELIST_H
#define SCCL_LIB_BOUNDS_PRICELIST_H

#include "sccl/Check/Certificate.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sccl::bounds {

inline bool precedes(const Link &a, const Link &b) {
  return std::pair(a.src, a.dst) < std::pair(b.src, b.dst);
}

/// Prices on the limit with these links, given in any order.
inline LimitPrices pricesOn(std::vector<Link> links, StepValues values) {
  std::sort(links.begin(), links.end(), precedes);
  return {std::move(links), std::move(values)};
}

/// The same for a limit of `topology`.
inline LimitPrices pricesOn(const Topology &topology,
                            const BandwidthLimit &limit, StepValues values) {
  std::vector<Link> links;
  for (unsigned link : limit.links)
    links.push_back(topology.links()[link]);
  return pricesOn(std::move(links), std::move(values));
}

inline void sortByLinks(std::vector<LimitPrices> &prices) {
  std::sort(prices.begin(), prices.end(),
            [](const LimitPrices &a, const LimitPrices &b) {
              return std::lexicographical_compare(
                  a.links.begin(), a.links.end(), b.links.begin(),
                  b.links.end(), precedes);
            });
}

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_PRICELIST_H
