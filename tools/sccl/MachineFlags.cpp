//===- MachineFlags.cpp - Options that give a machine ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineFlags.h"

#include "Arguments.h"

#include "sccl/Import/NetworkFile.h"
#include "sccl/Machine/Faults.h"
#include "sccl/Machine/Units.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::opt<std::string> quantumText("quantum",
                                        cl::desc("GB/s of one chunk per round"),
                                        cl::value_desc("GB/S"),
                                        cl::sub(topoCommand()),
                                        cl::sub(planCommand()));
static cl::opt<std::string>
    toleranceText("tolerance",
                  cl::desc("Relative error that bandwidths may have, such as "
                           "0.05, for smaller numbers (default: 0)"),
                  cl::value_desc("X"), cl::sub(topoCommand()),
                  cl::sub(planCommand()));
static cl::opt<std::string>
    without("without",
            cl::desc("Leave out link:A-B, gpu:RANK, nic:BOX:NUMBER or "
                     "vertex:NAME"),
            cl::value_desc("ITEM,..."), cl::sub(topoCommand()),
            cl::sub(planCommand()));
static cl::opt<std::string>
    degrade("degrade",
            cl::desc("What is left of the bandwidth of such items, as in "
                     "link:3-5=0.5"),
            cl::value_desc("ITEM=PART,..."), cl::sub(topoCommand()),
            cl::sub(planCommand()));

static cl::opt<std::string> networkPath(
    "network",
    cl::desc("YAML file with the switches between boxes, in place of rails or "
             "a core (docs/Machines.md)"),
    cl::value_desc("FILE"), cl::sub(topoCommand()), cl::sub(planCommand()));

/// Reads a number of an option that was given.
static bool readNumber(const cl::opt<std::string> &option,
                       std::optional<Rational> &value) {
  if (!option.getNumOccurrences())
    return true;
  Result<Rational> number = parseDecimal(option.getValue());
  if (!number) {
    fail("--" + option.ArgStr + ": " + number.error());
    return false;
  }
  value = *number;
  return true;
}

RankGroups driver::groupsOf(const Machine &machine, const std::string &text) {
  if (Result<RankGroups> groups =
          parseRankGroups(text, unsigned(machine.gpus().size())))
    return std::move(*groups);
  return {};
}

std::optional<Derivation> driver::derive(const Machine &machine,
                                         const std::string &groups) {
  DerivationOptions options;
  std::optional<Rational> tolerance;
  if (!readNumber(quantumText, options.quantum) ||
      !readNumber(toleranceText, tolerance))
    return std::nullopt;
  options.tolerance = tolerance.value_or(0);
  options.groups = groupsOf(machine, groups);
  Result<Derivation> derivation = deriveTopology(machine, options);
  if (derivation)
    return std::move(*derivation);
  fail(derivation.error());
  return std::nullopt;
}

bool driver::hasNetwork() { return networkPath.getNumOccurrences(); }

bool driver::applyNetwork(Machine &machine) {
  if (!hasNetwork())
    return true;
  std::optional<ImportFile> file = loadImportFile(networkPath);
  if (!file)
    return false;
  Result<Network> network = readNetwork(*file);
  if (!network) {
    fail(network.error());
    return false;
  }
  Result<Machine> joined = withNetwork(machine, *network);
  if (!joined) {
    fail(network->source + ": " + joined.error());
    return false;
  }
  machine = std::move(*joined);
  return true;
}

bool driver::hasFaults() {
  return without.getNumOccurrences() || degrade.getNumOccurrences();
}

bool driver::applyFaults(Machine &machine) {
  using Apply = Result<Machine> (*)(const Machine &, std::string_view);
  // Slower parts first: they are named by the ranks of the whole machine.
  for (auto [option, apply] :
       {std::pair<cl::opt<std::string> *, Apply>(&degrade, withSlowerParts),
        {&without, withoutParts}}) {
    if (!option->getNumOccurrences())
      continue;
    Result<Machine> left = apply(machine, option->getValue());
    if (!left) {
      fail("--" + option->ArgStr + ": " + left.error());
      return false;
    }
    machine = std::move(*left);
  }
  return true;
}

std::string driver::findMachineOption() {
  return findGiven(
      {&quantumText, &toleranceText, &without, &degrade, &networkPath});
}

std::string driver::findDerivationOption() {
  return findGiven({&quantumText, &toleranceText});
}
