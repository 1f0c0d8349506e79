//===- RandomRuns.cpp - Random cases, from a topology to a result ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: RandomRuns [--cases=N] [--seed=N] [--max-ranks=N] [--damage]
//                   [--sums | --errors]
//                   [-o FILE.mlir]
//
// Each case has a seed of its own, so that one can be run alone. The first that
// goes wrong is made smaller, and printed, or written to FILE.mlir.
//
//===----------------------------------------------------------------------===//

#include "Shrink.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"

#include <map>

using namespace sccl;
using namespace sccl::test;
namespace cl = llvm::cl;

static cl::opt<unsigned> numCases("cases", cl::desc("How many"), cl::init(100));
static cl::opt<unsigned> seed("seed", cl::desc("Of the first case"),
                              cl::init(1));
static cl::opt<unsigned> maxRanks("max-ranks", cl::desc("From 2 on"),
                                  cl::init(10));
static cl::opt<bool>
    damage("damage", cl::desc("Leave out the last send of each schedule, "
                              "to see what happens"));
static cl::opt<std::string> output("o", cl::desc("Where a failure is written"),
                                   cl::value_desc("FILE.mlir"), cl::init("-"));

/// Says what is wrong with the case of `number`, and prints or writes a smaller
/// one.
static int report(unsigned number, const RandomCase &given,
                  const std::string &fault) {
  llvm::errs() << "seed " << number << ": " << fault << '\n'
               << "  " << describe(given) << '\n';
  RandomCase smaller = shrink(given, [](const RandomCase &smaller) {
    return findFault(smaller).has_value();
  });
  std::error_code error;
  llvm::raw_fd_ostream file(output, error);
  file << "// " << describe(smaller) << '\n' << moduleText(smaller) << '\n';
  llvm::errs() << "made smaller: " << findFault(smaller).value_or("no fault")
               << "\n  " << describe(smaller) << "\n  "
               << (error ? error.message() : output) << '\n';
  return 1;
}

static cl::opt<bool>
    sums("sums", cl::desc("Sums in the order of a tree on machines that have a "
                          "name, each run several times, to the bit"));

/// The seed is that of a case, and the number of its machine.
static std::optional<std::string>
runSum(unsigned number, unsigned times,
       std::map<std::string, unsigned> &tally) {
  Random random(number);
  RandomCase given = makeSumCase(random, number);
  while (!given.lowering.sumOrder.isTree())
    given = makeSumCase(random, number);
  constexpr unsigned mostPieces = 256;
  LoweringOptions &lowering = given.lowering;
  if (given.topology.numRanks() <= 4 && random() % 8 == 0)
    lowering.pieces = 1 + random() % mostPieces;
  const ElementType &type = elementType(lowering.element);
  bool isSum = random() % 4 != 0;
  if (!isSum)
    lowering.reduction = random() % 2 ? Reduction::Min : Reduction::Max;
  if (random() % 4 == 0) {
    given.reach = Reach::Messages;
    LoweringOptions plain;
    plain.element = lowering.element;
    plain.reduction = lowering.reduction;
    plain.sumOrder = lowering.sumOrder;
    lowering = plain;
  }
  tally[given.topology.name()] += times;
  tally[type.name] += times;
  tally[toString(lowering.reduction)] += times;
  tally[given.reach == Reach::Messages ? "messages" : "memory"] += times;
  return findOtherBits(given, random, times);
}

/// Runs sums in place of cases of any kind.
static int runSums() {
  constexpr unsigned times = 4;
  std::map<std::string, unsigned> tally;
  for (unsigned i = 0; i < numCases; ++i)
    if (std::optional<std::string> fault = runSum(seed + i, times, tally)) {
      llvm::errs() << "seed " << seed + i << ": " << *fault << '\n';
      return 1;
    }
  llvm::outs() << numCases << " programs, " << numCases * times << " runs, "
               << numCases * times * launchesOfSums
               << " launches, 0 with other bits\n";
  for (const auto &[name, count] : tally)
    llvm::outs() << "  " << name << ' ' << count;
  llvm::outs() << '\n';
  return 0;
}

static cl::opt<bool>
    errors("errors", cl::desc("Sums and averages on machines that have a name, "
                              "in any order, held to their error bounds"));

/// Has partial sums of small floats travel in f32: not as LL words, by copy
/// engines or by a tree, which rounds.
static void keepSumsInF32(RandomCase &given) {
  LoweringOptions &options = given.lowering;
  options.wire = Wire::F32;
  options.ll = false;
  if (options.transport != TransportChoice::Pull)
    options.transport = TransportChoice::Push;
  if (options.sumOrder.isTree())
    options.sumOrder = SumOrder::Any;
}

static int runErrors() {
  ErrorTally tally;
  for (unsigned i = 0; i < numCases; ++i) {
    Random random(seed + i);
    RandomCase given = makeSumCase(random, seed + i);
    if (given.lowering.reduction == Reduction::Prod)
      given.lowering.reduction = Reduction::Sum;
    given.elements = 128;
    if ((seed + i) / 2 % 2 == 0)
      keepSumsInF32(given);
    if (std::optional<std::string> fault =
            findLargeError(given, random, tally)) {
      llvm::errs() << "seed " << seed + i << ": " << *fault << '\n';
      return 1;
    }
  }
  llvm::outs() << numCases << " programs, " << tally.elements << " elements, "
               << tally.beyond << " beyond the bound, " << tally.beyondHalf
               << " beyond half of it, " << tally.beyondLess
               << " beyond that of a rounding less\n";
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "Random cases, end to end\n");
  if (maxRanks < 2 || maxRanks > 64) {
    llvm::errs() << "RandomRuns: error: --max-ranks must be from 2 to 64\n";
    return 1;
  }
  if (sums)
    return runSums();
  if (errors)
    return runErrors();
  std::map<std::string, unsigned> collectives, sources;
  for (unsigned i = 0; i < numCases; ++i) {
    Random random(seed + i);
    RandomCase given = makeCase(random, maxRanks);
    if (damage)
      given.implementation.schedule.steps.back().sends.pop_back();
    if (std::optional<std::string> fault = findFault(given))
      return report(seed + i, given, *fault);
    ++collectives[given.implementation.collective.name()];
    ++sources[given.source];
  }
  llvm::outs() << numCases << " cases, 0 wrong\n";
  for (const auto *tally : {&collectives, &sources}) {
    for (const auto &[name, count] : *tally)
      llvm::outs() << "  " << name << ' ' << count;
    llvm::outs() << '\n';
  }
  return 0;
}
