//===- CoverageTest.cpp - Which opcodes are emitted, and executed ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All element types and reductions in one text, by each of the ways that copy
// or reduce differently: every opcode that is emitted must be executed. One
// that the interpreter does not know fails before. Chips differ in how they
// reduce.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"
#include "OpcodeTests.h"
#include "Ways.h"

#include "Emulate/GCN/Opcodes.h"

#include <cstdlib>
#include <map>

using namespace sccl;
using namespace sccl::test;

namespace {
/// By opcode, how often it was executed.
using Coverage = std::map<std::string, uint64_t>;

bool isRight(const Compiled &compiled, const emulate::Code &code,
             Request execution, Coverage &coverage) {
  Executed executed = execute(compiled, code, execution);
  EXPECT_TRUE(executed.isRight()) << executed.str();
  EXPECT_NE(executed.elements, 0u);
  for (size_t i = 0; i < code.opcodes().size(); ++i)
    coverage[code.opcodes()[i]] += executed.report.execution.byOpcode[i];
  return executed.isRight();
}

/// Executes all kernels of `compiled`, whose code is one text.
void runAll(Compiled &compiled, Coverage &coverage) {
  Result<emulate::Code> code = emulate::Code::parse(compiled.text());
  ASSERT_TRUE(code) << code.error();
  for (const plan::KernelInfo &kernel : compiled.plan.manifest.kernels) {
    Request execution;
    if (!kernel.element.empty()) {
      execution.element = *findElementType(kernel.element);
      execution.reduction = *findReduction(kernel.reduction);
    }
    SCOPED_TRACE(kernel.element + " " + kernel.reduction);
    execution.request.launches = 1;
    execution.request.sharedGPUs = kernel.virtualSymbol.empty() ? 0 : 2;
    // Copies and reductions have loops for other alignments, and for much.
    bool isFirst = &kernel == &compiled.plan.manifest.kernels.front();
    for (unsigned i = 0; i < (isFirst ? 3 : 2); ++i) {
      execution.elements = {i < 2 ? 83 + 40 * uint64_t(i) : 9000};
      execution.request.misalignment = i == 1 ? execution.element.bytes : 0;
      if (!isRight(compiled, *code, execution, coverage))
        return;
    }
  }
}

/// Of the chips with PTX that reduce alike, one each.
std::vector<std::string> fewChips() {
  return {"sm_70", "sm_80", "sm_90", "sm_100"};
}

/// "v_add_u32" for "v_add_u32_e32".
std::string withoutEncoding(llvm::StringRef opcode) {
  for (llvm::StringRef encoding : {"_e32", "_e64", "_sdwa"})
    if (opcode.consume_back(encoding))
      break;
  return opcode.str();
}

/// Executes a schedule in all of `ways`, in two of them with all types.
void runWays(const Subject &subject, const std::vector<Way> &ways,
             Coverage &coverage) {
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    bool isEach = &way == &ways.front() || way.name == "ll table" ||
                  way.name.ends_with(" ll table");
    std::optional<Compiled> compiled =
        isEach ? compileAll(subject, way.options, way.target)
               : compile(subject, way.options, way.target);
    ASSERT_TRUE(compiled);
    runAll(*compiled, coverage);
  }
}
} // namespace

/// On sm_90 in all ways, on some of the other chips in one; with
/// SCCL_EMULATE_ALL in the environment on all chips in all ways.
TEST(Coverage, everyEmittedOpcodeIsExecuted) {
  Coverage coverage;
  std::optional<Subject> reduce =
      synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
  std::optional<Subject> many =
      synthesized("ring:9", CollectiveKind::AllGather, 1, 4, 4);
  ASSERT_TRUE(reduce && many);
  bool isWhole = std::getenv("SCCL_EMULATE_ALL");
  for (const std::string &chip : isWhole ? chipsWithPTX() : fewChips()) {
    SCOPED_TRACE(chip);
    std::vector<Way> some = ways();
    if (!isWhole && chip != "sm_90")
      some.resize(1);
    for (Way &way : some)
      way.target = chip;
    runWays(*reduce, some, coverage);
  }
  // More than 8 ranks are looked for by another loop.
  LoweringOptions shared;
  shared.virtualRanks = true;
  std::optional<Compiled> compiled = compile(*many, shared);
  ASSERT_TRUE(compiled);
  runAll(*compiled, coverage);
  // Stands where a grid has more blocks than ranks need.
  EXPECT_EQ(coverage.count("exit"), 1u);
  coverage.erase("exit");
  for (const auto &[opcode, count] : coverage)
    EXPECT_NE(count, 0u) << opcode << " is emitted, and never executed";
  for (const auto &[opcode, count] : coverage)
    EXPECT_EQ(testedOpcodes().count(opcode), 1u) << opcode << " has no test";
  RecordProperty("opcodes", int(coverage.size()));
}

/// All types and reductions in one way; with SCCL_EMULATE_ALL in the
/// environment in all ways, which is what executes all that is emitted.
TEST(Coverage, everyEmittedOpcodeOfAMDIsExecuted) {
  bool isWhole = std::getenv("SCCL_EMULATE_ALL");
  std::optional<Subject> reduce =
      synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
  std::optional<Subject> many =
      synthesized("ring:9", CollectiveKind::AllGather, 1, 4, 4);
  ASSERT_TRUE(reduce && many);
  for (const char *chip : {"gfx942", "gfx90a"}) {
    SCOPED_TRACE(chip);
    std::vector<Way> ways = waysFor(chip);
    Coverage coverage;
    if (!isWhole)
      ways.resize(1);
    runWays(*reduce, ways, coverage);
    if (!isWhole)
      return;
    LoweringOptions shared;
    shared.virtualRanks = true;
    shared.blockSize = 128;
    std::optional<Compiled> compiled = compile(*many, shared, chip);
    ASSERT_TRUE(compiled);
    runAll(*compiled, coverage);
    coverage.erase("s_nop"); // does nothing, here and there
    for (const auto &[opcode, count] : coverage) {
      EXPECT_NE(count, 0u) << opcode << " is emitted, and never executed";
      std::string name = withoutEncoding(opcode);
      EXPECT_TRUE(!emulate::gcn::findOpcode(name) ||
                  testedGCNOpcodes().count(name) != 0)
          << name << " has no test";
    }
    RecordProperty(chip, int(coverage.size()));
  }
}
