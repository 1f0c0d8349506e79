//===- MscclExportTest.cpp - Programs as files of MSCCL -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Data/BoxesOnRails.h"
#include "Data/PaperTables.h"
#include "ExchangeTesting.h"
#include "Lowered.h"

#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/UnevenCut.h"
#include "sccl/Model/Baselines.h"
#include "sccl/Model/Scaling.h"
#include "sccl/Solver/Solver.h"

#include <bit>

using namespace sccl;
using namespace sccl::exchange;
using exchange::testing::linesOf;
using exchange::testing::lowered;
using exchange::testing::sendsOf;

/// The same sends, in no more steps.
static void expectImport(const MscclAlgorithm &algorithm,
                         const MscclCheckOptions &options,
                         const Implementation &expected) {
  Result<FoundSchedule> found = fromMsccl(algorithm, options);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->collective.kind(), expected.collective.kind());
  EXPECT_EQ(found->collective.chunks(), expected.collective.chunks());
  EXPECT_EQ(found->collective.root(), expected.collective.root());
  EXPECT_LE(found->schedule.steps.size(), expected.schedule.steps.size());
  EXPECT_EQ(sendsOf(found->schedule), sendsOf(expected.schedule));
}

/// Writes, reads and checks `implementation`.
static void expectExport(const Implementation &implementation,
                         MscclDialect dialect, const coll::Way &way = {}) {
  MscclExportOptions options;
  options.dialect = dialect;
  Result<MscclAlgorithm> algorithm =
      toMsccl(implementation.collective, lowered(implementation, way), options);
  ASSERT_TRUE(algorithm) << implementation.collective.name() << ": "
                         << algorithm.error();
  Findings findings;
  std::string text = printMsccl(*algorithm);
  auto read = parseMsccl(text, findings);
  ASSERT_TRUE(read) << findings.first().front().message;
  MscclCheckOptions check;
  check.dialect = dialect;
  check.root = implementation.collective.root();
  auto verdict = checkMsccl(*read, check, findings);
  ASSERT_TRUE(verdict) << findings.first().front().message;
  EXPECT_EQ(verdict->kind, implementation.collective.kind());
  EXPECT_EQ(verdict->inPlace,
            implementation.collective.kind() != CollectiveKind::AllToAll);
  EXPECT_TRUE(verdict->outOfPlace);
  EXPECT_EQ(printMsccl(*read), text);
  check.inFlight = 1;
  EXPECT_TRUE(checkMsccl(*read, check, findings)) << linesOf(findings);
  if (way.pieces == 1)
    expectImport(*read, check, implementation);
}

TEST(MscclExport, RowsOfThePaper) {
  auto rows = test::readPaperTables();
  ASSERT_TRUE(rows) << rows.error();
  unsigned count = 0;
  for (const test::PaperRow &row : *rows) {
    Result<Instance> instance = row.instance();
    ASSERT_TRUE(instance) << instance.error();
    CollectiveKind kind = instance->collective.kind();
    bool isOriginal =
        kind != CollectiveKind::Gather && kind != CollectiveKind::Scatter;
    SynthesisResult result = synthesize(*instance, {}, "auto");
    auto *found = std::get_if<Satisfied>(&result.outcome);
    ASSERT_TRUE(found) << reasonOf(result.outcome);
    expectExport({instance->collective, found->schedule},
                 isOriginal ? MscclDialect::Original : MscclDialect::Nccl);
    ++count;
  }
  EXPECT_GT(count, 20u);
}

TEST(MscclExport, RingsAndTrees) {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  ASSERT_TRUE(rings) << rings.error();
  using enum CollectiveKind;
  for (CollectiveKind kind :
       {AllGather, ReduceScatter, AllReduce, Broadcast, Reduce}) {
    auto made = makeRingBaseline(boxes, *rings, kind, 2, /*root=*/5);
    ASSERT_TRUE(made) << made.error();
    expectExport(*made, MscclDialect::Nccl);
  }
  auto trees = findTrees(boxes, {{0, 1, 2, 3}, {4, 5, 6, 7}});
  ASSERT_TRUE(trees) << trees.error();
  auto made = makeTreeBaseline(boxes, *trees, 3);
  ASSERT_TRUE(made) << made.error();
  expectExport(*made, MscclDialect::Nccl);
}

/// Interpreters take only counts that are multiples of what buffers are cut
/// into.
TEST(MscclExport, CutsForPowersOfTwo) {
  EXPECT_EQ(cutForPowersOfTwo(1), 1u);
  EXPECT_EQ(cutForPowersOfTwo(6), 64u); // 11 where 10.67 would be even
  EXPECT_EQ(cutForPowersOfTwo(7), 128u);
  EXPECT_EQ(cutForPowersOfTwo(31), 512u);
  EXPECT_EQ(unevenness(8, 64), 0);
  EXPECT_NEAR(unevenness(6, 64), 0.03125, 1e-9);

  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  ASSERT_TRUE(rings) << rings.error();
  using enum CollectiveKind;
  for (CollectiveKind kind :
       {AllGather, ReduceScatter, AllReduce, Broadcast, Reduce}) {
    auto made = makeRingBaseline(boxes, *rings, kind, 2, /*root=*/5);
    ASSERT_TRUE(made) << made.error();
    auto thrice = withChunks(*made, made->collective.chunks() * uint64_t(3));
    ASSERT_TRUE(thrice) << thrice.error();
    const auto &[collective, schedule] = *thrice;
    unsigned chunks = collective.chunksPerSegment();
    unsigned parts = cutForPowersOfTwo(chunks);
    EXPECT_FALSE(std::has_single_bit(chunks)) << collectiveName(kind);
    auto cut = cutUnevenly(collective, schedule, parts);
    ASSERT_TRUE(cut) << cut.error();
    auto algorithm =
        toMsccl(cut->collective, lowered({cut->collective, cut->schedule}), {});
    ASSERT_TRUE(algorithm) << algorithm.error();
    Findings findings;
    MscclCheckOptions options;
    options.root = 5;
    auto verdict = checkMsccl(*algorithm, options, findings);
    ASSERT_TRUE(verdict) << findings.first().front().message;
    EXPECT_EQ(verdict->countMultiple, parts) << collectiveName(kind);
    EXPECT_EQ(cutUnevenly(collective, schedule, chunks - 1).error(),
              std::to_string(chunks - 1) + " parts for " +
                  std::to_string(chunks) + " chunks");
  }
}

/// An all_reduce by rings through two boxes.
static Result<Implementation> ringsOnBoxes() {
  Topology boxes = test::boxesOnRails(2, 4, 3);
  auto rings = findRings(boxes);
  if (!rings)
    return Error{rings.error()};
  return makeRingBaseline(boxes, *rings, CollectiveKind::AllReduce, 2,
                          /*root=*/0);
}

/// What lands to be added up is received there, but for a few arrivals that
/// come in another order than they are taken.
TEST(MscclExport, ReceivesWhereItReduces) {
  Result<Implementation> made = ringsOnBoxes();
  ASSERT_TRUE(made) << made.error();
  auto algorithm = toMsccl(made->collective, lowered(*made), {});
  ASSERT_TRUE(algorithm) << algorithm.error();
  size_t local = 0, all = 0;
  for (const MscclGpu &gpu : algorithm->gpus)
    for (const MscclBlock &block : gpu.blocks)
      for (const MscclStep &step : block.steps) {
        ++all;
        local += step.type == MscclType::Copy || step.type == MscclType::Reduce;
      }
  EXPECT_LT(50 * local, all);
}

/// Pieces are chunks, whatever memory a way goes through.
TEST(MscclExport, Ways) {
  Result<Implementation> made = ringsOnBoxes();
  ASSERT_TRUE(made) << made.error();
  auto whole = toMsccl(made->collective, lowered(*made), {});
  for (const char *name : {"push", "pull", "scratch", "dma", "ll"}) {
    coll::Way way = *findWay(name);
    way.pieces = 3;
    expectExport(*made, MscclDialect::Nccl, way);
    auto inPieces = toMsccl(made->collective, lowered(*made, way), {});
    EXPECT_EQ(inPieces->chunks, 3 * whole->chunks);
  }
}

TEST(MscclExport, Refused) {
  auto gather = Collective::make(CollectiveKind::Gather, 2, 1);
  MscclExportOptions original;
  original.dialect = MscclDialect::Original;
  EXPECT_EQ(toMsccl(*gather, {}, original).error(),
            "the original MSCCL has no 'gather'");
  auto broadcast = Collective::make(CollectiveKind::Broadcast, 2, 1);
  Program nothing{1, 1, {0, 0}, {}};
  EXPECT_EQ(toMsccl(*broadcast, nothing, {}).error(),
            "as an algorithm of MSCCL it is refused: output chunk 0 of rank 1 "
            "lacks input chunk 0 of rank 0");
}
