//===- ContributionEncoding.h - Reductions as a CNF -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules of combining collectives, without the detour over an inverse: one
// variable says that the contribution of a rank is in the value that another
// rank has of a chunk after a step. Sends add the sender's value, or its input,
// to the value of the receiver, or replace it; what is added must be disjoint.
// That is all that `checkSchedule` allows of schedules with one running sum for
// each rank and chunk, so refutations are proofs for these. Where ranks keep
// several partial sums there may be others: see PartialSumEncoding.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_SAT_CONTRIBUTIONENCODING_H
#define SCCL_LIB_SOLVER_SAT_CONTRIBUTIONENCODING_H

#include "Optimize/Cnf.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Symmetry.h"

#include <functional>

namespace sccl {

/// The formula of an instance, possibly with a restriction to symmetric
/// schedules: a group of rank permutations moves the chunks as well, |group| of
/// them in a cycle of images, so that the sends of one determine those of the
/// others. Chunks left over at the end are unrestricted.
class ContributionEncoding {
public:
  /// `group` lists all elements, the identity first. It must be trivial unless
  /// `actsOn(collective)`.
  ContributionEncoding(const Instance &instance, std::vector<Permutation> group,
                       ClauseSolver &solver);
  virtual ~ContributionEncoding() = default;

  /// True if all chunks are alike and stay alike under any renumbering of the
  /// ranks, as in an all_reduce.
  static bool actsOn(const Collective &collective);
  /// About the variables of the formula of a group of this order, the counters
  /// of the limits excluded.
  static uint64_t numVariables(const Instance &instance, size_t groupOrder);

  /// Adds all clauses, or some if `stop` returns true on the way.
  void encode(const std::function<bool()> &stop);
  /// Of all clauses added so far.
  uint64_t numLiterals() const { return cnf.numLiterals(); }
  /// Whether the model that the solver has found is a schedule.
  virtual bool isDecodable() const { return true; }
  /// The schedule of that model.
  Schedule decode() const;

protected:
  /// Per contributing rank a literal, `never` if it cannot be in the value.
  using Value = std::vector<int>;
  static constexpr int never = 0;

  /// The sends of one chunk over one link in one step: literals or `never`.
  struct Transfer {
    int current = never; ///< of the sender's value
    int input = never;   ///< of the sender's input
    Value carried = {};
  };
  /// One step of one chunk.
  struct Phase {
    std::vector<Transfer> transfers; // per link, several times over if need be
    std::vector<int> replaced;       // per rank: what arrives is a copy
  };
  /// A chunk that is searched for, with its images under the first `size`
  /// elements of the group, which are the chunks numbered from it on.
  struct Orbit {
    unsigned chunk, size;
    std::vector<Phase> phases; // per step - 1
  };

  virtual void encodeOrbit(Orbit &orbit);
  /// Adds the sends of the chunks of `orbit` to `steps`.
  virtual void decodeOrbit(const Orbit &orbit, std::vector<Step> &steps) const;
  /// Adds `send`, which is of the first chunk, and its images.
  void addImages(const Orbit &orbit, unsigned link, Send send,
                 Step &step) const;
  bool isTrue(int literal) const {
    return literal != never && solver.isTrue(literal);
  }

  const Instance &instance;
  const Topology &topology;
  ClauseSolver &solver;
  Cnf cnf;
  std::vector<Orbit> orbits;

private:
  Transfer encodeTransfer(unsigned chunk, unsigned source, const Value &value,
                          bool isFirstStep);
  int encodeCarried(const Transfer &transfer, int isInValue, bool isOwn);
  std::vector<Value> encodeArrivals(Phase &phase,
                                    const std::vector<Value> &before);
  int encodeReplacement(const Literals &arriving);
  Value encodeSum(const Value &before, int replaced,
                  const std::vector<const Value *> &carried);
  void encodeOrder();
  void encodeOrder(const Literals &left, const Literals &right);
  bool areAlike(const Orbit &left, const Orbit &right) const;
  Literals sendsOf(const Orbit &orbit) const;
  void addRoundVariables();
  void encodeCapacities(const std::function<bool()> &stop);
  void limitLoad(const Literals &load, unsigned bandwidth, unsigned step);
  Literals loadOf(const BandwidthLimit &limit, unsigned step) const;
  bool isRepresentative(const BandwidthLimit &limit) const;

  const std::vector<Permutation> group;
  std::vector<std::vector<unsigned>> linkImages; // per element
  /// moreRounds[t][m]: step t + 1 has at least m + 2 rounds.
  std::vector<Literals> moreRounds;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_SAT_CONTRIBUTIONENCODING_H
