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

cl::SubCommandGroup &driver::takesMachines() {
  static cl::SubCommandGroup group = {&machineCommand(), &planCommand(),
                                      &paretoCommand(), &synthCommand()};
  return group;
}
static cl::opt<std::string>
    machineName("machine",
                cl::desc("A machine or topology that sccl machine lists, or an "
                         ".mlir file with one"),
                cl::value_desc("NAME|FILE"), cl::sub(planCommand()),
                cl::sub(paretoCommand()), cl::sub(synthCommand()));
static cl::opt<std::string> quantumText("quantum",
                                        cl::desc("GB/s of one chunk per round"),
                                        cl::value_desc("GB/S"),
                                        cl::sub(takesMachines()), cl::Hidden);
static cl::opt<std::string>
    toleranceText("tolerance",
                  cl::desc("Relative error that bandwidths may have, such as "
                           "0.05, for smaller numbers (default: 0)"),
                  cl::value_desc("X"), cl::sub(takesMachines()), cl::Hidden);
static cl::opt<std::string>
    without("without",
            cl::desc("Leave out link:A-B, gpu:RANK, nic:BOX:NUMBER or "
                     "vertex:NAME"),
            cl::value_desc("ITEM,..."), cl::sub(takesMachines()));
static cl::opt<std::string>
    degrade("degrade",
            cl::desc("What is left of the bandwidth of such items, as in "
                     "link:3-5=0.5"),
            cl::value_desc("ITEM=PART,..."), cl::sub(takesMachines()));

namespace {
/// Whose copies pass switches that multicast and reduce.
enum class InNetwork { No, Others, All };
} // namespace
static cl::opt<InNetwork> inNetwork(
    "in-network", cl::ValueOptional, cl::init(InNetwork::No),
    cl::value_desc("others|all"),
    cl::desc("Let switches multicast and reduce where the machine says that "
             "they do (docs/Switches.md):"),
    cl::values(clEnumValN(InNetwork::Others, "others",
                          "what goes to the others (the default)"),
               clEnumValN(InNetwork::All, "all",
                          "and back to the rank itself, too"),
               clEnumValN(InNetwork::Others, "", "")),
    cl::sub(machineCommand()), cl::sub(paretoCommand()),
    cl::sub(synthCommand()), cl::sub(planCommand()));

static cl::opt<bool> everyWire(
    "every-wire",
    cl::desc("Use PCIe beside NVLink, and memories of hosts where the machine "
             "has them (docs/EveryWire.md)"),
    cl::sub(machineCommand()), cl::sub(paretoCommand()));

static cl::opt<std::string> networkPath(
    "network",
    cl::desc("YAML file with the switches between boxes, in place of rails or "
             "a core (docs/Machines.md)"),
    cl::value_desc("FILE"), cl::sub(takesMachines()));

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
  options.inNetwork = inNetwork != InNetwork::No;
  options.ownCopies = inNetwork == InNetwork::All;
  options.everyWire = everyWire;
  Result<Derivation> derivation = deriveTopology(machine, options);
  if (derivation && options.inNetwork &&
      derivation->topology.switches().empty()) {
    fail("--in-network: no switch of machine '" + machine.name() +
         "' that multicasts or reduces joins 3 GPUs");
    return std::nullopt;
  }
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
  return findGiven({&quantumText, &toleranceText, &without, &degrade,
                    &inNetwork, &everyWire, &networkPath});
}

std::string driver::findDerivationOption() {
  return findGiven({&quantumText, &toleranceText, &inNetwork, &everyWire});
}

std::string driver::findAnyOfMachines() {
  if (isImport())
    return "--import or --probe";
  std::string option = findGiven({&machineName});
  return option.empty() ? findMachineOption() : option;
}

/// What is wrong with the options for the machine; empty if nothing is.
static std::string findMistake() {
  if (isImport())
    return machineName.getNumOccurrences()
               ? "--machine and --import or --probe exclude each other"
               : "";
  if (!machineName.getNumOccurrences())
    return "give the machine: --machine, --import or --probe";
  return findIdleImportOption(machineName);
}

std::optional<Wiring> driver::givenWiring() {
  if (std::string mistake = findMistake(); !mistake.empty()) {
    fail(mistake);
    return std::nullopt;
  }
  std::optional<Wiring> wiring;
  if (!isImport()) {
    wiring = loadWiring(machineName);
  } else if (std::optional<Machine> machine = importGivenMachine()) {
    wiring = Wiring{std::move(machine), {}, {}, ""};
  }
  std::string option = findMachineOption();
  if (!wiring || option.empty())
    return wiring;
  if (!wiring->machine) {
    fail(option + " is for machines, and '" + machineName + "' is a topology");
    return std::nullopt;
  }
  wiring->topology.reset();
  return applyNetwork(*wiring->machine) ? std::move(wiring) : std::nullopt;
}

std::optional<Topology> driver::givenTopology(std::string *where,
                                              RankGroups *boxes, Origin *origin,
                                              const std::string &groups) {
  std::optional<Wiring> wiring = givenWiring();
  if (!wiring || (hasFaults() && !applyFaults(*wiring->machine)))
    return std::nullopt;
  return topologyOf(std::move(*wiring), where, boxes, origin, groups);
}
