//===- WireTest.cpp - Partial sums in f32, as code ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums go round a ring, whose exact values f32 holds and the type does not: the
// result has the bits of one rounding.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"
#include "Ways.h"

#include "llvm/ADT/APFloat.h"

#include <cmath>
#include <cstring>

using namespace sccl;
using namespace sccl::test;

static const llvm::fltSemantics &semanticsOf(const ElementType &element) {
  if (element.id == Element::BF16)
    return llvm::APFloat::BFloat();
  return element.id == Element::F16 ? llvm::APFloat::IEEEhalf()
                                    : llvm::APFloat::Float8E4M3FN();
}

static uint64_t encode(const ElementType &element, double value) {
  llvm::APFloat number{value};
  bool losesInfo;
  number.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  return number.bitcastToAPInt().getZExtValue();
}

/// A positive or negative integer of few bits, times a power of two: any sum of
/// them has less than 24 bits, and less than the largest number of the type.
static double inputAt(const ElementType &element, unsigned rank,
                      unsigned launch, uint64_t index) {
  uint64_t mixed = (index + 17 * launch + 5) * (2 * rank + 3) * 0x9e3779b1u;
  unsigned bits = element.mantissaBits + 1;
  double integer = 1 + double((mixed >> 8) % ((1u << bits) - 1));
  int shift = int((mixed >> 20) % 5);
  double sign = (mixed >> 30) % 2 ? -1 : 1;
  return sign * std::ldexp(integer, shift - int(element.mantissaBits));
}

namespace {
/// The launches of one program.
class Launches {
public:
  Launches(ElementType element, unsigned ranks)
      : element(element), ranks(ranks) {}

  emulate::RunData callbacks(const std::vector<uint64_t> &elements) {
    emulate::RunData data;
    data.fill = [=, this](unsigned rank, unsigned launch, void *input) {
      for (uint64_t i = 0; i < elements[launch % elements.size()]; ++i)
        put(input, i, encode(element, inputAt(element, rank, launch, i)));
    };
    data.compare = [=, this](unsigned, unsigned launch, const void *output) {
      for (uint64_t i = 0; i < elements[launch % elements.size()]; ++i) {
        double sum = 0;
        for (unsigned rank = 0; rank < ranks; ++rank)
          sum += inputAt(element, rank, launch, i);
        uint64_t bits = 0;
        std::memcpy(&bits,
                    static_cast<const char *>(output) + i * element.bytes,
                    element.bytes);
        wrong += bits != encode(element, sum);
        ++compared;
      }
    };
    return data;
  }
  uint64_t compared = 0, wrong = 0;

private:
  void put(void *to, uint64_t number, uint64_t bits) const {
    std::memcpy(static_cast<char *>(to) + number * element.bytes, &bits,
                element.bytes);
  }

  ElementType element;
  unsigned ranks;
};

class Wires : public testing::TestWithParam<std::string> {};
} // namespace

/// Runs `compiled` on elements as many as no access fits evenly, where buffers
/// begin at a multiple of 16 bytes or beside it.
static void expectOneRounding(const Compiled &compiled,
                              const ElementType &element, unsigned ranks) {
  Result<emulate::Code> code = emulate::Code::parse(compiled.text());
  ASSERT_TRUE(code) << code.error();
  for (unsigned misalignment : {0u, element.bytes}) {
    std::vector<uint64_t> elements = {1, 1300, 37};
    emulate::RunRequest request;
    request.misalignment = misalignment;
    for (uint64_t count : elements)
      request.segmentBytes.push_back(count * element.bytes);
    request.launches = 3;
    Launches launches(element, ranks);
    Result<emulate::RunReport> report =
        emulate::runPlan(*code, compiled.plan, compiled.kernel(), request,
                         launches.callbacks(elements));
    ASSERT_TRUE(report) << report.error();
    for (const emulate::Finding &finding : report->findings)
      ADD_FAILURE() << finding.message;
    EXPECT_EQ(launches.wrong, 0u) << misalignment;
    EXPECT_EQ(launches.compared, ranks * (1u + 1300 + 37));
  }
}

TEST_P(Wires, roundOnce) {
  std::optional<Subject> ring =
      synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
  ASSERT_TRUE(ring);
  std::vector<Way> all = waysFor(GetParam());
  unsigned turn = 0;
  for (Element id : {Element::BF16, Element::F16, Element::F8E4M3})
    for (const Way &way : all) {
      // Each way with one of the types; what has no partial sums is refused.
      if (way.options.ll || way.options.virtualRanks || turn++ % 2 == 1)
        continue;
      LoweringOptions options = way.options;
      options.element = id;
      options.wire = Wire::F32;
      SCOPED_TRACE(way.name + " " + optionText(id));
      std::optional<Compiled> compiled = compile(*ring, options, way.target);
      if (!compiled && options.steps)
        continue; // hosts do everything
      ASSERT_TRUE(compiled);
      EXPECT_NE(compiled->text().find("coll_reduce_elements_w"),
                std::string::npos);
      EXPECT_TRUE(compiled->plan.manifest.sumsInF32);
      expectOneRounding(*compiled, elementType(id), 4);
    }
}

INSTANTIATE_TEST_SUITE_P(Chips, Wires, testing::Values("sm_90", "gfx942"));
