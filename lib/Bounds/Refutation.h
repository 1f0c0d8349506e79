//===- Refutation.h - What CaDiCaL's proofs come to -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CaDiCaL 1.5 writes DRAT: the clauses that it learns and drops, without
// reasons. Here each gets its reasons, and what the empty clause does not need
// is left out, so that whoever checks the rest has nothing to search for.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_BOUNDS_REFUTATION_H
#define SCCL_LIB_BOUNDS_REFUTATION_H

#include "sccl/Check/ChunkFormula.h"
#include "sccl/Optimize/Deadline.h"

#include <optional>
#include <string_view>

namespace sccl::bounds {

/// The steps of `drat`, a proof in binary form that `formula` cannot be
/// satisfied, which the empty clause needs. Nothing if `deadline` expires, if
/// the proof does not end, or if some clause does not follow by unit
/// propagation.
std::optional<std::vector<RefutationStep>>
explainRefutation(const ChunkFormula &formula, std::string_view drat,
                  const Deadline &deadline);

/// Searches for a refutation of `formula` within the work of `deadline`.
/// Returns its steps; or in `model`, by variable, what satisfies the formula;
/// or neither.
std::optional<std::vector<RefutationStep>>
refute(const ChunkFormula &formula, const Deadline &deadline,
       std::optional<std::vector<bool>> &model);

} // namespace sccl::bounds

#endif // SCCL_LIB_BOUNDS_REFUTATION_H
