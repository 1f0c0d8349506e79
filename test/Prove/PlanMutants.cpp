//===- PlanMutants.cpp - Plans with one change ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "QuietContext.h"

#include "sccl/Measure/HostPlan.h"

using namespace sccl;
using namespace sccl::test;

namespace {
/// Changes the bytes; `at` is a place in them.
using Change = void (*)(std::string &bytes, size_t at, Random &random);

struct MutantClass {
  const char *name;
  Change change;
};

constexpr MutantClass mutantClasses[] = {
    {"bit turned",
     [](std::string &bytes, size_t at, Random &random) {
       bytes[at] ^= char(1 << random() % 8);
     }},
    {"byte replaced",
     [](std::string &bytes, size_t at, Random &random) {
       bytes[at] += char(1 + random() % 255);
     }},
    {"byte dropped",
     [](std::string &bytes, size_t at, Random &) { bytes.erase(at, 1); }},
    {"byte added",
     [](std::string &bytes, size_t at, Random &) { bytes.insert(at, 1, 'x'); }},
    {"end missing",
     [](std::string &bytes, size_t at, Random &) { bytes.resize(at); }},
    {"two bytes swapped",
     [](std::string &bytes, size_t at, Random &random) {
       std::swap(bytes[at], bytes[random() % bytes.size()]);
     }},
};
} // namespace

void test::mutatePlan(const RandomCase &given, Random &random,
                      KillMatrix &matrix) {
  QuietContext quiet;
  auto module = moduleOf(quiet.context, given);
  mlir::FailureOr<HostPlan> plan = HostPlan::compile(*module, given.lowering);
  if (failed(plan))
    return matrix.add("plan", "none",
                      {Fate::Missed, "compiling: " + quiet.said});
  for (const MutantClass &one : mutantClasses)
    for (unsigned i = 0; i < 4; ++i) {
      std::string bytes = plan->bytes;
      one.change(bytes, random() % bytes.size(), random);
      if (bytes == plan->bytes)
        continue;
      bool isRead = bool(plan::parseWhole(bytes));
      matrix.add("plan", one.name,
                 {isRead ? Fate::Missed : Fate::Caught, "the reader"});
    }
}
