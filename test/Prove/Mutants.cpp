//===- Mutants.cpp - Makes mutants and says who caught them ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: Mutants [--orders] [--cases=N] [--seed=N] [--max-ranks=N]
//
// Prints the kill matrix. Fails if a mutant was missed.
//
//===----------------------------------------------------------------------===//

#include "Mutants.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace sccl;
using namespace sccl::test;
namespace cl = llvm::cl;

static cl::opt<unsigned>
    numCases("cases", cl::desc("Of which mutants are made"), cl::init(10));
static cl::opt<unsigned> seed("seed", cl::desc("Of the first case"),
                              cl::init(1));
static cl::opt<unsigned> maxRanks("max-ranks", cl::desc("From 2 on"),
                                  cl::init(5));

static cl::opt<bool>
    orders("orders", cl::desc("Of sums on machines that have a name, whose "
                              "order of summation is changed"));

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "The kill matrix\n");
  KillMatrix matrix;
  for (unsigned i = 0; i < numCases; ++i) {
    Random random(seed + i);
    RandomCase given =
        orders ? makeSumCase(random, seed + i) : makeCase(random, maxRanks);
    unsigned missed = matrix.numMissed();
    if (orders)
      mutateOrder(given, random, matrix);
    else
      for (auto mutate : {mutateSchedule, mutateProgram, mutateCertificate,
                          mutatePlan, mutateMachine})
        mutate(given, random, matrix);
    if (matrix.numMissed() != missed)
      llvm::errs() << "seed " << seed + i << ": " << describe(given) << '\n';
  }
  matrix.print(llvm::outs());
  return matrix.numMissed() != 0;
}
