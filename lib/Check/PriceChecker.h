//===- PriceChecker.h - What chunks cost at prices --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CHECK_PRICECHECKER_H
#define SCCL_LIB_CHECK_PRICECHECKER_H

#include "CertificateGraph.h"

#include "sccl/Check/ChunkFormula.h"

#include <map>

namespace sccl::certificate {

/// Chunks that start at the same ranks and must get to the same ranks.
struct Commodity {
  std::vector<unsigned> pre, post;
  Wide count = 0;
  std::optional<Wide> value;
};

/// The ranks before and after, ascending.
using Route = std::pair<std::vector<unsigned>, std::vector<unsigned>>;

/// Works out V of every commodity of a collective.
class PriceChecker {
public:
  PriceChecker(const Topology &topology, const Collective &collective,
               const Graph &graph, const SumOrder &order)
      : topology(topology), collective(collective), graph(graph), order(order) {
  }

  Failure addCommodities(const std::vector<CommodityProof> &proofs);
  Failure addSymmetries(const std::vector<std::vector<unsigned>> &list);
  /// The sum of N(k) V(k).
  Result<Wide> total();

private:
  void groupChunks();
  Result<Wide> valueOf(const CommodityProof &proof, const Commodity &commodity);
  Result<Wide> valueOf(const SearchProof &proof, const Commodity &commodity);
  Result<Wide> valueOfShares(const CommodityProof &proof);
  /// V of a commodity without evidence.
  Result<Wide> dearestWay(const Commodity &commodity);
  Result<Wide> dearestSum(const Commodity &commodity);
  Wide dearestPath(const Commodity &commodity);
  Wide dearestPath(const std::vector<unsigned> &roots,
                   const std::vector<unsigned> &targets);

  const Topology &topology;
  const Collective &collective;
  const Graph &graph;
  const SumOrder &order;
  std::map<Route, Commodity> commodities;
  std::map<std::vector<unsigned>, std::vector<Wide>> pathsFrom, sumsOf;
  SearchCheckLimits searchLimits;
  uint64_t sumWork = 0; ///< spent on ways to add up
};

} // namespace sccl::certificate

#endif // SCCL_LIB_CHECK_PRICECHECKER_H
