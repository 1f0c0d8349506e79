//===- TreePacking.h - Column generation over trees -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_TREES_TREEPACKING_H
#define SCCL_LIB_SOLVER_TREES_TREEPACKING_H

#include "TreeOrigin.h"
#include "TreeProgram.h"

#include "sccl/Model/TreeSchedule.h"
#include "sccl/Optimize/Deadline.h"

#include <memory>
#include <optional>
#include <vector>

namespace sccl::trees {

class TreeImages;

/// Collects trees until no cheaper ones are found.
class TreePacking {
public:
  /// Without trees if that takes too long, or longer than `deadline`.
  TreePacking(PackingProblem problem, const Deadline &deadline);
  ~TreePacking();

  /// Of a broadcast: trees that the first solution is made of, of as many steps
  /// or fewer.
  void beginWith(const std::vector<ChunkTree> &trees);
  /// Those of the last solution.
  std::vector<ChunkTree> usedTrees() const;

  /// Generates trees until R/C is down to `target`, if there is one, or no
  /// better trees are found, or limits stop it. Returns R/C in fractions of
  /// chunks; nothing if there are no trees at all.
  std::optional<double> generate(std::optional<double> target,
                                 const Deadline &deadline);

  /// The schedule that the fractions say, with as many chunks as it takes to
  /// make them whole, and without the steps in which nothing happens. Nothing
  /// if the numbers are too large.
  std::optional<TreeSchedule> exact(const Deadline &deadline) const;
  /// One for `chunks` chunks in few rounds, with as many steps as asked for.
  /// Nothing if `chunks` is no multiple of what the images of a tree take.
  std::optional<TreeSchedule> round(uint64_t chunks,
                                    const Deadline &deadline) const;
  /// The same of more trees, for few chunks: mixes of those that were
  /// generated, which serve some ranks as one does, and others as another. Not
  /// of an all_reduce.
  std::optional<TreeSchedule> roundMixed(uint64_t chunks,
                                         const Deadline &deadline);
  /// The same for any number of chunks and fewer than `below` rounds (of a
  /// period, if pieces follow one another): each chunk of each origin takes a
  /// tree for itself, an image of those that were generated.
  std::optional<TreeSchedule> roundForEach(uint64_t chunks, uint64_t below,
                                           const Deadline &deadline);
  /// All numbers of chunks that `round` may be asked for are multiples of this.
  uint64_t chunkUnit() const;
  const PackingProblem &question() const { return problem; }

private:
  void addOrigin(Meeting at, unsigned demand, int64_t share);
  void addMeetings(unsigned rank, bool alsoOfSeveral);
  bool isSlow(const TreeOrigin &origin) const;
  bool priceLevels(TreeOrigin &origin, const TreePrices &prices,
                   const Deadline &deadline);
  /// Whether solving the program takes longer than looking for trees. Where
  /// levels are left early, it does not.
  bool isSlowToSolve() const { return program->isLarge() && !problem.inHalves; }
  bool priceBetween(const TreePrices &between, const Deadline &deadline);
  bool price(TreeOrigin &origin, const TreePrices &prices,
             const Deadline &deadline);
  bool priceReductions(TreeOrigin &origin, const TreePrices &prices,
                       const Deadline &deadline);
  bool priceReduction(TreeOrigin &origin, unsigned turn,
                      const TreePrices &prices, const Deadline &deadline);
  double priceOfSend(unsigned link, unsigned step,
                     const TreePrices &prices) const;
  EdgePrices pricesFor(const CellGraph &graph, const TreePrices &prices,
                       unsigned first, unsigned count) const;
  void append(const TreeSearch &search, const CellTree &tree,
              const EdgePrices &prices, unsigned first, unsigned count,
              std::vector<TreeSend> &sends) const;
  TreeSchedule makeSchedule(uint64_t chunks, std::vector<uint64_t> rounds,
                            const std::vector<int64_t> &counts,
                            const TreeProgram &from) const;

  PackingProblem problem;
  LimitOrbits orbits;
  std::vector<uint64_t> limitKeys;
  std::vector<std::unique_ptr<TreeOrigin>> origins;
  std::unique_ptr<TreeProgram> program;
  std::unique_ptr<TreeProgram> mixed; ///< with mixes, once it is asked for
  std::unique_ptr<TreeImages> images; ///< once it is asked for
  bool isTooMuch = false;             ///< to look for trees at all
  std::optional<double> value;
};

} // namespace sccl::trees

#endif // SCCL_LIB_SOLVER_TREES_TREEPACKING_H
