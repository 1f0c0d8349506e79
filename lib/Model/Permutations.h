//===- Permutations.h - Renumberings of the ranks ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_PERMUTATIONS_H
#define SCCL_LIB_MODEL_PERMUTATIONS_H

#include "sccl/Model/Symmetry.h"

#include <numeric>

namespace sccl::permutations {

inline Permutation identity(unsigned numRanks) {
  Permutation result(numRanks);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

/// First `inner`, then `outer`.
inline Permutation compose(const Permutation &outer, const Permutation &inner) {
  Permutation result(inner.size());
  for (size_t rank = 0; rank < inner.size(); ++rank)
    result[rank] = outer[inner[rank]];
  return result;
}

inline bool isIdentity(const Permutation &permutation) {
  for (unsigned rank = 0; rank < permutation.size(); ++rank)
    if (permutation[rank] != rank)
      return false;
  return true;
}

inline bool hasFixedRank(const Permutation &permutation) {
  for (unsigned rank = 0; rank < permutation.size(); ++rank)
    if (permutation[rank] == rank)
      return true;
  return false;
}

} // namespace sccl::permutations

#endif // SCCL_LIB_MODEL_PERMUTATIONS_H
