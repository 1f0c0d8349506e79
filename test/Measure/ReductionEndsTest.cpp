//===- ReductionEndsTest.cpp - Reductions at the ends of each type --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What plans of 2 to 16 ranks compute, against exact rational arithmetic and
// the bounds of docs/Rationale/ElementTypes.md.
//
//===----------------------------------------------------------------------===//

#include "ExactReduction.h"

#include "sccl/Measure/HostPlan.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// All ranks send their inputs to all: each adds up all inputs by itself, and
/// rounds once.
static std::string directSum(unsigned ranks) {
  std::ostringstream links, sends;
  for (unsigned src = 0; src < ranks; ++src)
    for (unsigned dst = 0; dst < ranks; ++dst)
      if (src != dst) {
        links << "coll.link " << src << " -> " << dst << " unlimited\n";
        sends << "coll.reduce 0 over " << src << " -> " << dst << "\n";
      }
  return "coll.topology @t ranks = " + std::to_string(ranks) + " {\n" +
         links.str() +
         "}\ncoll.schedule @s of all_reduce on @t chunks = 1 {\n" +
         "coll.step rounds = 1 {\n" + sends.str() + "}\n}\n";
}

/// Sums go round a ring, one chunk from each rank on, and then the results.
static std::string ringSum(unsigned ranks) {
  std::ostringstream text;
  text << "coll.topology @t ranks = " << ranks << " {\n";
  for (unsigned rank = 0; rank < ranks; ++rank)
    text << "coll.link " << rank << " -> " << (rank + 1) % ranks
         << " unlimited\n";
  text << "}\ncoll.schedule @s of all_reduce on @t chunks = " << ranks
       << " {\n";
  for (unsigned step = 0; step + 2 < 2 * ranks; ++step) {
    text << "coll.step rounds = 1 {\n";
    for (unsigned rank = 0; rank < ranks; ++rank)
      text << (step + 1 < ranks ? "coll.reduce " : "coll.send ")
           << (rank + 2 * ranks - 1 - step) % ranks << " over " << rank
           << " -> " << (rank + 1) % ranks << "\n";
    text << "}\n";
  }
  text << "}\n";
  return text.str();
}

/// A plan for all types and reductions; the code is the same for all plans.
static HostPlan compile(const std::string &schedule) {
  static KnownCode known;
  static const bool registered = [] {
    registerPipelinePasses();
    return true;
  }();
  (void)registered;
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(schedule, &context);
  PlanRequest request;
  request.known = &known;
  request.targets = {"host"};
  request.shapes = {CodeShapeChoice::Table};
  for (const ElementType &element : elementTypes())
    request.elements.push_back(element.id);
  request.reductions.assign(reductions().begin(), reductions().end());
  PlanBuilder builder(std::move(request));
  EXPECT_TRUE(module && succeeded(builder.addAsGiven(*module)));
  plan::Plan plan = builder.finish();
  plan.manifest.tables = {{"model", "", "", {{0, 0, plan::Path::Direct, 0}}}};
  Result<std::string> bytes = plan::serialize(plan);
  EXPECT_TRUE(bytes) << bytes.error();
  return {std::move(*bytes), std::move(plan.manifest)};
}

class Ends : public testing::TestWithParam<unsigned> {
protected:
  /// Calls `check` with a plan for each way to add up, and how often it rounds.
  template <typename Check> void forEachPlan(Check check) {
    using Way = std::tuple<const char *, std::string, unsigned>;
    for (const auto &[name, text, roundings] :
         {Way("direct", directSum(GetParam()), 1),
          Way("ring", ringSum(GetParam()), GetParam() - 1)}) {
      SCOPED_TRACE(name);
      check(compile(text), roundings);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Ranks, Ends, testing::Range(2u, 17u));

class TestDataEnds : public Ends {};

INSTANTIATE_TEST_SUITE_P(Ranks, TestDataEnds, testing::Values(2, 3, 8));

/// What a rank, which joins once, says of all cells with the data of `sccl
/// run`.
static std::string measureCells(const HostPlan &plan, const RankEnd &end) {
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, SCCL_CONFIG_INITIALIZER);
  if (!rank)
    return rank.error();
  std::string faults;
  for (const ElementType &element : elementTypes())
    for (Reduction reduction : reductions()) {
      MeasureRequest request{.count = 1000};
      request.element = element;
      request.reduction = reduction;
      Result<Measurement> report = (*rank)->measure(request);
      if (!report)
        return report.error();
      if (report->wrong != 0)
        faults += std::string(element.name) + " " + toString(reduction) + ": " +
                  report->firstWrong + "\n";
    }
  return faults;
}

TEST_P(TestDataEnds, areWithinTheBounds) {
  forEachPlan([](const HostPlan &plan, unsigned) {
    std::vector<std::string> faults(GetParam());
    runRanks(GetParam(), RanksAs::Threads, [&](const RankEnd &end) {
      faults[end.rank] = measureCells(plan, end);
      return 0;
    });
    EXPECT_EQ(faults[0], "");
  });
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// One launch: inputs and outputs by rank.
struct Launch {
  ElementType element;
  Reduction reduction;
  std::vector<Elements> inputs, outputs = {};
};

/// What a rank, which joins once, does in each of `launches`.
static scclResult runLaunches(const HostPlan &plan, const RankEnd &end,
                              std::vector<Launch> &launches) {
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, SCCL_CONFIG_INITIALIZER);
  if (!rank)
    return scclErrorInvalidPlan;
  for (Launch &launch : launches) {
    const ElementType &element = launch.element;
    size_t count = launch.inputs[end.rank].size();
    std::string input, output(count * element.bytes, 0);
    for (uint64_t bits : launch.inputs[end.rank])
      input.append(reinterpret_cast<const char *>(&bits), element.bytes);
    scclResult result =
        scclLaunch((*rank)->comm(), (*rank)->loadedPlan(), input.data(),
                   output.data(), count, scclDataType(element.number),
                   scclRedOp(launch.reduction), nullptr);
    if (result != scclSuccess)
      return result;
    Elements &results = launch.outputs[end.rank];
    results.resize(count);
    for (size_t i = 0; i < count; ++i)
      std::memcpy(&results[i], &output[i * element.bytes], element.bytes);
  }
  return scclSuccess;
}

/// Fills the outputs of `launches`, one after the other by the same ranks.
static void run(const HostPlan &plan, std::vector<Launch> &launches) {
  for (Launch &launch : launches)
    launch.outputs.resize(launch.inputs.size());
  int failed = runRanks(
      launches.front().inputs.size(), RanksAs::Threads,
      [&](const RankEnd &end) { return runLaunches(plan, end, launches); });
  EXPECT_EQ(failed, 0) << scclGetLastErrorMessage();
}

/// The output of rank 0; `inputs` are by rank.
static Elements launch(const HostPlan &plan, const ElementType &element,
                       Reduction reduction,
                       const std::vector<Elements> &inputs) {
  std::vector<Launch> launches = {{element, reduction, inputs}};
  run(plan, launches);
  return launches.front().outputs.front();
}

//===----------------------------------------------------------------------===//
// Means that are their inputs
//===----------------------------------------------------------------------===//

/// The mean of the largest numbers, of the least, and of some between is
/// finite, and within the bound.
TEST_P(Ends, meanOfEqualNumbers) {
  std::vector<Launch> launches;
  for (const ElementType &element : elementTypes()) {
    if (!element.isFloat())
      continue;
    uint64_t largest = largestOf(element);
    uint64_t one = uint64_t(1) << element.mantissaBits;
    Elements same = {largest, largest - one, largest - one / 2, one, 1};
    for (size_t i = 0; i < 5; ++i)
      same.push_back(same[i] | uint64_t(1) << (element.bits() - 1));
    launches.push_back(
        {element, Reduction::Avg, std::vector<Elements>(GetParam(), same)});
  }
  forEachPlan([&](const HostPlan &plan, unsigned) {
    run(plan, launches);
    for (const auto &[element, reduction, inputs, outputs] : launches)
      for (size_t i = 0; i < inputs[0].size(); ++i) {
        double value = decode(element, inputs[0][i]);
        double bound = std::ldexp(std::fabs(value), -element.mantissaBits - 1) +
                       decode(element, 1);
        double mean = decode(element, outputs[0][i]);
        EXPECT_LE(std::fabs(mean / GetParam() - value / GetParam()), bound)
            << element.name << " of " << value << " is " << mean;
      }
  });
}

/// A rank that adds up what it has by itself rounds once, as users expect.
TEST(Sums, ofLargeAndSmallNumbers) {
  struct Case {
    const char *element;
    uint64_t large, small, sum; ///< bits of one input, of seven, and of all
  };
  HostPlan plan = compile(directSum(8));
  for (const Case &it :
       std::initializer_list<Case>{{"bf16", 0x4380, 0x3f80, 0x4384}, // 264
                                   {"f16", 0x6800, 0x3c00, 0x6804},  // 2056
                                   {"f8e4m3", 0x58, 0x38, 0x5c},     // 24
                                   {"f8e5m2", 0x48, 0x3c, 0x4c}}) {  // 16
    std::vector<Elements> inputs(8, Elements(5, it.small));
    inputs[3] = Elements(5, it.large);
    EXPECT_EQ(
        launch(plan, *findElementType(it.element), Reduction::Sum, inputs),
        Elements(5, it.sum))
        << it.element;
  }
}

/// Averages of numbers whose sum is too large, as users had them.
TEST(Averages, ofLargeNumbers) {
  struct Case {
    const char *element;
    unsigned ranks;
    uint64_t bits; ///< of all inputs, and of the mean
  };
  for (const Case &it :
       std::initializer_list<Case>{{"f32", 4, 0x7e967699}, // 1e38
                                   {"f16", 4, 0x78e2},     // 40000
                                   {"bf16", 4, 0x7f16},    // 2e38
                                   {"f8e4m3", 4, 0x78},    // 256
                                   {"f8e4m3", 8, 0x77},    // 240
                                   {"f8e5m2", 4, 0x78},    // 32768
                                   {"f64", 4, 0x7fe0000000000000}}) {
    SCOPED_TRACE(it.element);
    ElementType element = *findElementType(it.element);
    std::vector<Elements> inputs(it.ranks, Elements(5, it.bits));
    for (const std::string &text : {directSum(it.ranks), ringSum(it.ranks)})
      EXPECT_EQ(launch(compile(text), element, Reduction::Avg, inputs),
                inputs[0]);
  }
}

/// Infinite and unknown inputs are not clamped.
TEST(Averages, ofInfinities) {
  HostPlan plan = compile(directSum(3));
  for (const char *name : {"f16", "bf16", "f32", "f64"}) {
    SCOPED_TRACE(name);
    ElementType element = *findElementType(name);
    const llvm::fltSemantics &semantics = semanticsOf(element);
    uint64_t infinity = bitsOf(llvm::APFloat::getInf(semantics));
    uint64_t minus = bitsOf(llvm::APFloat::getInf(semantics, true));
    uint64_t nan = bitsOf(llvm::APFloat::getNaN(semantics));
    uint64_t large = largestOf(element);
    Elements results = launch(plan, element, Reduction::Avg,
                              {{infinity, minus, large, infinity},
                               {large, large, nan, minus},
                               {large, large, large, large}});
    EXPECT_EQ(results[0], infinity);
    EXPECT_EQ(results[1], minus);
    EXPECT_TRUE(std::isnan(decode(element, results[2])));
    EXPECT_TRUE(std::isnan(decode(element, results[3])));
  }
}

//===----------------------------------------------------------------------===//
// Exact arithmetic
//===----------------------------------------------------------------------===//

/// All 60 cells, on each rank.
TEST_P(Ends, exactArithmetic) {
  constexpr size_t count = 120;
  unsigned ranks = GetParam();
  forEachPlan([&](const HostPlan &plan, unsigned roundings) {
    std::mt19937_64 random(ranks);
    std::vector<Launch> launches;
    for (const ElementType &element : elementTypes())
      for (Reduction reduction : reductions()) {
        ExactReduction exact(element, reduction, ranks, roundings);
        Launch &launch = launches.emplace_back(element, reduction);
        launch.inputs.assign(ranks, Elements(count));
        for (size_t i = 0; i < count; ++i) {
          Elements drawn = exact.draw(random);
          for (unsigned rank = 0; rank < ranks; ++rank)
            launch.inputs[rank][i] = drawn[rank];
        }
      }
    run(plan, launches);
    for (const auto &[element, reduction, inputs, outputs] : launches) {
      ExactReduction exact(element, reduction, ranks, roundings);
      for (size_t i = 0; i < count; ++i) {
        Elements drawn;
        for (const Elements &ofRank : inputs)
          drawn.push_back(ofRank[i]);
        EXPECT_TRUE(exact.allows(drawn, outputs[i % ranks][i]))
            << element.name << ' ' << toString(reduction) << ", element " << i
            << " is 0x" << std::hex << outputs[i % ranks][i];
      }
    }
  });
}
