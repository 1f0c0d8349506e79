//===- KillMatrix.h - What became of the mutants ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_PROVE_KILLMATRIX_H
#define SCCL_TEST_PROVE_KILLMATRIX_H

#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>

namespace sccl::test {

/// What became of one mutant.
struct Fate {
  enum Kind {
    Caught,     ///< `by` refused it
    Equivalent, ///< it is right, as `by` proves
    Missed,     ///< it was accepted and is wrong, or two checks differ: `by`
  } kind;
  std::string by;
};

/// Counts mutants by kind, class and fate.
class KillMatrix {
public:
  void add(const std::string &kind, const std::string &mutantClass,
           const Fate &fate) {
    ++counts[kind][mutantClass][{fate.kind, fate.by}];
    ++totals[kind].byFate[fate.kind];
    missed += fate.kind == Fate::Missed;
  }

  unsigned numMissed() const { return missed; }

  /// A line per class: how many, and who caught how many of them. Then a line
  /// per kind.
  void print(llvm::raw_ostream &os) const {
    constexpr const char *words[] = {"", "right: ", "MISSED: "};
    for (const auto &[kind, classes] : counts)
      for (const auto &[name, fates] : classes) {
        os << kind << ": " << name << ':';
        const char *separator = " ";
        for (const auto &[fate, count] : fates) {
          os << separator << count << " by " << words[fate.first]
             << fate.second;
          separator = ", ";
        }
        os << '\n';
      }
    for (const auto &[kind, total] : totals) {
      const unsigned *n = total.byFate;
      os << n[0] + n[1] + n[2] << " mutants of a " << kind << ", "
         << counts.at(kind).size() << " classes: " << n[Fate::Caught]
         << " caught, " << n[Fate::Equivalent] << " right, " << n[Fate::Missed]
         << " missed\n";
    }
  }

private:
  struct Total {
    unsigned byFate[3] = {};
  };
  std::map<std::string,
           std::map<std::string,
                    std::map<std::pair<Fate::Kind, std::string>, unsigned>>>
      counts;
  std::map<std::string, Total> totals;
  unsigned missed = 0;
};

} // namespace sccl::test

#endif // SCCL_TEST_PROVE_KILLMATRIX_H
