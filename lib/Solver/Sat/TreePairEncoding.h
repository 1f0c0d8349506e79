//===- TreePairEncoding.h - Leanest all_reduce as a CNF ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_reduce in which no chunk has more than the 2 (ranks - 1) sends that it
// needs. So each chunk goes up a tree to its root, where the contributions are
// summed up, and down another tree from there. The last child of a root may
// get what it lacks in the same step in which it sends, so that both are
// complete then.
//
// This needs far fewer variables than the contributions in each value, see
// ContributionEncoding.h, and finds schedules that use all of the bandwidth.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_SAT_TREEPAIRENCODING_H
#define SCCL_LIB_SOLVER_SAT_TREEPAIRENCODING_H

#include "Optimize/Cnf.h"
#include "sccl/Model/Instance.h"
#include "sccl/Model/Schedule.h"
#include "sccl/Model/Symmetry.h"

#include <functional>

namespace sccl {

/// The formula of one instance of all_reduce on at least two ranks.
class TreePairEncoding {
public:
  /// `group` lists all elements, the identity first. With `isPalindrome` each
  /// chunk has a mirror image, which goes the other way round backwards in
  /// time; turning all links round must change nothing, see `isOwnReverse`. The
  /// number of images of a chunk must divide that of the chunks. `rounds` are
  /// those of each step and add up to R.
  TreePairEncoding(const Instance &instance, std::vector<Permutation> group,
                   bool isPalindrome, std::vector<unsigned> rounds,
                   ClauseSolver &solver);

  /// Adds all clauses, or some if `stop` returns true on the way.
  void encode(const std::function<bool()> &stop);
  /// The schedule of the model that the solver has found.
  Schedule decode() const;

private:
  /// A chunk that is searched for, with its images under the group. Steps count
  /// from 0; "before" is the time before a step, or after the last one.
  struct Orbit {
    Literals root;                   // per rank
    std::vector<Literals> up, down;  // per link and step: sends
    std::vector<Literals> hasSent;   // per rank and step: up, by its end
    std::vector<Literals> hasSum;    // per rank and time before a step
    std::vector<Literals> exchanges; // per link and step: down, no copy
  };

  std::vector<Literals> newTable(size_t rows, size_t columns);
  void encodeRoot(const Orbit &orbit);
  void encodeUp(const Orbit &orbit);
  void encodeDown(const Orbit &orbit);
  void encodeExchange(const Orbit &orbit, unsigned link, unsigned step);
  void encodeWindows(const Orbit &orbit);
  Literals sendsAt(const std::vector<Literals> &sends,
                   const std::vector<unsigned> &links) const;
  bool isRepresentative(const BandwidthLimit &limit) const;
  void encodeLimit(const BandwidthLimit &limit, unsigned step);
  Literals loadOf(const BandwidthLimit &limit, unsigned step) const;
  void addSend(unsigned firstChunk, unsigned link, bool adds,
               std::vector<Send> &sends) const;
  void decodeStep(const Orbit &orbit, unsigned firstChunk, unsigned step,
                  Schedule &schedule) const;
  unsigned numImages() const { return group.size() * (isPalindrome ? 2 : 1); }
  bool isTrue(int literal) const { return solver.isTrue(literal); }

  const Instance &instance;
  const Topology &topology;
  const std::vector<Permutation> group;
  const bool isPalindrome;
  std::vector<std::vector<unsigned>> linkImages; // per element
  std::vector<unsigned> mirrorLinks;             // if it is a palindrome
  const std::vector<unsigned> rounds;            // per step
  ClauseSolver &solver;
  Cnf cnf;
  const unsigned leastIn, leastOut; // steps, see `leastRadius`
  std::vector<Orbit> orbits;
};

} // namespace sccl

#endif // SCCL_LIB_SOLVER_SAT_TREEPAIRENCODING_H
