//===- Mutants.h - Assembly with a mistake ----------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_MUTANTS_H
#define SCCL_TEST_EMULATE_MUTANTS_H

#include <string>
#include <vector>

namespace sccl::test {

/// A text that differs from what was emitted in one line, or in the order of
/// two.
struct Mutant {
  std::string kind; ///< "release: relaxed"
  unsigned line = 0;
  std::string before, after; ///< of that line; `after` is empty if it is gone
  std::string text;
};

/// All mutants of `text`, by kind and line.
std::vector<Mutant> mutantsOf(const std::string &text);

/// The names of all kinds, of PTX and of GCN.
std::vector<std::string> mutantKinds();
std::vector<std::string> gcnMutantKinds();

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_MUTANTS_H
