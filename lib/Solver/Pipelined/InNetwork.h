//===- InNetwork.h - Pipelined schedules through switches -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Trees that branch in switches which multicast, and are turned round where
// switches reduce: packed on the graph that has vertices for switches
// (SwitchGraph.h). The two halves of an all_reduce are packed together, since
// what one leaves idle the other needs: a multicast takes one from its source's
// port, and a reduction in a switch one from its destination's.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_PIPELINED_INNETWORK_H
#define SCCL_LIB_SOLVER_PIPELINED_INNETWORK_H

#include "sccl/Model/Inversion.h"
#include "sccl/Model/SwitchGraph.h"
#include "sccl/Optimize/Deadline.h"
#include "sccl/Solver/Multicasts.h"

#include <memory>
#include <optional>

namespace sccl::pipelined {

/// Packs trees for one collective on one topology with switches.
class InNetwork {
public:
  /// Takes the kinds that `hasPipelinedSchedules` names. `topology` must
  /// outlive this.
  InNetwork(const Topology &topology, CollectiveKind kind, unsigned root);

  /// Schedules of up to `steps` steps that need no search. Where all ranks have
  /// links to one another, all chunks go from their source to all ranks at
  /// once, or likewise are reduced: on a single switch nothing is better. Where
  /// there are boxes, which are the ranks of switches that multicast, chunks go
  /// to one rank of each other box and in each box to all ranks at once, or
  /// likewise are reduced; the more steps, the more cards share what leaves a
  /// box. None of these if a rank is in no box, or in several, or has no link
  /// to another box.
  std::vector<Implementation> known(unsigned steps) const;

  /// True if packing takes long: what needs no search is to do then.
  bool isLarge() const;

  /// A pipelined schedule of about `steps` steps, by trees that share out up to
  /// `maxChunks` chunks of a source; nothing if none is found. Where links that
  /// no switch joins follow each other, it may have more steps than that. The
  /// first call looks for symmetries.
  std::optional<Implementation> packed(unsigned steps, unsigned maxChunks,
                                       const SearchLimits &limits);

private:
  /// What moves chunks forward, on the topology or turned round.
  struct Part {
    CollectiveKind kind;
    Topology topology;
    SwitchGraph graph;
    unsigned firstVertex, firstChunk; ///< in the packing
  };
  std::optional<Implementation> direct(unsigned steps) const;
  std::optional<Implementation> allReduceAtOnce() const;
  std::vector<Implementation> byBoxes(unsigned steps) const;
  std::optional<Implementation> allReduceByBoxes(unsigned steps) const;
  std::optional<Implementation> write(const Part &part,
                                      const Implementation &packed) const;
  std::optional<Implementation>
  assemble(std::vector<Implementation> written) const;
  void prepare();

  const Topology &topology;
  const CollectiveKind kind;
  const unsigned root;
  std::vector<Part> parts;
  std::optional<Topology> joined;
  std::unique_ptr<MulticastSynthesis> trees;
};

} // namespace sccl::pipelined

#endif // SCCL_LIB_SOLVER_PIPELINED_INNETWORK_H
