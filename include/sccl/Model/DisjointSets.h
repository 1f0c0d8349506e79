//===- DisjointSets.h - Sets that are joined --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_DISJOINTSETS_H
#define SCCL_MODEL_DISJOINTSETS_H

#include <algorithm>
#include <numeric>
#include <vector>

namespace sccl {

/// Sets of the numbers below a bound, each alone in its own at first.
class DisjointSets {
public:
  explicit DisjointSets(size_t size) : parent(size) {
    std::iota(parent.begin(), parent.end(), 0u);
  }
  /// The smallest number in the set of `at`.
  unsigned first(unsigned at) {
    while (parent[at] != at)
      at = parent[at] = parent[parent[at]];
    return at;
  }
  /// Returns false if they were in one set already.
  bool join(unsigned a, unsigned b) {
    unsigned one = first(a), other = first(b);
    parent[std::max(one, other)] = std::min(one, other);
    return one != other;
  }

private:
  std::vector<unsigned> parent;
};

} // namespace sccl

#endif // SCCL_MODEL_DISJOINTSETS_H
