//===- MutantsTest.cpp - Wrong assembly is found out ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What plans hold is changed in one line and executed with several seeds, until
// a finding or a wrong value tells. Prints what was found by what. With
// SCCL_EMULATE_ALL in the environment every place that a mistake can be at is
// tried, of GCN two in each text, else some of each kind.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"
#include "Judging.h"

#include <cstdlib>

using namespace sccl;
using namespace sccl::test;

namespace {
/// Executes a mutant with one seed after the other.
void judge(const Compiled &compiled, const Mutant &mutant, const Way &way,
           Tally &tally, unsigned seeds) {
  Result<emulate::Code> code = emulate::Code::parse(mutant.text);
  ASSERT_TRUE(code) << code.error();
  judge(compiled, *code, way,
        way.name + ", line " + std::to_string(mutant.line) + ": " +
            mutant.before,
        tally, seeds);
}

/// Mistakes about blocks are none where there is one, and a share of a block is
/// the chunk. Not every schedule needs two halves of scratch, and blocks that
/// only set flags for each other may count launches by themselves.
bool canMatter(const Mutant &mutant, const Way &way, bool isOneShot) {
  auto is = [&](const char *part) {
    return mutant.kind.find(part) != std::string::npos;
  };
  const LoweringOptions &options = way.options;
  if (is("absent blocks"))
    return options.blocksPerLink > 1 && isOneShot && options.doubleBuffer;
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
  return spread(std::move(byKind), most);
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
  if (kind == "second write-back: gone")
    return "the first one, which is waited for, has covered all stores";
  return nullptr;
}

void judgeAll(const Subject &subject, const Way &way, unsigned most,
              Matrix &matrix, bool isOneShot = false, bool judgesAll = true) {
  SCOPED_TRACE(way.name);
  std::optional<Compiled> compiled = compile(subject, way.options, way.target);
  ASSERT_TRUE(compiled);
  Result<emulate::Code> code = emulate::Code::parse(compiled->text());
  ASSERT_TRUE(code) << code.error();
  Executed right = execute(*compiled, *code, executionOf(*compiled, way, 0));
  ASSERT_TRUE(right.isRight()) << right.str();
  for (const Mutant &mutant :
       chosen(mutantsOf(compiled->text()), right.report.execution.lines, way,
              isOneShot, most))
    if (bool maySurvive = reasonToSurvive(mutant.kind);
        judgesAll || !maySurvive)
      judge(*compiled, mutant, way, matrix[mutant.kind], seedsFor(maySurvive));
}

/// Those that change nothing that matters.
bool isEquivalent(const std::string &kind) {
  return kind == "second write-back: gone";
}

/// Of each kind there are some that are found out.
void expectAll(const Matrix &matrix, const std::vector<std::string> &kinds) {
  for (const std::string &kind : kinds) {
    auto found = matrix.find(kind);
    Tally tally = found == matrix.end() ? Tally() : found->second;
    EXPECT_NE(isEquivalent(kind) ? tally.made : tally.killed, 0u) << kind;
  }
}
} // namespace

TEST(Mutants, areFoundOut) {
  std::optional<Subject> reduce = ringReduce(), gather = ringGather(),
                         oneShot = oneShotGather();
  ASSERT_TRUE(reduce && gather && oneShot);
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
  for (const Way &way : ways())
    if (way.options.doubleBuffer)
      judgeAll(*oneShot, way, most, matrix, true);
  expectFoundOut(matrix, reasonToSurvive);
  expectAll(matrix, mutantKinds());
}

TEST(Mutants, areFoundOutOnAMD) {
  std::optional<Subject> reduce = ringReduce(), oneShot = oneShotGather();
  ASSERT_TRUE(reduce && oneShot);
  bool isWhole = std::getenv("SCCL_EMULATE_ALL");
  unsigned most = isWhole ? 2 : 1;
  const std::set<std::string> reduces = {"gfx942 push", "gfx90a push"};
  const std::set<std::string> oneShots = {"gfx942 ll"};
  Matrix matrix;
  for (const char *chip : {"gfx942", "gfx90a"})
    for (const Way &way : waysFor(chip)) {
      if (!way.options.steps && (isWhole || reduces.count(way.name) != 0))
        judgeAll(*reduce, way, most, matrix, false, isWhole);
      if (way.options.doubleBuffer &&
          (isWhole || oneShots.count(way.name) != 0))
        judgeAll(*oneShot, way, most, matrix, true, isWhole);
      if (HasFatalFailure())
        return;
    }
  expectFoundOut(matrix, reasonToSurvive);
  if (isWhole)
    expectAll(matrix, gcnMutantKinds());
}
