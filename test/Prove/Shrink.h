//===- Shrink.h - A smaller case with the same fault ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_SHRINK_H
#define SCCL_TEST_PROVE_SHRINK_H

#include "RandomCase.h"

#include <functional>

namespace sccl::test {

/// The smallest case that `fails` still and that is reached from `given`, which
/// fails, by these: an option less, fewer elements, a chunk less (of a
/// collective that is user-defined then), a step less where nothing is missing
/// then, a limit less. Asks `fails` at most `most` times.
RandomCase shrink(RandomCase given,
                  const std::function<bool(const RandomCase &)> &fails,
                  unsigned most = 200);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_SHRINK_H
