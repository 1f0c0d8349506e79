//===- Rounding.cpp - From a dual solution to a certificate ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vertex of the dual has fractions with a small common denominator more often
// than not. If it does not, any large factor gives a proof of a bound that is
// hardly weaker: of all that must hold, only that trees cost no more than their
// sends is at risk from rounding, and lowering the arrival values restores it.
//
//===----------------------------------------------------------------------===//

#include "Rounding.h"

#include "PriceList.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

using namespace sccl;
using namespace sccl::bounds;

//===----------------------------------------------------------------------===//
// Common denominator
//===----------------------------------------------------------------------===//

/// Deviations from a whole number up to this are taken for rounding errors.
static constexpr double tolerance = 1e-6;

static bool isWhole(double value) {
  return std::abs(value - std::round(value)) < tolerance;
}

/// The smallest denominator up to `most` of a fraction that is close to
/// `value`, by continued fractions.
static std::optional<int64_t> findDenominator(double value, int64_t most) {
  double rest = std::abs(value);
  int64_t last = 0, now = 1;
  while (!isWhole(value * double(now))) {
    double fraction = rest - std::floor(rest);
    if (fraction < 1e-9)
      return std::nullopt;
    rest = 1 / fraction;
    if (rest > double(most))
      return std::nullopt;
    std::tie(last, now) =
        std::pair(now, int64_t(std::floor(rest)) * now + last);
    if (now > most)
      return std::nullopt;
  }
  return now;
}

namespace {
/// Multiplies what the denominators need, up to a limit.
class CommonDenominator {
public:
  explicit CommonDenominator(int64_t most) : most(most) {}

  bool fit(const std::vector<double> &values) {
    return std::ranges::all_of(values, [this](double value) {
      // Most are.
      if (value == 0)
        return true;
      auto factor = findDenominator(value * double(common), most / common);
      if (factor)
        common *= *factor;
      return factor.has_value();
    });
  }
  int64_t value() const { return common; }

private:
  const int64_t most;
  int64_t common = 1;
};
} // namespace

std::optional<int64_t>
bounds::findCommonDenominator(const std::vector<double> &values, int64_t most) {
  CommonDenominator common(most);
  if (!common.fit(values))
    return std::nullopt;
  return common.value();
}

std::optional<int64_t> bounds::findCommonDenominator(const PriceDuals &duals) {
  CommonDenominator common(1000000);
  if (!common.fit(duals.prices.values) || !common.fit(duals.gossip))
    return std::nullopt;
  for (const std::vector<TreeDuals> &trees : duals.trees)
    for (const TreeDuals &tree : trees) {
      if (!common.fit(tree.arrivals) || !common.fit(tree.relays.values))
        return std::nullopt;
      for (const LinkTable &path : tree.paths)
        if (!common.fit(path.values))
          return std::nullopt;
    }
  return common.value();
}

//===----------------------------------------------------------------------===//
// Whole numbers
//===----------------------------------------------------------------------===//

namespace {
using Table = std::vector<int64_t>;

/// A tree in whole numbers, in the direction of the problem.
struct WholeTree {
  Table arrivals, relays;
  std::vector<Table> paths;
};

/// Writes one proof.
class ProofWriter {
public:
  ProofWriter(const Problem &problem, const PriceDuals &duals, int64_t factor);
  PriceProof write();

private:
  Table rounded(const std::vector<double> &values) const;
  void addPrices();
  void addCommodity(size_t i);
  void addSymmetries();
  /// w of Certificate.h for every link and step that rule (i) allows, else 0.
  Table weightsOf(const Tree &tree, const WholeTree &whole) const;
  void lowerArrivals(const std::vector<const Tree *> &trees,
                     std::vector<WholeTree> &wholes, int64_t gossip) const;
  TreeProof toProof(const Tree &tree, const WholeTree &whole) const;
  /// The values of a row in the direction of the topology, nothing if all 0.
  std::optional<StepValues> rowOf(const Table &table, size_t row) const;
  Link linkOf(size_t link) const;

  const Problem &problem;
  const PriceDuals &duals;
  int64_t factor;
  unsigned steps;
  const std::vector<Link> &links;
  Table limitPrices, linkPrices;
  PriceProof proof;
};
} // namespace

ProofWriter::ProofWriter(const Problem &problem, const PriceDuals &duals,
                         int64_t factor)
    : problem(problem), duals(duals), factor(factor), steps(problem.steps),
      links(problem.topology.links()),
      limitPrices(rounded(duals.prices.values)),
      linkPrices(links.size() * steps) {
  for (int64_t &price : limitPrices)
    price = std::max<int64_t>(price, 0);
  for (size_t limit = 0; limit < problem.limits.size(); ++limit)
    for (unsigned link : problem.limits[limit].links)
      for (unsigned step = 0; step < steps; ++step)
        linkPrices[link * steps + step] += limitPrices[limit * steps + step];
}

Table ProofWriter::rounded(const std::vector<double> &values) const {
  Table result(values.size());
  // Most are 0.
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0)
      result[i] = std::llround(values[i] * double(factor));
  return result;
}

Link ProofWriter::linkOf(size_t link) const {
  auto [src, dst] = links[link];
  return problem.backward ? Link{dst, src} : Link{src, dst};
}

std::optional<StepValues> ProofWriter::rowOf(const Table &table,
                                             size_t row) const {
  auto begin = table.begin() + row * steps, end = begin + steps;
  if (std::all_of(begin, end, [](int64_t value) { return value == 0; }))
    return std::nullopt;
  StepValues values(begin, end);
  if (problem.backward)
    std::reverse(values.begin(), values.end());
  return values;
}

static auto endsOf(const Link &link) { return std::pair(link.src, link.dst); }

void ProofWriter::addPrices() {
  for (size_t limit = 0; limit < problem.limits.size(); ++limit) {
    std::optional<StepValues> values = rowOf(limitPrices, limit);
    if (!values)
      continue;
    std::vector<Link> named;
    for (unsigned link : problem.limits[limit].links)
      named.push_back(linkOf(link));
    proof.prices.push_back(pricesOn(std::move(named), std::move(*values)));
  }
  sortByLinks(proof.prices);
}

Table ProofWriter::weightsOf(const Tree &tree, const WholeTree &whole) const {
  // Of each rank and step: what its relays take later.
  Table weights(links.size() * steps),
      allLater(problem.topology.numRanks() * steps);
  for (size_t link = 0; link < links.size(); ++link) {
    int64_t later = 0;
    for (unsigned step = steps; step-- > 0;) {
      allLater[links[link].src * steps + step] += later;
      later += whole.relays[link * steps + step];
      weights[link * steps + step] -= later;
    }
  }
  for (size_t link = 0; link < links.size(); ++link)
    for (unsigned step = 0; step < steps; ++step)
      weights[link * steps + step] += whole.arrivals[links[link].dst] +
                                      allLater[links[link].dst * steps + step];
  for (const Table &path : whole.paths)
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] += path[i];
  for (size_t link = 0; link < links.size(); ++link) {
    auto [src, dst] = links[link];
    for (unsigned step = 0; step < steps; ++step)
      if (tree.hops[dst] == 0 || !problem.isThere(tree.hops[src], step))
        weights[link * steps + step] = 0;
  }
  return weights;
}

void ProofWriter::lowerArrivals(const std::vector<const Tree *> &trees,
                                std::vector<WholeTree> &wholes,
                                int64_t gossip) const {
  std::vector<Table> weights;
  for (size_t i = 0; i < trees.size(); ++i)
    weights.push_back(weightsOf(*trees[i], wholes[i]));
  std::vector<Table> excess(trees.size(), Table(problem.topology.numRanks()));
  for (size_t at = 0; at < linkPrices.size(); ++at) {
    int64_t load = gossip;
    for (const Table &table : weights)
      load += std::max<int64_t>(table[at], 0);
    if (load <= linkPrices[at])
      continue;
    // Each tree that has a part in it makes up for all of it.
    for (size_t i = 0; i < trees.size(); ++i)
      if (weights[i][at] > 0) {
        int64_t &most = excess[i][links[at / steps].dst];
        most = std::max(most, load - linkPrices[at]);
      }
  }
  for (size_t i = 0; i < trees.size(); ++i)
    for (size_t rank = 0; rank < excess[i].size(); ++rank)
      wholes[i].arrivals[rank] -= excess[i][rank];
}

TreeProof ProofWriter::toProof(const Tree &tree, const WholeTree &whole) const {
  TreeProof result{problem.backward, tree.roots, whole.arrivals, {}, {}};
  for (size_t link = 0; link < links.size(); ++link)
    if (auto values = rowOf(whole.relays, link))
      result.relays.push_back({linkOf(link), std::move(*values)});
  for (size_t i = 0; i < whole.paths.size(); ++i)
    for (size_t link = 0; link < links.size(); ++link)
      if (auto values = rowOf(whole.paths[i], link))
        result.paths.push_back(
            {tree.targets[i], linkOf(link), std::move(*values)});
  std::sort(result.relays.begin(), result.relays.end(),
            [](const RelayValues &a, const RelayValues &b) {
              return precedes(a.link, b.link);
            });
  std::sort(result.paths.begin(), result.paths.end(),
            [](const PathPrices &a, const PathPrices &b) {
              return std::pair(a.target, endsOf(a.link)) <
                     std::pair(b.target, endsOf(b.link));
            });
  return result;
}

void ProofWriter::addCommodity(size_t i) {
  unsigned k = duals.commodities[i];
  const Commodity &commodity = problem.commodities[k];
  CommodityProof result{commodity.pre, commodity.post, 0, {}};
  if (problem.backward)
    std::swap(result.pre, result.post);
  result.gossip = int64_t(
      std::max(0.0, std::floor(duals.gossip[i] * double(factor) + tolerance)));
  std::vector<const Tree *> trees;
  for (const Tree &tree : problem.trees)
    if (tree.commodity == k)
      trees.push_back(&tree);
  std::vector<WholeTree> wholes;
  for (const TreeDuals &tree : duals.trees[i]) {
    WholeTree whole{rounded(tree.arrivals), rounded(tree.relays.values), {}};
    for (int64_t &relay : whole.relays)
      relay = std::max<int64_t>(relay, 0);
    for (const LinkTable &path : tree.paths) {
      Table &values = whole.paths.emplace_back(rounded(path.values));
      for (int64_t &value : values)
        value = std::max<int64_t>(value, 0);
    }
    wholes.push_back(std::move(whole));
  }
  lowerArrivals(trees, wholes, result.gossip);
  for (size_t t = 0; t < trees.size(); ++t)
    result.trees.push_back(toProof(*trees[t], wholes[t]));
  proof.commodities.push_back(std::move(result));
}

/// Needed only to reach commodities that are not listed.
void ProofWriter::addSymmetries() {
  if (duals.commodities.empty() ||
      duals.commodities.size() == problem.commodities.size())
    return;
  for (const Symmetry &symmetry : problem.symmetries)
    proof.symmetries.push_back(symmetry.ranks);
  auto &list = proof.symmetries;
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

PriceProof ProofWriter::write() {
  addPrices();
  addSymmetries();
  for (size_t i = 0; i < duals.commodities.size(); ++i)
    addCommodity(i);
  std::sort(proof.commodities.begin(), proof.commodities.end(),
            [](const CommodityProof &a, const CommodityProof &b) {
              return std::tie(a.pre, a.post) < std::tie(b.pre, b.post);
            });
  return std::move(proof);
}

PriceProof bounds::roundToProof(const Problem &problem, const PriceDuals &duals,
                                int64_t factor) {
  return ProofWriter(problem, duals, factor).write();
}
