//===- Judging.h - Mutants that are executed --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_EMULATE_JUDGING_H
#define SCCL_TEST_EMULATE_JUDGING_H

#include "Emulated.h"
#include "Ways.h"

#include <cstdlib>
#include <map>

namespace sccl::test {

struct Tally {
  unsigned made = 0, killed = 0;
  unsigned race = 0, wrong = 0, stuck = 0, other = 0; ///< what each saw
  std::vector<std::string> survivors;
};
using Matrix = std::map<std::string, Tally>;

/// How mutants, and what they are made of, are executed.
inline Request executionOf(const Compiled &compiled, const Way &way,
                           unsigned seed) {
  Request execution;
  uint64_t chunks = compiled.collective.chunksPerSegment();
  execution.elements = {chunks * 41 - 3, chunks * 41 - 3, chunks * 41 - 3,
                        chunks * 14 + 1};
  // A second wavefront has something to do.
  if (way.options.blockSize > 64)
    execution.elements[3] = chunks * 1100 + 1;
  execution.request.launches = 4;
  // Blocks that one launch lacks are there in the next one.
  unsigned blocks = compiled.plan.manifest.programs.back().blocks;
  execution.request.blocks = {blocks, 1, blocks};
  execution.request.settings.seed = seed;
  execution.request.sharedGPUs = way.options.virtualRanks ? 2 : 0;
  return execution;
}

/// With how many seeds a mutant is executed before it survives. Of a kind that
/// may survive, the suite expects nothing of a single one: most of its time
/// would go to those that do what they should.
inline unsigned seedsFor(bool maySurvive) {
  return maySurvive && !std::getenv("SCCL_EMULATE_ALL") ? 4 : 48;
}

/// Executes a mutant with one seed after the other, until something tells: at
/// the latest after so many instructions of each.
inline void judge(const Compiled &compiled, const emulate::Code &code,
                  const Way &way, const std::string &name, Tally &tally,
                  unsigned seeds, uint64_t instructions = uint64_t(1) << 26) {
  using emulate::FindingKind;
  ++tally.made;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Request execution = executionOf(compiled, way, seed);
    execution.request.settings.instructions = instructions;
    Executed executed = execute(compiled, code, execution);
    if (executed.isRight())
      continue;
    tally.race += executed.has(FindingKind::Race);
    tally.wrong += executed.wrong != 0;
    tally.stuck += executed.has(FindingKind::NoProgress);
    tally.other += executed.has(FindingKind::Fault) ||
                   executed.has(FindingKind::Divergence) ||
                   executed.has(FindingKind::Unawaited);
    ++tally.killed;
    return;
  }
  tally.survivors.push_back(name);
}

/// At most `most` of each kind, spread over those that there are.
template <typename Mutant>
std::vector<Mutant> spread(std::map<std::string, std::vector<Mutant>> byKind,
                           unsigned most) {
  std::vector<Mutant> taken;
  for (auto &[kind, all] : byKind) {
    size_t count = std::min<size_t>(most, all.size());
    for (size_t i = 0; i < count; ++i)
      taken.push_back(std::move(all[i * all.size() / count]));
  }
  return taken;
}

/// What mutants are made of: sums and copies in a ring, and an all_gather whose
/// ranks send at once, so that one may begin anew before others have read.
inline std::optional<Subject> ringReduce() {
  return synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
}
inline std::optional<Subject> ringGather() {
  return synthesized("ring:4", CollectiveKind::AllGather, 2, 3, 3);
}
inline std::optional<Subject> oneShotGather() {
  return synthesized("mesh:3", CollectiveKind::AllGather, 1, 1, 1);
}

/// What was found by what. `reason` says of a kind why some do what they
/// should, or null.
inline void print(const Matrix &matrix,
                  const char *(*reason)(const std::string &kind)) {
  std::printf("%-34s %5s %6s %5s %6s %6s %6s\n", "kind", "made", "killed",
              "race", "values", "stuck", "other");
  for (const auto &[kind, tally] : matrix) {
    std::printf("%-34s %5u %6u %5u %6u %6u %6u\n", kind.c_str(), tally.made,
                tally.killed, tally.race, tally.wrong, tally.stuck,
                tally.other);
    if (const char *why = reason(kind))
      std::printf("    may survive: %s\n", why);
    for (const std::string &survivor : tally.survivors)
      std::printf("    survives: %s\n", survivor.c_str());
  }
}

/// Prints what was found by what, and expects that of all kinds without a
/// reason all were.
inline void expectFoundOut(const Matrix &matrix,
                           const char *(*reason)(const std::string &kind)) {
  print(matrix, reason);
  for (const auto &[kind, tally] : matrix)
    if (reason(kind) == nullptr) {
      EXPECT_EQ(tally.killed, tally.made) << kind;
    }
}

} // namespace sccl::test

#endif // SCCL_TEST_EMULATE_JUDGING_H
