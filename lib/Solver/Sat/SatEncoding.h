//===- SatEncoding.h - Schedules as a CNF -----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One variable says that a chunk is at a rank after a step, one that it travels
// over a link in a step; both exist only inside the windows of Windows.h. The
// search may be restricted, which is where the speed comes from: a model of a
// restricted formula is a schedule, but its refutation proves nothing.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_SAT_SATENCODING_H
#define SCCL_LIB_SOLVER_SAT_SATENCODING_H

#include "Optimize/Cnf.h"
#include "Solver/Quotient.h"
#include "Solver/Windows.h"
#include "sccl/Model/SwitchLoads.h"

namespace sccl {

/// What a formula leaves out.
struct SatRestriction {
  /// Only schedules that this group maps to themselves.
  std::vector<Permutation> group;
  /// Only these rounds per step; empty if any of sum R will do.
  std::vector<unsigned> rounds;
  /// Only schedules in which chunk i leaves its only source in the i-th slot.
  bool slots = false;
};

/// The formula of an instance under a restriction.
class SatEncoding {
public:
  SatEncoding(const Instance &instance, const WindowPlan &windows,
              SatRestriction restriction, ClauseSolver &solver)
      : instance(instance), topology(instance.topology), windows(windows),
        quotient(topology, instance.collective, std::move(restriction.group)),
        switches(topology), fixedRounds(std::move(restriction.rounds)),
        useSlots(restriction.slots), solver(solver), cnf(solver),
        placeAt(topology.numRanks()) {}

  /// Adds all clauses, or some if `stop` returns true on the way.
  void encode(const std::function<bool()> &stop);
  uint64_t numLiterals() const { return cnf.numLiterals(); }
  /// The schedule of the model that the solver has found.
  Schedule decode() const;

  /// True if all moving chunks have the same only source and the same
  /// destinations, so that their order of departure can be chosen.
  static bool hasSlots(const Instance &instance, const WindowPlan &windows);

private:
  /// A variable: `chunk` travels over `link` in `step`, counted from 1.
  struct Travel {
    unsigned chunk, link, step;
    int variable;
  };
  /// The variables of one chunk at one rank while the chunk is encoded.
  struct Place {
    Window window;
    Literals arrived;               // by the end of step window.first + i
    std::vector<Literals> incoming; // in step window.first + i
    Literals outgoing;              // in any step
  };
  /// A place in the row in which chunks leave their source.
  struct Slot {
    unsigned link, step;
  };

  void encodeChunk(unsigned chunk, const ChunkClass &kind);
  void addPlaces(const ChunkClass &kind);
  void addTravels(unsigned chunk, Place &place);
  void addTravel(unsigned chunk, unsigned link, unsigned step, Place &place,
                 Place *from);
  void constrainPlace(const Place &place, bool unicast);
  void encodeSlots();
  std::vector<Slot> listSlots(unsigned source, size_t count) const;
  void addSlotsOfStep(unsigned source, unsigned step,
                      const std::vector<std::vector<unsigned>> &limitsOf,
                      std::vector<Slot> &slots) const;
  void encodeCapacities(const std::function<bool()> &stop);
  void limitLoad(const Literals &load, unsigned bandwidth, unsigned step);
  unsigned usefulSpareRounds() const;
  void addRoundVariables();
  Literals loadOf(const BandwidthLimit &limit, unsigned step) const;
  Literals loadWithSwitches(unsigned limit, unsigned step);
  unsigned spareRounds() const { return instance.rounds - instance.steps; }

  const Instance &instance;
  const Topology &topology;
  const WindowPlan &windows;
  const Quotient quotient;
  const SwitchLimits switches;
  const std::vector<unsigned> fixedRounds;
  const bool useSlots;
  ClauseSolver &solver;
  Cnf cnf;

  std::vector<Travel> travels;
  std::vector<std::vector<Literals>> loads; // per step - 1, per link
  /// moreRounds[t][m]: step t + 1 has at least m + 2 rounds.
  std::vector<Literals> moreRounds;

  // Of the chunk being encoded.
  std::vector<Place> places;
  static constexpr int isSource = -1, isUseless = -2;
  std::vector<int> placeAt; // per rank: index into `places`, or one of these
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_SAT_SATENCODING_H
