//===- Composition.h - One schedule after another ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One schedule after another implements what both do together: reduce_scatter
// and all_gather make an all_reduce, as in the SCCL paper. What Inversion.h
// says of schedules that are not right holds here as well.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_COMPOSITION_H
#define SCCL_MODEL_COMPOSITION_H

#include "sccl/Model/Inversion.h"

namespace sccl {

/// The steps of `first`, then those of `second`, on the same topology. The
/// result is one of the named kinds if its pre- and postcondition are those of
/// one, with the C of `first`. Sends of `second` to ranks that already have
/// the chunk as a side effect of `first` are left out. If both are pipelined,
/// so is the result, with the sum of their periods, which `leastPeriod` may
/// lower. Fails unless the
/// postcondition of `first` is the precondition of `second`, and if `second`
/// combines: a rank would not know which values are already sums.
Result<Implementation> compose(const Implementation &first,
                               const Implementation &second);

/// The all_reduce or reduce of `reduceScatter`, and then `gather`, an
/// all_gather or a gather, whose chunks are cut into equal ones. Fails if that
/// takes more than `mostChunks` for each rank or more than `mostSends`, or
/// where compose() and withChunks() do.
Result<Implementation> joinSum(const Implementation &reduceScatter,
                               const Implementation &gather,
                               uint64_t mostChunks,
                               uint64_t mostSends = Schedule::maxSends);

/// An all_reduce with C * ranks chunks on T, from an all_gather on
/// `T.reversed()`, which is inverted and comes first, and an all_gather on T,
/// where C is the least common multiple of theirs (`withChunks`). Steps add up,
/// and so do rounds per chunk. (One schedule may serve as both if T is its own
/// reverse.)
Result<Implementation> composeAllReduce(const Implementation &onReversed,
                                        const Implementation &allGather);

} // namespace sccl

#endif // SCCL_MODEL_COMPOSITION_H
