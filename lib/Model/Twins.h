//===- Twins.h - Ranks that may be exchanged alone --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks are twins if the group exchanges them and keeps all others: the
// GPUs of a box behind a switch, or of one NIC. Then any order of the twins of
// a class is in the group, so that it is a smaller group, of classes, and an
// order within each.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_TWINS_H
#define SCCL_LIB_MODEL_TWINS_H

#include "sccl/Model/Symmetry.h"

#include <vector>

namespace sccl::permutations {

/// Classes of ranks any two of which a group exchanges alone.
class TwinClasses {
public:
  /// Finds those that follow from exchanges among `generators`.
  TwinClasses(const std::vector<Permutation> &generators, unsigned numRanks);

  unsigned count() const { return unsigned(classes.size()); }
  /// False if no rank has a twin.
  bool any() const { return classes.size() < classOf.size(); }

  /// What `generators` do to the classes, without those that keep all.
  std::vector<Permutation>
  onClasses(const std::vector<Permutation> &generators) const;
  /// Maps the n-th rank of each class to the n-th of its image.
  Permutation lifted(const Permutation &ofClasses) const;
  unsigned classOfRank(unsigned rank) const { return classOf[rank]; }
  /// For each rank, how many of its class come before it.
  std::vector<unsigned> positions() const;
  /// Turns all classes at once: elements, the identity first, as many as divide
  /// the size of each.
  std::vector<Permutation> turns() const;

private:
  std::vector<unsigned> classOf;
  std::vector<std::vector<unsigned>> classes; ///< ascending
};

} // namespace sccl::permutations

#endif // SCCL_LIB_MODEL_TWINS_H
