//===- GatheredSums.h - Sums of inputs that all are gathered ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_reduce in which each of two ranks gets the input of the other and adds
// it on arrival. It has the steps and the rounds of the all_gather that it
// follows, so its R/C is the same, too. A relay has one value of a chunk, so the
// two inputs that make a chunk of the sum go over relays that differ.
//
// That is not always the best for two ranks. If all ways between them, in both
// directions, share a link, that link can carry the sum of both inputs in one
// send, where an all_gather sends each by itself.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_GATHEREDSUMS_H
#define SCCL_MODEL_GATHEREDSUMS_H

#include "sccl/Model/Composition.h"

namespace sccl {

/// The all_reduce that adds up what `allGather` brings, on the same groups and
/// with as many chunks (C). Sends that serve no rank are left out. Fails if
/// `allGather` is none, is wrong, has other groups than pairs of ranks, or
/// brings chunks that cannot all be paired.
Result<Implementation> sumOnArrival(const Implementation &allGather);

} // namespace sccl

#endif // SCCL_MODEL_GATHEREDSUMS_H
