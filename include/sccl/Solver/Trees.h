//===- Trees.h - Schedules packed of trees ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All C and R of one number of steps at once: a linear program over trees says
// how cheap chunks can be in fractions, and whole chunks come close with few of
// them. What the trees of one rank do, those of all do, so that a thousand
// ranks take less than a second. See docs/Rationale/Trees.md.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_TREES_H
#define SCCL_SOLVER_TREES_H

#include "sccl/Model/Inversion.h"
#include "sccl/Model/TreeSchedule.h"
#include "sccl/Optimize/Deadline.h"

#include <memory>
#include <optional>
#include <string_view>

namespace sccl {

/// Packs trees for one collective on one topology. May be used by several
/// threads at once.
class TreeSynthesis {
public:
  /// Takes all_gather, reduce_scatter, broadcast, reduce and all_reduce. Looks
  /// for the symmetries of the topology, which takes up to a second.
  /// `topology` must outlive this.
  TreeSynthesis(const Topology &topology, CollectiveKind kind,
                unsigned root = 0);
  ~TreeSynthesis();
  static bool takes(CollectiveKind kind);
  /// The engine that packs the same trees for a single C and R.
  static constexpr std::string_view engine = "trees";

  struct Wanted {
    unsigned steps;
    /// Chunks of an all_gather or broadcast; for each rank of the others.
    unsigned maxChunks;
    /// Chunks (C) that what the linear program says exactly may have.
    unsigned maxExactChunks;
    uint64_t maxSends; ///< of the schedule
    /// Only what is cheaper than this R/C, or load.
    std::optional<Rational> below = std::nullopt;
    /// Pieces are to follow each other (Schedule.h): what counts is the load.
    bool pipelined = false;
  };
  /// The cheapest schedule of up to `wanted.steps` steps that was found, with
  /// the fewest chunks of equally cheap ones. It has not been checked.
  std::optional<Implementation> best(const Wanted &wanted,
                                     const SearchLimits &limits) const;

  /// Trees on `packedOn()`; `writeOut` makes schedules of them.
  struct Packed {
    std::optional<TreeSchedule> whole; ///< that of `best`
    /// What the linear program says, if that is cheaper: of any number of
    /// chunks and sends.
    std::optional<TreeSchedule> exact;
    /// If that has too many sends to be written out: nearly as cheap, of as
    /// many chunks as can be.
    std::optional<TreeSchedule> ofMany;
  };
  /// Several threads may ask at once, but not for the same steps.
  Packed pack(const Wanted &wanted, const SearchLimits &limits) const;
  /// The topology, or for what is turned round, its reverse.
  const Topology &packedOn() const;

  /// The schedule that the linear program over trees says, whatever its C: the
  /// cheapest one of up to `steps` steps if trees suffice and all that matter
  /// were found, which a bound shows. For reduce_scatter and reduce, that of
  /// their inverse on the reversed topology. Nothing if there are no trees, the
  /// limits stop it, or the numbers are too large.
  std::optional<TreeSchedule> exact(unsigned steps,
                                    const SearchLimits &limits) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace sccl

#endif // SCCL_SOLVER_TREES_H
