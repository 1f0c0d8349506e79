//===- SwitchKernelsTest.cpp - Kernels that go through a switch -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels for collectives that a switch copies and reduces for, from ops to PTX
// that is executed: for every type and reduction with an instruction, as code
// and as tables, with several blocks, and for sizes with tails. In the three
// together each of the fences between proxies is needed.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"

#include "sccl/Codegen/Target.h"
#include "sccl/Conversion/Passes.h"
#include "sccl/Conversion/RankTables.h"
#include "sccl/Dialect/CollKernel/CollKernelOps.h"
#include "sccl/Model/SwitchAccess.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <numeric>

using namespace sccl;
using namespace sccl::test;

namespace {
/// Writes a collk.program for ranks that share one switch. A barrier is a flag
/// from each rank to each other one.
class SwitchedProgram {
public:
  SwitchedProgram(CollectiveKind kind, unsigned ranks, unsigned blocks)
      : kind(kind), ranks(ranks), blocks(blocks) {}

  /// Chunks of a segment.
  unsigned chunks() const {
    return kind == CollectiveKind::AllReduce ? ranks : 1;
  }
  unsigned slots() const { return 3 * ranks; }
  ControlLayout layout() const { return {1, ranks, blocks}; }

  std::string text() {
    std::string result = "collk.program @p ranks = " + number(ranks) +
                         " chunks = " + number(chunks()) +
                         " blocks = " + number(blocks) + " slots = 99 {\n";
    for (unsigned rank = 0; rank < ranks; ++rank)
      result += kernel(rank);
    return result + "}\n";
  }

private:
  static std::string number(uint64_t value) { return std::to_string(value); }
  std::string constant(uint64_t value) {
    numbers.insert(value);
    return "%c" + number(value);
  }

  std::string kernel(unsigned rank) {
    numbers.clear();
    body.clear();
    barriers = 0;
    std::string part = "%part = collk.part %block of " + constant(1) +
                       " chunks " + constant(chunks()) + "\n";
    part += "%launch = collk.begin " + constant(layout().epoch(0)) + " of " +
            constant(blocks) + " by %part\n";
    part += "%input = collk.own input\n%output = collk.own output\n"
            "%scratch = collk.own scratch\n%group = collk.peer " +
            constant(ranks) + " scratch\n";
    if (kind == CollectiveKind::AllReduce)
      allReduce(rank);
    else if (kind == CollectiveKind::AllGather)
      allGather(rank);
    else
      reduceScatter(rank);
    body +=
        "collk.end %launch at " + constant(layout().epoch(0)) + " by %part\n";
    std::string constants;
    for (uint64_t value : numbers)
      constants += "%c" + number(value) + " = arith.constant " + number(value) +
                   " : i32\n";
    return "collk.kernel @p_rank" + number(rank) + " rank = " + number(rank) +
           " {\ncollk.channel 0 {\n^bb0(%block: i32):\n" + constants + part +
           body + "}\n}\n";
  }

  /// Each rank fetches the sum of its chunk, and multicasts it.
  void allReduce(unsigned rank) {
    copy(slot("input", 0), slot("scratch", 0), ranks, 0);
    barrier(rank);
    fetch(slot("group", rank), slot("scratch", ranks + rank), rank);
    join();
    copy(slot("scratch", ranks + rank), slot("group", 2 * ranks + rank), 1,
         rank);
    barrier(rank);
    copy(slot("scratch", 2 * ranks), slot("output", 0), ranks, 0);
  }

  /// Each rank multicasts twice; the second time is what counts.
  void allGather(unsigned rank) {
    barrier(rank);
    copy(slot("input", 0), slot("scratch", ranks), 1, 0);
    join();
    copy(slot("scratch", ranks, 0, 0), slot("group", rank, 0, 2 * ranks), 1, 0,
         2);
    barrier(rank);
    copy(slot("scratch", 2 * ranks, 0, 1), slot("output", 0, 1, 0), 1, 0,
         ranks);
  }

  /// Each rank fetches twice, likewise.
  void reduceScatter(unsigned rank) {
    barrier(rank);
    copy(slot("input", 0, 1, 0), slot("scratch", 0, 0, 1), 1, 0, ranks);
    barrier(rank);
    fetch(slot("group", rank, 0, 0), slot("scratch", ranks, 0, 1), 0, 2);
    join();
    copy(slot("scratch", ranks + 1), slot("output", 0), 1, 0);
  }

  std::pair<std::string, std::string>
  slot(const std::string &buffer, unsigned chunk,
       std::optional<unsigned> segmentStep = {}, unsigned chunkStep = 0) {
    std::string name = "%s" + number(names++);
    std::string type = buffer == "group" ? "!collk.switch_slot" : "!collk.slot";
    body += name + " = collk.slot %" + buffer + "[" + constant(0) + ", " +
            constant(chunk) + "]";
    if (segmentStep)
      body += " step " + constant(*segmentStep) + ", " + constant(chunkStep);
    body += " : " + type + "\n";
    return {name, type};
  }
  using Slot = std::pair<std::string, std::string>;

  std::string run(unsigned count, unsigned position, unsigned times) {
    std::string result =
        " chunks " + constant(count) + " at " + constant(position);
    if (times != 1)
      result += " times " + constant(times);
    return result + " by %part in %launch";
  }
  void copy(const Slot &from, const Slot &to, unsigned count, unsigned position,
            unsigned times = 1) {
    body += "collk.copy " + from.first + " to " + to.first +
            run(count, position, times) + " : " + from.second + " to " +
            to.second + "\n";
  }
  void fetch(const Slot &from, const Slot &to, unsigned position,
             unsigned times = 1) {
    body += "collk.load_reduce " + from.first + " to " + to.first +
            run(1, position, times) + "\n";
  }
  void join() { body += "collk.join by %part\n"; }

  void barrier(unsigned rank) {
    ++barriers;
    for (bool isWait : {false, true}) {
      std::string flags, types;
      for (unsigned peer = 0; peer < ranks; ++peer) {
        if (peer == rank)
          continue;
        std::string name = "%s" + number(names++);
        body += name + " = collk.flag " + constant(isWait ? rank : peer) + "[" +
                constant(layout().flag(isWait ? peer : rank)) +
                "] per_launch " + constant(2) + " value " + constant(barriers) +
                "\n";
        flags += (flags.empty() ? "" : ", ") + name;
        types += types.empty() ? "!collk.flag" : ", !collk.flag";
      }
      body += (isWait ? "collk.wait " : "collk.signal ") + flags +
              " by %part in %launch : " + types + "\n";
    }
  }

  CollectiveKind kind;
  unsigned ranks, blocks;
  std::set<uint64_t> numbers;
  std::string body;
  unsigned names = 0, barriers = 0;
};
} // namespace

/// The program as a plan of its own, for one type and reduction.
static std::optional<Compiled>
compileSwitched(CollectiveKind kind, unsigned ranks, unsigned blocks,
                CodeShapeChoice shape, Element element, Reduction reduction) {
  registerPipelinePasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  SwitchedProgram program(kind, ranks, blocks);
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(program.text(), &context);
  if (!module || failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        manager.addPass(coll::createTabulateKernels({.codeShape = shape}));
      })))
    return std::nullopt;
  LoweringOptions options;
  options.element = element;
  options.reduction = reduction;
  options.blockSize = 64;
  plan::KernelInfo kernel;
  kernel.blockSize = options.blockSize;
  kernel.symbols = {tableFunction};
  plan::Plan plan;
  if (shape == CodeShapeChoice::Table) {
    plan.rankTables.push_back(
        rankTables(*module->getOps<collk::ProgramOp>().begin()));
    kernel.rankTables = 0;
  } else {
    kernel.symbols.clear();
    for (unsigned rank = 0; rank < ranks; ++rank)
      kernel.symbols.push_back("p_rank" + std::to_string(rank));
  }
  mlir::FailureOr<std::string> text =
      compileKernels(*module, *findChip("sm_90"), OutputKind::PTX, options,
                     /*embedTables=*/false);
  Result<Collective> collective = Collective::make(
      kind, ranks, kind == CollectiveKind::AllGather ? 1 : ranks);
  if (failed(text) || !collective)
    return std::nullopt;
  plan.blobs = {*text};
  plan::Manifest &manifest = plan.manifest;
  manifest.ranks = ranks;
  bool gathers = kind == CollectiveKind::AllGather;
  bool scatters = kind == CollectiveKind::ReduceScatter;
  manifest.layout.resize(ranks);
  for (plan::RankLayout &layout : manifest.layout) {
    layout.inputSegments = scatters ? ranks : 1;
    layout.outputSegments = gathers ? ranks : 1;
  }
  manifest.schedules.resize(1);
  manifest.schedules[0].chunksPerSegment = program.chunks();
  plan::ProgramEntry entry;
  entry.blocks = blocks;
  entry.ranks.assign(ranks,
                     {1, program.slots(), program.layout().controlBytes()});
  manifest.programs = {entry};
  manifest.kernels = {kernel};
  return Compiled{std::move(plan), std::move(*collective)};
}

static Request requestFor(const Compiled &compiled, unsigned seed,
                          const ElementType &type, Reduction reduction) {
  Request execution;
  uint64_t chunks = compiled.collective.chunksPerSegment();
  // The second has whole tiles, of 8 KiB, and the third less than a chunk.
  execution.elements = {chunks * 41 - 3, chunks * 20000 / type.bytes + 1, 1};
  execution.element = type;
  execution.reduction = reduction;
  execution.request.launches = 4;
  execution.request.settings.seed = seed;
  std::vector<unsigned> all(compiled.plan.manifest.ranks);
  std::iota(all.begin(), all.end(), 0);
  execution.request.switchGroups = {all};
  return execution;
}

static constexpr CollectiveKind kinds[] = {CollectiveKind::AllReduce,
                                           CollectiveKind::AllGather,
                                           CollectiveKind::ReduceScatter};

TEST(SwitchKernels, areRight) {
  unsigned turn = 0;
  uint64_t elements = 0;
  for (const ElementType &type : elementTypes())
    for (Reduction reduction : reductions())
      for (CollectiveKind kind : kinds) {
        if (!switchReduces(type.id, reduction))
          continue;
        ++turn;
        unsigned ranks = 2 + turn % 3, blocks = 1 + turn % 2;
        CodeShapeChoice shape =
            turn / 2 % 2 ? CodeShapeChoice::Table : CodeShapeChoice::Unrolled;
        SCOPED_TRACE(std::string(type.name) + " " + toString(reduction) + " " +
                     std::to_string(unsigned(kind)) + " of " +
                     std::to_string(ranks));
        std::optional<Compiled> compiled =
            compileSwitched(kind, ranks, blocks, shape, type.id, reduction);
        ASSERT_TRUE(compiled);
        Result<emulate::Code> code =
            emulate::Code::parse(compiled->plan.blobs[0]);
        ASSERT_TRUE(code) << code.error();
        Executed executed = execute(
            *compiled, *code, requestFor(*compiled, turn, type, reduction));
        EXPECT_TRUE(executed.isRight()) << executed.str();
        elements += executed.elements;
      }
  EXPECT_GT(elements, 1000000u);
}

/// The all_reduce of three ranks, in two steps by their switch.
static constexpr const char *twoSteps = R"(
coll.topology @box ranks = 3 {
  coll.link 0 -> 1 bandwidth = 1
  coll.link 0 -> 2 bandwidth = 1
  coll.link 1 -> 0 bandwidth = 1
  coll.link 1 -> 2 bandwidth = 1
  coll.link 2 -> 0 bandwidth = 1
  coll.link 2 -> 1 bandwidth = 1
  coll.switch [0, 1, 2] multicast reduces
}
coll.schedule @two_steps of all_reduce on @box chunks = 3 {
  coll.step rounds = 1 {
    coll.reduce 1 over 0 -> 1 by load_reduce
    coll.reduce 2 over 0 -> 2 by load_reduce
    coll.reduce 0 over 1 -> 0 by load_reduce
    coll.reduce 2 over 1 -> 2 by load_reduce
    coll.reduce 0 over 2 -> 0 by load_reduce
    coll.reduce 1 over 2 -> 1 by load_reduce
  }
  coll.step rounds = 1 {
    coll.send 0 over 0 -> 1 by multicast
    coll.send 0 over 0 -> 2 by multicast
    coll.send 1 over 1 -> 0 by multicast
    coll.send 1 over 1 -> 2 by multicast
    coll.send 2 over 2 -> 0 by multicast
    coll.send 2 over 2 -> 1 by multicast
  }
}
)";

/// The plan of one program, by switches, for the type and reduction that
/// `options` name.
static std::optional<Compiled> compileTwoSteps(LoweringOptions options) {
  registerPipelinePasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(twoSteps, &context);
  options.inNetwork = true;
  PlanRequest request;
  request.targets = {"sm_90"};
  request.asText = true;
  request.elements = {options.element};
  request.reductions = {options.reduction};
  request.blocks = {options.blocksPerLink};
  request.shapes = {options.codeShape};
  request.lowering = options;
  PlanBuilder builder(std::move(request));
  if (!module || failed(builder.addAsGiven(*module)))
    return std::nullopt;
  plan::Plan plan = builder.finish();
  Result<Collective> collective = collectiveOf(plan.manifest);
  return Compiled{std::move(plan), std::move(*collective)};
}

TEST(SwitchKernels, comeFromSchedules) {
  for (unsigned blocks : {1, 2})
    for (CodeShapeChoice shape :
         {CodeShapeChoice::Unrolled, CodeShapeChoice::Table})
      for (const char *name : {"f32", "i32", "bf16"}) {
        ElementType type = *findElementType(name);
        LoweringOptions options;
        options.element = type.id;
        options.blocksPerLink = blocks;
        options.codeShape = shape;
        options.blockSize = 64;
        std::optional<Compiled> compiled = compileTwoSteps(options);
        ASSERT_TRUE(compiled);
        EXPECT_EQ(compiled->plan.manifest.programs.back().switchGroups,
                  std::vector<unsigned>(3, 0));
        const std::string &text = compiled->text();
        EXPECT_NE(text.find("multimem.ld_reduce"), std::string::npos);
        EXPECT_NE(text.find("multimem.st"), std::string::npos);
        Result<emulate::Code> code = emulate::Code::parse(text);
        ASSERT_TRUE(code) << code.error();
        Executed executed =
            execute(*compiled, *code,
                    requestFor(*compiled, blocks, type, Reduction::Sum));
        EXPECT_TRUE(executed.isRight()) << executed.str();
        EXPECT_GT(executed.elements, 0u);
      }
}

/// `text` without its fence number `number`; empty if it has none.
static std::string withoutFence(std::string text, unsigned number) {
  const std::string fence = "fence.proxy.alias;";
  size_t at = text.find(fence);
  while (at != std::string::npos && number-- != 0)
    at = text.find(fence, at + 1);
  return at == std::string::npos ? "" : text.erase(at, fence.size());
}

TEST(SwitchKernels, needTheirFences) {
  const ElementType type = *findElementType("f32");
  // Of the copies, those before and after; of the reductions, likewise.
  std::set<unsigned> needed;
  for (CollectiveKind kind : kinds) {
    std::optional<Compiled> compiled = compileSwitched(
        kind, 3, 1, CodeShapeChoice::Table, type.id, Reduction::Sum);
    ASSERT_TRUE(compiled);
    const std::string &text = compiled->plan.blobs[0];
    bool copies = text.find("coll_transfer_switch(") != std::string::npos;
    for (unsigned number = 0;; ++number) {
      std::string mutant = withoutFence(text, number);
      if (mutant.empty())
        break;
      Result<emulate::Code> code = emulate::Code::parse(mutant);
      ASSERT_TRUE(code) << code.error();
      bool isRight = true;
      for (unsigned seed = 0; isRight && seed < 8; ++seed)
        isRight = execute(*compiled, *code,
                          requestFor(*compiled, seed, type, Reduction::Sum))
                      .isRight();
      if (!isRight)
        needed.insert(number + (copies ? 0 : 2));
    }
  }
  EXPECT_EQ(needed, (std::set<unsigned>{0, 1, 2, 3}));
}
