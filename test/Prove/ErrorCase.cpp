//===- ErrorCase.cpp - Sums held to their error bounds --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code of a program computes, against exact rational arithmetic.
// Inputs are such that roundings go one way as often as they can: 1 on one
// rank, and half a unit in its last place on others.
//
//===----------------------------------------------------------------------===//

#include "Measure/ExactReduction.h"
#include "QuietContext.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Analysis/SumErrors.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Measure/HostPlan.h"

#include "mlir/Pass/PassManager.h"

#include <cstring>

using namespace sccl;
using namespace sccl::test;

namespace {
/// The inputs of one element, by rank.
class Draw {
public:
  Draw(const ElementType &element, unsigned ranks, Random &random)
      : element(element), random(random), kind(random() % 6),
        first(unsigned(random() % ranks)) {}

  uint64_t input(unsigned rank) {
    uint64_t sign = uint64_t(random() % 2) << (element.bits() - 1);
    if (kind == 0) // subnormal numbers, or nearly so
      return sign | (random() & ((uint64_t(4) << element.mantissaBits) - 1));
    if (kind == 1) // of a few exponents
      return sign |
             encode(std::ldexp(1 + random() * 0x1p-64, int(random() % 6) - 3));
    if (rank == first)
      return encode(1);
    constexpr double wide = 0x1p-24; // half a unit of 1, in f32
    double half = std::ldexp(1.0, -int(element.mantissaBits) - 1);
    bool isWide = element.combinesAsF32() && (kind == 2 || random() % 4 == 0);
    return kind > 3 && random() % 2 ? 0 : encode(isWide ? wide : half);
  }

private:
  uint64_t encode(double value) const {
    llvm::APFloat number{value};
    bool losesInfo;
    number.convert(semanticsOf(element), llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return bitsOf(number);
  }

  const ElementType &element;
  Random &random;
  unsigned kind, first;
};

/// One launch of a plan, and what is known of its program.
struct Launched {
  const Collective &collective;
  const coll::SumErrors &errors;
  ElementType element;
  Reduction reduction;
  uint64_t count;                           ///< of elements in a segment
  std::vector<std::string> inputs, outputs; ///< bytes by rank

  /// Where the first element of a slot is, in elements.
  uint64_t place(unsigned slot) const {
    unsigned perSegment = collective.chunksPerSegment();
    uint64_t bytes = count * element.bytes;
    return slotOffset(BufferField::Input, slot, perSegment, bytes, bytes) /
           element.bytes;
  }
  /// How many elements it has; the last ones of a segment have fewer.
  uint64_t length(unsigned slot) const {
    unsigned perSegment = collective.chunksPerSegment();
    uint64_t stride =
        chunkStride(count * element.bytes, perSegment) / element.bytes;
    uint64_t begin = std::min(slot % perSegment * stride, count);
    return std::min(stride, count - begin);
  }
  double value(const std::string &buffer, uint64_t number) const {
    uint64_t bits = 0;
    std::memcpy(&bits, &buffer[number * element.bytes], element.bytes);
    return decode(element, bits);
  }
  void drawInputs(Random &random);
  int run(const HostPlan &plan, const RankEnd &end);
  void compare(ErrorTally &tally) const;
  void compare(ErrorTally &tally, const coll::SumError &error,
               const mpq_class &off, const mpq_class &magnitude) const;
};
} // namespace

void Launched::drawInputs(Random &random) {
  unsigned perSegment = collective.chunksPerSegment();
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank) {
    uint64_t bytes = count * element.bytes;
    inputs.emplace_back(collective.inputSlots(rank) / perSegment * bytes, 0);
    outputs.emplace_back(collective.outputSlots(rank) / perSegment * bytes, 0);
  }
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    for (uint64_t i = 0; i < length(chunk % perSegment); ++i) {
      Draw draw(element, collective.numRanks(), random);
      for (unsigned rank : collective.pre().ranksOf(chunk)) {
        uint64_t bits = draw.input(rank);
        uint64_t number = place(*collective.inputSlot(rank, chunk)) + i;
        std::memcpy(&inputs[rank][number * element.bytes], &bits,
                    element.bytes);
      }
    }
}

/// What one rank does.
int Launched::run(const HostPlan &plan, const RankEnd &end) {
  scclConfig config = SCCL_CONFIG_INITIALIZER;
  config.timeoutSeconds = 60;
  config.scratchBytes = 4 << 20;
  Result<std::unique_ptr<PlanRank>> rank =
      PlanRank::create(plan.bytes, plan.manifest, end, config);
  return !rank || scclLaunch((*rank)->comm(), (*rank)->loadedPlan(),
                             inputs[end.rank].data(), outputs[end.rank].data(),
                             count, scclDataType(element.number),
                             scclRedOp(reduction), nullptr) != scclSuccess;
}

void Launched::compare(ErrorTally &tally, const coll::SumError &error,
                       const mpq_class &off, const mpq_class &magnitude) const {
  mpq_class floor(error.absolute);
  mpq_class bound = mpq_class(error.relative) * magnitude + floor;
  double unit = std::ldexp(1.0, -int(element.mantissaBits) - 1);
  double without = std::expm1(int(error.roundings - 1) * std::log1p(unit) +
                              error.wideRoundings * std::log1p(0x1p-24));
  ++tally.elements;
  tally.beyond += off > bound;
  tally.beyondHalf += off > bound / 2;
  tally.beyondLess +=
      error.roundings > 0 && off > mpq_class(without) * magnitude + floor;
}

void Launched::compare(ErrorTally &tally) const {
  for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
    for (unsigned slot = 0; slot < collective.outputSlots(rank); ++slot) {
      unsigned chunk = collective.post().chunksOf(rank)[slot];
      std::vector<unsigned> from = collective.pre().ranksOf(chunk);
      for (uint64_t i = 0; i < length(slot); ++i) {
        mpq_class exact = 0, magnitude = 0;
        for (unsigned other : from) {
          uint64_t number = place(*collective.inputSlot(other, chunk)) + i;
          mpq_class input(value(inputs[other], number));
          exact += input;
          magnitude += abs(input);
        }
        if (reduction == Reduction::Avg) {
          exact /= unsigned(from.size());
          magnitude /= unsigned(from.size());
        }
        mpq_class off =
            exact - mpq_class(value(outputs[rank], place(slot) + i));
        compare(tally, errors.at(rank, slot), abs(off), magnitude);
      }
    }
}

std::optional<std::string> test::findLargeError(const RandomCase &given,
                                                Random &random,
                                                ErrorTally &tally) {
  QuietContext quiet;
  mlir::OwningOpRef<mlir::ModuleOp> module = moduleOf(quiet.context, given);
  // What is compiled is cut into pieces where it is.
  mlir::OwningOpRef<mlir::ModuleOp> compiled = module->clone();
  mlir::FailureOr<HostPlan> plan = HostPlan::compile(*compiled, given.lowering);
  if (failed(plan))
    return doesNotCompile + (": " + quiet.said);
  if (failed(runPasses(*module, [&](mlir::OpPassManager &manager) {
        addLowering(manager, given.lowering);
      })))
    return "is not lowered: " + quiet.said;
  coll::ProgramOp program = *module->getOps<coll::ProgramOp>().begin();
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(program);
  if (failed(problem))
    return "has no collective: " + quiet.said;
  // In pieces, it has more chunks than that of `given`.
  const Collective &collective = problem->collective;
  const ElementType &element = elementType(given.lowering.element);
  coll::SumErrors errors(program, collective, element,
                         given.lowering.reduction);
  Launched launch{collective,     errors, element, given.lowering.reduction,
                  given.elements, {},     {}};
  launch.drawInputs(random);
  ErrorTally before = tally;
  if (runRanks(collective.numRanks(), RanksAs::Threads,
               [&](const RankEnd &end) { return launch.run(*plan, end); }) != 0)
    return std::string("a launch failed: ") + scclGetLastErrorMessage();
  launch.compare(tally);
  if (tally.beyond == before.beyond)
    return std::nullopt;
  return "an element is further from the exact one than " +
         errors.worst().toString(element, given.lowering.reduction) + "\n  " +
         describe(given);
}
