//===- MutantsTest.cpp - Wrong PTX is found out ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What plans hold is changed in one line and executed with several seeds, until
// a finding or a wrong value tells. Prints what was found by what. With
// SCCL_EMULATE_ALL in the environment every place that a mistake can be at is
// tried, else some of each kind.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "Emulated.h"
#include "Ways.h"

#include <cstdlib>
#include <map>

using namespace sccl;
using namespace sccl::test;
using emulate::FindingKind;

namespace {
struct Tally {
  unsigned made = 0, killed = 0;
  unsigned race = 0, wrong = 0, stuck = 0, other = 0; ///< what each saw
  std::vector<std::string> survivors;
};
using Matrix = std::map<std::string, Tally>;

/// How mutants, and what they are made of, are executed.
Request executionOf(const Compiled &compiled, const Way &way, unsigned seed) {
  Request execution;
  uint64_t chunks = compiled.collective.chunksPerSegment();
  execution.elements = {chunks * 41 - 3, chunks * 41 - 3, chunks * 41 - 3,
                        chunks * 14 + 1};
  execution.request.launches = 4;
  execution.request.settings.seed = seed;
  execution.request.settings.instructions = uint64_t(1) << 26;
  execution.request.sharedGPUs = way.options.virtualRanks ? 2 : 0;
  return execution;
}

/// Executes a mutant with one seed after the other.
void judge(const Compiled &compiled, const Mutant &mutant, const Way &way,
           Tally &tally) {
  Result<emulate::Code> code = emulate::Code::parse(mutant.text);
  ASSERT_TRUE(code) << code.error();
  ++tally.made;
  bool race = false, wrong = false, stuck = false, other = false;
  constexpr unsigned seeds = 16;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    Executed executed =
        execute(compiled, *code, executionOf(compiled, way, seed));
    race |= executed.has(FindingKind::Race);
    wrong |= executed.wrong != 0;
    stuck |= executed.has(FindingKind::NoProgress);
    other |= executed.has(FindingKind::Fault) ||
             executed.has(FindingKind::Divergence);
    if (race || wrong || stuck || other)
      break;
  }
  tally.race += race;
  tally.wrong += wrong;
  tally.stuck += stuck;
  tally.other += other;
  if (race || wrong || stuck || other)
    ++tally.killed;
  else
    tally.survivors.push_back(way.name + ", line " +
                              std::to_string(mutant.line) + ": " +
                              mutant.before);
}

/// Mistakes about blocks are none where there is one, and a share of a block is
/// the chunk. Not every schedule needs two halves of scratch.
bool canMatter(const Mutant &mutant, const Way &way, bool isOneShot) {
  auto is = [&](const char *part) {
    return mutant.kind.find(part) != std::string::npos;
  };
  const LoweringOptions &options = way.options;
  if (is("another block's") ||
      (is("short chunk") && options.codeShape == CodeShapeChoice::Table))
    return options.blocksPerLink > 1;
  return !is("halves") || (isOneShot && options.doubleBuffer);
}

/// Those in a line that is executed, at most so many of each kind, spread over
/// the text.
std::vector<Mutant> chosen(std::vector<Mutant> mutants,
                           const std::set<unsigned> &lines, const Way &way,
                           bool isOneShot, unsigned most) {
  std::map<std::string, std::vector<Mutant>> byKind;
  for (Mutant &mutant : mutants)
    if (lines.count(mutant.line) != 0 && canMatter(mutant, way, isOneShot))
      byKind[mutant.kind].push_back(std::move(mutant));
  std::vector<Mutant> taken;
  for (auto &[kind, all] : byKind)
    for (size_t i = 0; i < std::min<size_t>(most, all.size()); ++i)
      taken.push_back(all[i * all.size() / std::min<size_t>(most, all.size())]);
  return taken;
}

void judgeAll(const Subject &subject, const Way &way, unsigned most,
              Matrix &matrix, bool isOneShot = false) {
  SCOPED_TRACE(way.name);
  std::optional<Compiled> compiled = compile(subject, way.options);
  ASSERT_TRUE(compiled);
  Result<emulate::Code> code = emulate::Code::parse(compiled->text());
  ASSERT_TRUE(code) << code.error();
  Executed right = execute(*compiled, *code, executionOf(*compiled, way, 0));
  ASSERT_TRUE(right.isRight()) << right.str();
  for (const Mutant &mutant :
       chosen(mutantsOf(compiled->text()), right.report.execution.lines, way,
              isOneShot, most))
    judge(*compiled, mutant, way, matrix[mutant.kind]);
}

/// Why some mutants of a kind do what they should, and null if none do.
const char *reasonToSurvive(const std::string &kind) {
  if (kind == "call of a signal gone")
    return "a later signal of the same flag, whose value is greater, comes "
           "without the waiter's doing";
  if (kind == "call of a wait gone")
    return "READY of a rank whose scratch everybody has read who has ended an "
           "all_reduce";
  if (kind == "end: no barrier")
    return "signals and waits have barriers, too, between the loads of the "
           "epoch word and its store";
  return nullptr;
}

void print(const Matrix &matrix) {
  std::printf("%-34s %5s %6s %5s %6s %6s %6s\n", "kind", "made", "killed",
              "race", "values", "stuck", "other");
  for (const auto &[kind, tally] : matrix) {
    std::printf("%-34s %5u %6u %5u %6u %6u %6u\n", kind.c_str(), tally.made,
                tally.killed, tally.race, tally.wrong, tally.stuck,
                tally.other);
    if (const char *reason = reasonToSurvive(kind))
      std::printf("    may survive: %s\n", reason);
    for (const std::string &survivor : tally.survivors)
      std::printf("    survives: %s\n", survivor.c_str());
  }
}
} // namespace

TEST(Mutants, areFoundOut) {
  std::optional<Subject> reduce =
      synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
  std::optional<Subject> gather =
      synthesized("ring:4", CollectiveKind::AllGather, 2, 3, 3);
  ASSERT_TRUE(reduce && gather);
  bool isWhole = std::getenv("SCCL_EMULATE_ALL");
  unsigned most = isWhole ? 10000 : 1;
  const std::set<std::string> left = {"scratch", "pull table", "2 pieces",
                                      "virtual ranks"};
  Matrix matrix;
  for (const Way &way : ways()) {
    if (way.options.steps || (!isWhole && left.count(way.name) != 0))
      continue;
    judgeAll(*reduce, way, most, matrix);
    if (HasFatalFailure())
      return;
  }
  judgeAll(*gather, ways().front(), most, matrix);
  // Where each rank sends at once, it may begin anew before others have read.
  std::optional<Subject> oneShot =
      synthesized("mesh:3", CollectiveKind::AllGather, 1, 1, 1);
  ASSERT_TRUE(oneShot);
  for (const Way &way : ways())
    if (way.options.doubleBuffer)
      judgeAll(*oneShot, way, most, matrix, true);
  print(matrix);
  for (const std::string &kind : mutantKinds()) {
    const Tally &tally = matrix[kind];
    EXPECT_NE(tally.killed, 0u) << kind;
    if (reasonToSurvive(kind) == nullptr) {
      EXPECT_EQ(tally.killed, tally.made) << kind;
    }
  }
}
