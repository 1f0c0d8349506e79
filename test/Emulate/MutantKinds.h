//===- MutantKinds.h - Ways to get assembly wrong ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_MUTANTKINDS_H
#define SCCL_TEST_EMULATE_MUTANTKINDS_H

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sccl::test {

/// A line of assembly, and what is around it.
struct Line {
  std::string text, next = "", previous = "";
  std::string function;    ///< whose body it is in
  std::string callee = ""; ///< of a call in GCN
  /// Loads what a waiting thread looks at now and then; nobody writes that in
  /// tests.
  bool isOfAbortWord = false;
};

using Change = std::function<std::optional<std::string>(const Line &)>;

/// One way to get it wrong: what becomes of a line, if it is one of those.
struct Kind {
  const char *name;
  Change change;
  /// The line and the next one change places, whatever `change` says.
  bool swaps = false;
};

bool isIn(const Line &line, const char *function);
/// A helper that copies or reduces LL words: "coll_copy_pm".
bool isOfWords(const Line &line);
/// In such a one, where it waits for words.
bool isPollOfWords(const Line &line);

/// Replaces `from`, wherever `where` is true.
Change replace(const char *from, const char *to,
               bool (*where)(const Line &) = nullptr);
/// The same in bodies of functions whose name begins with `function`.
Change replaceIn(const char *function, const char *from, const char *to,
                 bool (*where)(const Line &) = nullptr);

/// Those of GCN.
const std::vector<Kind> &gcnKinds();
std::vector<Line> gcnLinesOf(const std::string &text);

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_MUTANTKINDS_H
