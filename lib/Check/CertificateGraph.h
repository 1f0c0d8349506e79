//===- CertificateGraph.h - Paths and trees at prices ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the check of a certificate asks of a graph with prices; the rules are at
// the head of Certificate.h, whose notation is used.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CHECK_CERTIFICATEGRAPH_H
#define SCCL_LIB_CHECK_CERTIFICATEGRAPH_H

#include "sccl/Check/Certificate.h"

#include <optional>
#include <string>
#include <vector>

namespace sccl::certificate {

/// Wide enough for every sum of proof values, see `maxProofValue`.
using Wide = __int128;
constexpr Wide outOfReach = Wide(1) << 120;

/// Why a proof does not hold, or nothing.
using Failure = std::optional<std::string>;

/// Links with one value for each of `columns` steps, columns counted from 0. A
/// claim for any S has a single column, whose paths may be of any length.
struct Graph {
  unsigned ranks;
  unsigned columns;
  bool anySteps;
  std::vector<Link> links;
  std::vector<Wide> prices;

  size_t at(size_t link, size_t column) const {
    return link * columns + column;
  }
  /// Links turned round and steps counted from the end.
  Graph reversed() const;
  /// The same links at other prices.
  Graph withPrices(std::vector<Wide> others) const {
    return {ranks, columns, anySteps, links, std::move(others)};
  }
};

/// The price of the cheapest path from one of `roots` to each rank.
std::vector<Wide> cheapestPaths(const Graph &graph,
                                const std::vector<unsigned> &roots);

/// By rank, the price of the cheapest way to have the sum there of what
/// `sources` contribute, which are the leaves of `tree`. `prices` are those of
/// the graph, or such tables for each node of the tree, one after the other.
std::vector<Wide> cheapestSums(const Graph &graph, const SumTree &tree,
                               const std::vector<unsigned> &sources,
                               const std::vector<Wide> &prices);

/// Adds what `times` calls of `cheapestSums` take to `work`. Fails if that is
/// more than is done for a certificate.
Failure spendOnSums(const Graph &graph, const SumTree &tree, size_t times,
                    uint64_t &work);

/// What the results of a sum cost at the shares of their targets. Fails if a
/// share is of no target, no sum or no link, or all shares of a send come to
/// more than its price, or it takes more work than is left.
Result<Wide> valueOfShares(const Topology &topology, const Graph &graph,
                           const SumTree &tree, const CommodityProof &proof,
                           uint64_t &work);

/// The number of links from the nearest of `roots` to each rank; the number of
/// ranks where there is no path.
std::vector<unsigned> countHops(const Graph &graph,
                                const std::vector<unsigned> &roots);

/// Adds max(0, w) of `tree`, which spans `targets`, to `load` and V to `value`.
/// `graph` is read in the direction of the tree; its prices play no part.
Failure addTree(const Topology &topology, const Graph &graph,
                const TreeProof &tree, const std::vector<unsigned> &targets,
                std::vector<Wide> &load, Wide &value);

/// Whether there is one value of a legal size for each column.
Failure checkValues(const StepValues &values, unsigned columns,
                    const std::string &what);

/// Whether all of `list` are ranks.
Failure checkRanks(const std::vector<unsigned> &list, unsigned ranks);

/// A number for the block of each rank. Fails if a rank is in two of `blocks`.
Result<std::vector<unsigned>>
findBlocks(const std::vector<std::vector<unsigned>> &blocks, unsigned ranks);

/// The number of blocks with some rank of `list`.
size_t countBlocks(const std::vector<unsigned> &list,
                   const std::vector<unsigned> &blockOf);

std::vector<bool> toFlags(const std::vector<unsigned> &list, unsigned ranks);

/// A link as it is spelt in a certificate.
inline std::string linkText(const Link &link) {
  return std::to_string(link.src) + "->" + std::to_string(link.dst);
}

} // namespace sccl::certificate

#endif // SCCL_LIB_CHECK_CERTIFICATEGRAPH_H
