//===- OrderedSumEncoding.h - Sums by a tree as a CNF -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reductions whose order of additions is a given tree. Whatever is sent is then
// the sum of a node of the tree, so that one variable says that a rank has the
// sum of a node after a step: it is the rank's own input; it has arrived; or
// the rank has both children. All schedules that `checkOrder` accepts are
// models, so a refutation holds for all of them.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_SAT_ORDEREDSUMENCODING_H
#define SCCL_LIB_SOLVER_SAT_ORDEREDSUMENCODING_H

#include "PartialSumEncoding.h"

#include <map>
#include <memory>

namespace sccl {

class OrderedSumEncoding final : public ContributionEncoding {
public:
  /// `keepsOwn` leaves out schedules in which a rank gets a sum to which it has
  /// contributed, and which is not yet the whole: most that cannot be written
  /// are among them.
  OrderedSumEncoding(const Instance &instance, std::vector<Permutation> group,
                     ClauseSolver &solver, bool keepsOwn)
      : ContributionEncoding(instance, std::move(group), solver),
        keepsOwn(keepsOwn) {}

  /// Whether each element of `group` maps nodes of the tree to nodes. All ranks
  /// must contribute to all chunks.
  static bool preserves(const std::vector<Permutation> &group,
                        const Instance &instance);
  /// About the variables of the formula, the counters of the limits excluded.
  static uint64_t numVariables(const Instance &instance, size_t groupOrder);

  /// Whether the model that was found last can be written as a schedule.
  bool isDecodable() const override;

private:
  /// The tree of a chunk.
  struct Tree {
    SumTree nodes;
    std::vector<unsigned> contributors; ///< by leaf
    /// By node, the ranks whose inputs are in its sum, ascending.
    std::vector<std::vector<unsigned>> ranksBelow;
  };
  /// By node and rank, whether the rank has the sum, or `never`.
  using Holdings = std::vector<std::vector<int>>;
  /// The message that first brought a node.
  using Arrivals = std::map<uint32_t, size_t>;
  /// A send, and the link that it takes.
  struct SendOver {
    unsigned step, link;
    Send send;
  };

  static Tree treeOf(const Instance &instance, unsigned chunk);
  void encodeOrbit(Orbit &orbit) override;
  void encodeSends(const Tree &tree, const Holdings &before, Phase &phase);
  Holdings encodeHoldings(const Tree &tree, const Holdings &before,
                          const Phase &phase);
  void decodeOrbit(const Orbit &orbit, std::vector<Step> &steps) const override;
  std::optional<std::vector<SendOver>> read(const Orbit &orbit) const;

  const bool keepsOwn;
};

/// The formula of `instance`, which reduces: with one running sum for each rank
/// and chunk, with several in the `form` that is given, or by a tree, where
/// `isWritable` of the form leaves out most of what cannot be written.
std::unique_ptr<ContributionEncoding>
createContributionEncoding(const Instance &instance,
                           std::vector<Permutation> group, ClauseSolver &solver,
                           std::optional<PartialSumEncoding::Form> form);
/// About its variables, the counters of the limits excluded.
uint64_t numVariables(const Instance &instance, size_t groupOrder,
                      std::optional<PartialSumEncoding::Form> form);

} // namespace sccl

#endif // SCCL_LIB_SOLVER_SAT_ORDEREDSUMENCODING_H
