//===- ElementTypesTest.cpp - Every reduction on every element type -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Measure/HostPlan.h"
#include "sccl/Pipelines/Pipelines.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace sccl;

static HostPlan compile(const std::string &file, const ElementType &element,
                        Reduction reduction, LoweringOptions options = {},
                        KnownCode *known = nullptr) {
  static const bool registered = [] {
    registerPipelinePasses();
    return true;
  }();
  (void)registered;
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  mlir::MLIRContext context(registry);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(
      SCCL_TEST_INPUTS "/" + file, &context);
  options.element = element.id;
  options.reduction = reduction;
  mlir::FailureOr<HostPlan> plan = HostPlan::compile(
      *module, options, /*target=*/"", /*messages=*/false, known);
  EXPECT_TRUE(succeeded(plan));
  return std::move(*plan);
}

//===----------------------------------------------------------------------===//
// The whole table (T1)
//===----------------------------------------------------------------------===//

/// A schedule, and a way to lower it.
struct Lowering {
  const char *file;
  TransportChoice transport;
  CodeShapeChoice shape;
};

class Table : public testing::TestWithParam<Lowering> {};

TEST_P(Table, runs) {
  LoweringOptions lowering;
  lowering.transport = GetParam().transport;
  lowering.codeShape = GetParam().shape;
  for (const ElementType &element : elementTypes())
    for (Reduction reduction : reductions()) {
      SCOPED_TRACE(std::string(element.name) + " " + toString(reduction));
      HostPlan plan = compile(GetParam().file, element, reduction, lowering);
      // No whole number of chunks, and tails of every loop.
      MeasureRequest request{.count = 4104u / element.bytes};
      request.element = element;
      request.reduction = reduction;
      request.registered = false;
      request.verified = 3;
      Result<Measurement> report = measureOnThreads(plan, request);
      ASSERT_TRUE(report) << report.error();
      EXPECT_EQ(report->wrong, 0u) << report->firstWrong;
      EXPECT_EQ(report->elements,
                3 * plan.manifest.ranks * 4104 / element.bytes);
    }
}

// The ring combines and passes on in one op, pulls get and combine in one; a
// table holds the divisors of averages.
INSTANTIATE_TEST_SUITE_P(
    ElementTypes, Table,
    testing::Values(Lowering{"line3-all_reduce.mlir", TransportChoice::Push,
                             CodeShapeChoice::Auto},
                    Lowering{"ring4-all_reduce.mlir", TransportChoice::Push,
                             CodeShapeChoice::Unrolled},
                    Lowering{"mesh3-all_reduce.mlir", TransportChoice::Push,
                             CodeShapeChoice::Table},
                    Lowering{"line3-all_reduce.mlir", TransportChoice::Pull,
                             CodeShapeChoice::Auto}));

/// Code that is found again is that which would have been made.
TEST(ElementTypes, shareKnownCode) {
  KnownCode known;
  LoweringOptions lowering;
  lowering.codeShape = CodeShapeChoice::Table;
  for (const char *file : {"mesh3-all_reduce.mlir", "ring4-all_reduce.mlir",
                           "ring4-all_gather.mlir"})
    for (const char *name : {"f32", "i8"}) {
      SCOPED_TRACE(std::string(file) + " " + name);
      ElementType element = *findElementType(name);
      HostPlan shared =
          compile(file, element, Reduction::Sum, lowering, &known);
      EXPECT_EQ(shared.bytes,
                compile(file, element, Reduction::Sum, lowering).bytes);
    }
  // For each type, with and without the helper that adds up several arrivals;
  // and code that only moves data is the same for all.
  EXPECT_EQ(known.size(), 5u);
}

/// Ranks that add up in orders of their own are right, unless the plan says
/// that they have one.
TEST(ElementTypes, ranksOfOneOrderHaveTheSameBits) {
  LoweringOptions lowering;
  lowering.sumOrder = SumOrder::Any;
  ElementType element = *findElementType("f32");
  HostPlan plan =
      compile("mesh3-all_reduce.mlir", element, Reduction::Sum, lowering);
  for (const char *order : {"any", "same"}) {
    plan.manifest.sumOrder = order;
    MeasureRequest request{.count = 3000};
    request.reduction = Reduction::Sum;
    request.registered = false;
    request.verified = 2;
    Result<Measurement> report = measureOnThreads(plan, request);
    ASSERT_TRUE(report) << report.error();
    bool isOne = plan.manifest.sumOrder == "same";
    EXPECT_EQ(report->wrong != 0, isOne) << report->firstWrong;
    EXPECT_EQ(report->firstWrong.find("other bits") != std::string::npos, isOne)
        << report->firstWrong;
  }
}

TEST(ElementTypes, tableHasSixtyCells) {
  EXPECT_EQ(elementTypes().size() * reductions().size(), 60u);
}

//===----------------------------------------------------------------------===//
// Small floats against APFloat
//===----------------------------------------------------------------------===//

using llvm::APFloat;
using Words = std::vector<uint16_t>;

static const llvm::fltSemantics &semanticsOf(const ElementType &element) {
  std::string name = element.name;
  return name == "f16"      ? APFloat::IEEEhalf()
         : name == "bf16"   ? APFloat::BFloat()
         : name == "f8e4m3" ? APFloat::Float8E4M3FN()
                            : APFloat::Float8E5M2();
}

static APFloat decode(const ElementType &element, uint16_t bits) {
  return APFloat(semanticsOf(element), llvm::APInt(element.bits(), bits));
}

/// Rounds to f32 and then to the type; in 8 bits what is too large becomes the
/// largest number.
static APFloat round(const ElementType &element, float value) {
  const llvm::fltSemantics &semantics = semanticsOf(element);
  APFloat result(value), largest = APFloat::getLargest(semantics);
  if (element.saturates() && std::fabs(value) > largest.convertToDouble())
    return APFloat::getLargest(semantics, std::signbit(value));
  bool losesInfo;
  result.convert(semantics, APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static APFloat expected(const ElementType &element, Reduction reduction,
                        const APFloat &a, const APFloat &b) {
  // Sums and products of two small floats are exact in f64, or so close that
  // the rounding to f32 is the same.
  double x = a.convertToDouble(), y = b.convertToDouble();
  switch (reduction) {
  case Reduction::Sum:
    return round(element, float(x + y));
  case Reduction::Prod:
    return round(element, float(x * y));
  case Reduction::Min:
    return llvm::minimum(a, b);
  case Reduction::Max:
    return llvm::maximum(a, b);
  case Reduction::Avg:
    break;
  }
  return round(element, float((x + y) / 2));
}

/// What both ranks of a pair have when they have exchanged and reduced.
template <typename Word>
static std::vector<Word>
exchange(const ElementType &element, Reduction reduction, const HostPlan &plan,
         const std::vector<Word> &left, const std::vector<Word> &right) {
  std::vector<Word> outputs[2];
  int failed = runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
    std::vector<Word> &output = outputs[end.rank];
    output.resize(left.size());
    Result<std::unique_ptr<PlanRank>> rank = PlanRank::create(
        plan.bytes, plan.manifest, end, SCCL_CONFIG_INITIALIZER);
    return !rank ||
           scclLaunch((*rank)->comm(), (*rank)->loadedPlan(),
                      end.rank == 0 ? left.data() : right.data(), output.data(),
                      left.size(), scclDataType(element.number),
                      scclRedOp(reduction), nullptr) != scclSuccess;
  });
  EXPECT_EQ(failed, 0) << scclGetLastErrorMessage();
  EXPECT_TRUE(outputs[0] == outputs[1]);
  return outputs[0];
}

template <typename Word>
static void comparePairs(const ElementType &element, Reduction reduction,
                         const HostPlan &plan, const std::vector<Word> &left,
                         const std::vector<Word> &right) {
  std::vector<Word> results = exchange(element, reduction, plan, left, right);
  unsigned wrong = 0;
  for (size_t i = 0; i < left.size() && wrong < 5; ++i) {
    APFloat a = decode(element, left[i]), b = decode(element, right[i]);
    APFloat want = expected(element, reduction, a, b);
    APFloat have = decode(element, results[i]);
    bool same = want.isNaN() ? have.isNaN() : want.bitwiseIsEqual(have);
    if (want.isNaN() && element.bytes == 1)
      same = results[i] == 0x7f;
    wrong += !same;
    EXPECT_TRUE(same) << element.name << " " << toString(reduction) << " of "
                      << +left[i] << " and " << +right[i] << " is "
                      << +results[i] << ", expected " << want.convertToDouble();
  }
}

TEST(SmallFloats, allPairsOfEightBits) {
  std::vector<uint8_t> left, right;
  for (unsigned pair = 0; pair < 0x10000; ++pair) {
    left.push_back(pair >> 8);
    right.push_back(pair);
  }
  for (const char *name : {"f8e4m3", "f8e5m2"})
    for (Reduction reduction : reductions()) {
      ElementType element = *findElementType(name);
      HostPlan plan = compile("pair-all_reduce.mlir", element, reduction);
      comparePairs(element, reduction, plan, left, right);
    }
}

TEST(SmallFloats, everyValueOfSixteenBits) {
  for (const char *name : {"f16", "bf16"})
    for (Reduction reduction : reductions()) {
      ElementType element = *findElementType(name);
      HostPlan plan = compile("pair-all_reduce.mlir", element, reduction);
      // Each value with each of: itself, its negative, its neighbour, one that
      // is nearly as large, and some that have nothing to do with it.
      for (uint32_t factor : {1u, 0x9e3bu, 0x3779u})
        for (uint32_t change : {0u, 0x8000u, 1u, 0x93u, 0x4801u, 0xbc00u}) {
          Words left, right;
          for (uint32_t bits = 0; bits < 0x10000; ++bits) {
            left.push_back(bits);
            right.push_back((bits * factor) ^ change);
          }
          comparePairs(element, reduction, plan, left, right);
        }
    }
}
