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

#include "sccl/Measure/HostPlan.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Plan/PlanBuilder.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <gmpxx.h>

#include <cmath>
#include <cstring>
#include <random>
#include <sstream>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// All ranks send their inputs to all: each adds up all inputs by itself.
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
  /// Calls `check` with a plan for each way to add up.
  template <typename Check> void forEachPlan(Check check) {
    for (auto [name, text] : {std::pair("direct", directSum(GetParam())),
                              std::pair("ring", ringSum(GetParam()))}) {
      SCOPED_TRACE(name);
      check(compile(text));
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
  forEachPlan([](const HostPlan &plan) {
    std::vector<std::string> faults(GetParam());
    runRanks(GetParam(), RanksAs::Threads, [&](const RankEnd &end) {
      faults[end.rank] = measureCells(plan, end);
      return 0;
    });
    EXPECT_EQ(faults[0], "");
  });
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Elements as their bits.
using Elements = std::vector<uint64_t>;

static const llvm::fltSemantics &semanticsOf(const ElementType &element) {
  switch (element.id) {
#define SCCL_ELEMENT_TYPE(id, name, alias, typeInC, number, bytes, kind,       \
                          exponentBits, mantissaBits, hasInfinity, semantics)  \
  case Element::id:                                                            \
    return llvm::APFloat::semantics();
#include "sccl/Model/ElementTypes.def"
  }
  llvm_unreachable("no other element types");
}

static double decode(const ElementType &element, uint64_t bits) {
  llvm::APFloat number(semanticsOf(element), llvm::APInt(element.bits(), bits));
  return number.convertToDouble();
}

static uint64_t bitsOf(const llvm::APFloat &value) {
  return value.bitcastToAPInt().getZExtValue();
}

static uint64_t largestOf(const ElementType &element) {
  return bitsOf(llvm::APFloat::getLargest(semanticsOf(element)));
}

/// The output of rank 0; `inputs` are by rank.
static Elements launch(const HostPlan &plan, const ElementType &element,
                       Reduction reduction,
                       const std::vector<Elements> &inputs) {
  size_t ranks = inputs.size(), count = inputs.front().size();
  auto pack = [&](const Elements &elements) {
    std::string bytes;
    for (uint64_t bits : elements)
      bytes.append(reinterpret_cast<const char *>(&bits), element.bytes);
    return bytes;
  };
  std::vector<std::string> outputs(ranks);
  int failed = runRanks(ranks, RanksAs::Threads, [&](const RankEnd &end) {
    std::string input = pack(inputs[end.rank]);
    outputs[end.rank].resize(input.size());
    Result<std::unique_ptr<PlanRank>> rank = PlanRank::create(
        plan.bytes, plan.manifest, end, SCCL_CONFIG_INITIALIZER);
    return !rank || scclLaunch((*rank)->comm(), (*rank)->loadedPlan(),
                               input.data(), outputs[end.rank].data(), count,
                               scclDataType(element.number),
                               scclRedOp(reduction), nullptr) != scclSuccess;
  });
  EXPECT_EQ(failed, 0) << scclGetLastErrorMessage();
  Elements results(count);
  for (size_t i = 0; i < count; ++i)
    std::memcpy(&results[i], &outputs[0][i * element.bytes], element.bytes);
  return results;
}

//===----------------------------------------------------------------------===//
// Means that are their inputs
//===----------------------------------------------------------------------===//

/// The mean of the largest numbers, of the least, and of some between is
/// finite, and within the bound.
TEST_P(Ends, meanOfEqualNumbers) {
  forEachPlan([&](const HostPlan &plan) {
    for (const ElementType &element : elementTypes()) {
      if (!element.isFloat())
        continue;
      SCOPED_TRACE(element.name);
      uint64_t largest = largestOf(element);
      uint64_t one = uint64_t(1) << element.mantissaBits;
      Elements same = {largest, largest - one, largest - one / 2, one, 1};
      for (size_t i = 0; i < 5; ++i)
        same.push_back(same[i] | uint64_t(1) << (element.bits() - 1));
      Elements results = launch(plan, element, Reduction::Avg,
                                std::vector<Elements>(GetParam(), same));
      for (size_t i = 0; i < same.size(); ++i) {
        double value = decode(element, same[i]);
        double bound = std::ldexp(std::fabs(value), -element.mantissaBits - 1) +
                       decode(element, 1);
        double mean = decode(element, results[i]);
        EXPECT_LE(std::fabs(mean / GetParam() - value / GetParam()), bound)
            << "of " << value << " is " << mean;
      }
    }
  });
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

namespace {
/// Random inputs of one reduction over a type, and what may become of them.
class ExactReduction {
public:
  ExactReduction(const ElementType &element, Reduction reduction,
                 unsigned ranks)
      : element(element), reduction(reduction), ranks(ranks),
        largest(number(largestOf(element))), least(number(1)),
        unit(std::ldexp(1.0, -int(element.mantissaBits) - 1)) {}

  /// One for each rank. In a third of the cases numbers are subnormal or nearly
  /// so, in another third large.
  Elements draw(std::mt19937_64 &random) const {
    unsigned kind = random() % 3;
    Elements inputs(ranks);
    for (uint64_t &bits : inputs)
      do
        bits = drawBits(random, kind);
      while (!isFit(number(bits)));
    return inputs;
  }

  /// True if `bits` may be the reduction of `inputs`.
  bool allows(const Elements &inputs, uint64_t bits) const {
    mpq_class exact = number(inputs[0]), magnitudes = abs(exact);
    for (unsigned rank = 1; rank < ranks; ++rank) {
      mpq_class next = number(inputs[rank]);
      magnitudes += abs(next);
      if (reduction == Reduction::Prod)
        exact *= next;
      else
        exact += next;
    }
    mpq_class slack(1001, 1000),
        bound = slack * (ranks - 1) * unit * magnitudes;
    if (reduction == Reduction::Avg) {
      exact /= ranks;
      bound = slack * (unit * magnitudes + ranks * least);
    } else if (reduction == Reduction::Prod) {
      mpq_class factor = 1;
      for (unsigned i = 1; i < ranks; ++i)
        factor *= 1 + unit;
      bound = slack * (factor - 1) * abs(exact) + (ranks - 1) * least;
    }
    if (element.saturates())
      exact = std::clamp<mpq_class>(exact, -largest, largest);
    double value = decode(element, bits);
    if (std::isinf(value))
      return (value < 0 ? -exact : exact) + bound > largest;
    return !std::isnan(value) && abs(mpq_class(value) - exact) <= bound;
  }

private:
  mpq_class number(uint64_t bits) const {
    return mpq_class(decode(element, bits));
  }

  uint64_t drawBits(std::mt19937_64 &random, unsigned kind) const {
    uint64_t sign = uint64_t(1) << (element.bits() - 1);
    uint64_t lowest = uint64_t(1) << (element.mantissaBits + 2);
    for (;;) {
      uint64_t bits = random() >> (64 - element.bits());
      if (kind == 0)
        bits &= sign | (lowest - 1);
      else if (kind == 1)
        bits |= (sign >> 1) & ~(uint64_t(random() % 2) << (element.bits() - 2));
      if (std::isfinite(decode(element, bits)))
        return bits;
    }
  }

  /// Nothing is lost beyond the ends and comes back: no partial sum is too
  /// large, and products only shrink.
  bool isFit(const mpq_class &value) const {
    if (reduction == Reduction::Avg)
      return true;
    if (reduction == Reduction::Prod)
      return abs(value) <= 1;
    return abs(value) * ranks * (1 + ranks * unit) <= largest;
  }

  const ElementType &element;
  Reduction reduction;
  unsigned ranks;
  mpq_class largest, least, unit;
};
} // namespace

TEST_P(Ends, exactArithmetic) {
  constexpr size_t count = 120;
  std::mt19937_64 random(GetParam());
  forEachPlan([&](const HostPlan &plan) {
    for (const ElementType &element : elementTypes())
      for (Reduction reduction :
           {Reduction::Sum, Reduction::Prod, Reduction::Avg}) {
        if (!element.isFloat())
          continue;
        SCOPED_TRACE(std::string(element.name) + " " + toString(reduction));
        ExactReduction exact(element, reduction, GetParam());
        std::vector<Elements> places, byRank(GetParam(), Elements(count));
        for (size_t i = 0; i < count; ++i) {
          places.push_back(exact.draw(random));
          for (unsigned rank = 0; rank < GetParam(); ++rank)
            byRank[rank][i] = places[i][rank];
        }
        Elements results = launch(plan, element, reduction, byRank);
        for (size_t i = 0; i < count; ++i)
          EXPECT_TRUE(exact.allows(places[i], results[i]))
              << "element " << i << " is " << decode(element, results[i]);
      }
  });
}
