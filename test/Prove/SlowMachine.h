//===- SlowMachine.h - A second reader of machines --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads a coll.machine line by line, with regular expressions, by the rules of
// Machine.h and no code of the first reader.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_SLOWMACHINE_H
#define SCCL_TEST_PROVE_SLOWMACHINE_H

#include "sccl/Machine/Machine.h"

#include <optional>
#include <set>
#include <string>

namespace sccl::test {

/// What a machine is, in no order: a text for each vertex and for each directed
/// edge.
using MachineFacts = std::multiset<std::string>;

/// The facts of a file with one coll.machine, as it is printed: an op in a
/// line. Nothing if the file is not right.
std::optional<MachineFacts> readSlowly(const std::string &text);

/// The facts of what the first reader has read.
MachineFacts factsOf(const Machine &machine);

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_SLOWMACHINE_H
