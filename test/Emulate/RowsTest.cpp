//===- RowsTest.cpp - All rows of the paper's tables, as code -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every row, and the inverse of every row that has one. The text is what plans
// hold, as PTX and, for every eighth row, as GCN. Rows take turns with the
// shapes that code has, with chips, element types and reductions; with
// SCCL_EMULATE_ALL in the environment each row has all shapes of PTX, and 4 of
// GCN on each chip. The sizes are those at which chunks get short or empty.
//
//===----------------------------------------------------------------------===//

#include "Data/PaperTables.h"
#include "Emulated.h"
#include "Ways.h"

#include <cstdlib>

using namespace sccl;
using namespace sccl::test;

namespace {
/// A row, and which number it has.
using NumberedRow = std::pair<unsigned, PaperRow>;

std::vector<NumberedRow> numberedRows() {
  std::vector<NumberedRow> rows;
  Result<std::vector<PaperRow>> table = readPaperTables();
  for (const PaperRow &row : *table)
    rows.emplace_back(rows.size(), row);
  return rows;
}

class EmulatedRows : public testing::TestWithParam<NumberedRow> {
protected:
  /// Number `turn` of what rows take turns with.
  static LoweringOptions optionsOf(const Way &way, unsigned turn) {
    LoweringOptions options = way.options;
    std::span<const ElementType> types = elementTypes();
    ElementType type = types[turn % types.size()];
    if (!options.ll || type.bytes <= 4)
      options.element = type.id;
    options.reduction = reductions()[turn % reductions().size()];
    return options;
  }

  static void run(const Subject &subject, const Way &way, unsigned turn) {
    LoweringOptions options = optionsOf(way, turn);
    ElementType type = elementType(options.element);
    SCOPED_TRACE(way.target + " " + way.name +
                 (" " + optionText(options.element)) + " " +
                 optionText(options.reduction));
    std::optional<Compiled> compiled = compile(subject, options, way.target);
    if (!compiled && options.steps)
      return; // hosts do everything
    ASSERT_TRUE(compiled);
    Result<emulate::Code> code = emulate::Code::parse(compiled->text());
    ASSERT_TRUE(code) << code.error();
    uint64_t chunks = compiled->collective.chunksPerSegment();
    bool inPlace = compiled->isInPlace() && turn % 2 == 0;
    std::vector<std::vector<uint64_t>> sizes = {{1}, {5 * chunks - 1}};
    if (!inPlace)
      sizes = {{5 * chunks - 1, 1, 2 * chunks}};
    for (const std::vector<uint64_t> &elements : sizes) {
      Request execution;
      execution.elements = elements;
      execution.element = type;
      execution.reduction = options.reduction;
      execution.request.inPlace = inPlace;
      execution.request.misalignment = turn % 3 == 0 ? type.bytes : 0;
      execution.request.sharedGPUs =
          options.virtualRanks ? 1 + turn / 2 % 2 : 0;
      execution.request.settings.seed = turn;
      unsigned blocks = compiled->plan.manifest.programs.back().blocks;
      execution.request.blocks = {1 + turn % blocks, blocks};
      Executed executed = execute(*compiled, *code, execution);
      EXPECT_TRUE(executed.isRight()) << executed.str();
      EXPECT_NE(executed.elements, 0u);
    }
  }

  static bool isWhole() { return std::getenv("SCCL_EMULATE_ALL"); }

  /// Runs `subject` in `count` ways.
  static void runSome(const Subject &subject, const std::vector<Way> &all,
                      unsigned turn, size_t count) {
    for (unsigned i = 0; i < count; ++i)
      run(subject, all[(turn * 2 + i) % all.size()], turn * 2 + i);
  }

  /// The same as PTX, of chips in turns; in all ways if that is asked for.
  static void runAsPTX(const Subject &subject, unsigned turn, size_t count) {
    std::vector<std::string> chips = chipsWithPTX();
    std::vector<Way> all = ways();
    for (unsigned i = 0; i < all.size(); ++i)
      if (!all[i].options.virtualRanks) // small chips cannot hold all ranks
        all[i].target = chips[(turn + i) % chips.size()];
    runSome(subject, all, turn, isWhole() ? all.size() : count);
  }

  void SetUp() override {
    Result<Instance> instance = GetParam().second.instance();
    ASSERT_TRUE(instance) << instance.error();
    subject = synthesized(*instance);
    ASSERT_TRUE(subject);
  }

  std::optional<Subject> subject;
};
} // namespace

TEST_P(EmulatedRows, run) { runAsPTX(*subject, GetParam().first, 2); }

TEST_P(EmulatedRows, runOnAMD) {
  unsigned row = GetParam().first;
  if (!isWhole() && row % 8 != 0)
    return;
  Result<Implementation> inverse = invert(subject->implementation);
  unsigned turn = isWhole() ? row * 4 : row / 8;
  for (const char *chip : {"gfx942", "gfx90a"}) {
    std::vector<Way> all = waysFor(chip);
    runSome(*subject, all, turn++, isWhole() ? 4 : 1);
    if (inverse && isWhole())
      runSome({subject->topology.reversed(), *inverse}, all, turn++, 4);
  }
}

TEST_P(EmulatedRows, inverseRuns) {
  Result<Implementation> inverse = invert(subject->implementation);
  if (inverse)
    runAsPTX({subject->topology.reversed(), *inverse}, GetParam().first + 3, 1);
  else
    EXPECT_EQ(GetParam().second.kind, CollectiveKind::AllReduce);
}

INSTANTIATE_TEST_SUITE_P(Paper, EmulatedRows, testing::ValuesIn(numberedRows()),
                         [](const auto &info) {
                           return info.param.second.name();
                         });
