//===- SlowProgram.h - A program checked in the plainest way ----*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What coll-check-program decides, from the definition and without regard for
// time or memory, to compare it with: three launches in a row are one graph of
// all ops, whose order is the closure of what each op must come after; each two
// accesses of a slot, of which one writes, must be in that order; and one
// execution moves the values.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_SLOWPROGRAM_H
#define SCCL_TEST_PROVE_SLOWPROGRAM_H

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Model/Collective.h"

#include <map>
#include <optional>
#include <string>

namespace sccl::test {

/// By rank and chunk, how an output is added up, as SlowTree.h writes it.
using SlowTrees = std::map<std::pair<unsigned, unsigned>, std::string>;

/// What is wrong with `program`, which MLIR's verifier has accepted and which
/// is to implement `collective`, or nothing. Takes the third power of the ops.
std::optional<std::string> slowFault(coll::ProgramOp program,
                                     const Collective &collective);

/// What ranks end with after one launch of `program`, which has no fault. The
/// terms of one reduction are added one by one, or at once if the program
/// `roundsOnce`.
SlowTrees slowTrees(coll::ProgramOp program, const Collective &collective,
                    bool roundsOnce);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_SLOWPROGRAM_H
