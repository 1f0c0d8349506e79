//===- GatheredSums.h - Sums of inputs that are moved -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_reduce in which every rank gets the inputs of all others, and adds
// each to its value as it arrives. It has the steps and the rounds of the
// all_gather that it follows, so its R/C is the same, too. Where ranks are few,
// chunks are small, or the ranks of a group are joined by others only, that is
// often the best there is: no rank has to wait for a sum.
//
// It is not always the best for two ranks either. If all ways between the two,
// in both directions, share a link, that link can carry the sum of both inputs
// in one send, where an all_gather sends each by itself.
//
// A reduce_scatter follows an all_to_all likewise, and a reduce a gather. Then
// each sum is made at one rank, of inputs, which other ranks may pass on: sums
// of small floats are rounded once.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_GATHEREDSUMS_H
#define SCCL_MODEL_GATHEREDSUMS_H

#include "sccl/Model/Composition.h"

namespace sccl {

/// The all_reduce, reduce_scatter or reduce that adds up what `moves`, an
/// all_gather, all_to_all or gather, brings, on the same groups and with as
/// many chunks (C). Sends that serve no rank are left out. Fails if `moves` is
/// none of these, is wrong, or would have a rank keep more than `Send::maxKept`
/// arrivals of a chunk at a time.
Result<Implementation> sumOnArrival(const Implementation &moves);

} // namespace sccl

#endif // SCCL_MODEL_GATHEREDSUMS_H
