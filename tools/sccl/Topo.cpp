//===- Topo.cpp - sccl topo -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineFlags.h"

#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Machine/Faults.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

llvm::cl::SubCommand &driver::topoCommand() {
  static cl::SubCommand command(
      "topo", "List the built-in topologies and machines, print one, or import "
              "one");
  return command;
}
static cl::opt<std::string> name(cl::Positional, cl::desc("[NAME|FILE]"),
                                 cl::sub(topoCommand()));
static cl::opt<std::string> quantumText("quantum",
                                        cl::desc("GB/s of one chunk per round"),
                                        cl::value_desc("GB/S"),
                                        cl::sub(topoCommand()));
static cl::opt<std::string>
    toleranceText("tolerance",
                  cl::desc("Relative error that bandwidths may have, such as "
                           "0.05, for smaller numbers (default: 0)"),
                  cl::value_desc("X"), cl::sub(topoCommand()));
static cl::opt<std::string> output("o", cl::desc("Write the topology here"),
                                   cl::value_desc("FILE"), cl::init("-"),
                                   cl::sub(topoCommand()));

static cl::opt<std::string>
    without("without",
            cl::desc("Leave out link:A-B, gpu:RANK, nic:BOX:NUMBER or "
                     "vertex:NAME"),
            cl::value_desc("ITEM,..."), cl::sub(topoCommand()));
static cl::opt<std::string>
    degrade("degrade",
            cl::desc("What is left of the bandwidth of such items, as in "
                     "link:3-5=0.5"),
            cl::value_desc("ITEM=PART,..."), cl::sub(topoCommand()));
static cl::opt<bool>
    asMachine("machine",
              cl::desc("Print a coll.machine in place of its topology"),
              cl::sub(topoCommand()));
static cl::opt<bool> json("json", cl::desc("Print what was imported as JSON"),
                          cl::sub(topoCommand()));

bool driver::topoChosen() { return bool(topoCommand()); }

static void listNames() {
  for (const BuiltinTopology &builtin : builtinTopologies())
    llvm::outs() << llvm::left_justify(builtin.spec, 18) << builtin.description
                 << '\n';
  llvm::outs() << "\nMachines, in GB/s; with :boxes=N several of them, with "
                  "rails (the default) or\na core between their NICs, "
                  "nic-gbps=X for other NICs\n";
  for (const MachinePreset &preset : machinePresets())
    llvm::outs() << llvm::left_justify(preset.spec, 18) << preset.description
                 << " [" << preset.source << "]\n";
}

/// What `make` adds to a module, as text.
static std::string
textOf(llvm::function_ref<mlir::Operation *(mlir::OpBuilder &)> make) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<coll::CollDialect>();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  std::string text;
  llvm::raw_string_ostream stream(text);
  make(builder)->print(stream);
  stream << '\n';
  return text;
}

static std::string topologyText(const Topology &topology) {
  return textOf([&](mlir::OpBuilder &builder) {
    return coll::exportTopology(builder, builder.getUnknownLoc(), topology);
  });
}

static std::string machineText(const Machine &machine) {
  return textOf([&](mlir::OpBuilder &builder) {
    return coll::exportMachine(builder, builder.getUnknownLoc(), machine);
  });
}

/// Each line as a comment of MLIR, so that what is printed can be read.
static std::string asComment(llvm::StringRef text) {
  std::string result;
  for (llvm::StringRef line : llvm::split(text.rtrim('\n'), '\n'))
    result += ("// " + line).str() + "\n";
  return result;
}

/// What was made of a machine, in words.
static std::string derivationText(const Derivation &derivation) {
  const Topology &topology = derivation.topology;
  std::string text = "as a topology: " + std::to_string(topology.numRanks()) +
                     " ranks, " + std::to_string(topology.links().size()) +
                     " links, " + std::to_string(topology.limits().size()) +
                     " limits; one chunk per round is " +
                     decimalText(derivation.quantum) + " GB/s\n";
  for (const std::string &note : derivation.notes)
    text += "  note: " + note + "\n";
  return text;
}

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

/// The topology of a machine by the options given; prints an error if there is
/// none.
static std::optional<Derivation> derive(const Machine &machine) {
  DerivationOptions options;
  std::optional<Rational> tolerance;
  if (!readNumber(quantumText, options.quantum) ||
      !readNumber(toleranceText, tolerance))
    return std::nullopt;
  options.tolerance = tolerance.value_or(0);
  Result<Derivation> derivation = deriveTopology(machine, options);
  if (derivation)
    return std::move(*derivation);
  fail(derivation.error());
  return std::nullopt;
}

/// Takes out of `machine` what the options say; prints an error if it cannot.
static bool applyFaults(Machine &machine) {
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

static int printMachine(Machine machine) {
  if (!applyFaults(machine))
    return BadInput;
  std::optional<Derivation> derivation = derive(machine);
  if (!derivation)
    return BadInput;
  std::string text =
      asComment(describe(machine) + derivationText(*derivation)) +
      (asMachine ? machineText(machine) : topologyText(derivation->topology));
  return writeFile(output, text) ? Done : BadInput;
}

static int printImported() {
  std::optional<Imported> imported = importFiles();
  if (!imported)
    return BadInput;
  if (!json)
    return imported->machine ? printMachine(*imported->machine)
                             : fail(imported->problem);
  if (imported->machine &&
      (!applyFaults(*imported->machine) || !derive(*imported->machine)))
    return BadInput;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(importedToJson(*imported)))
         << '\n';
  return writeFile(output, text) ? Done : BadInput;
}

int driver::topoMain() {
  if (isImport() && !name.empty())
    return fail("--import or --probe, and the name '" + name +
                "' exclude each other");
  if (isImport())
    return printImported();
  if (name.empty()) {
    listNames();
    return Done;
  }
  bool hasMachineOption = asMachine;
  for (const cl::opt<std::string> *option :
       {&quantumText, &toleranceText, &without, &degrade})
    hasMachineOption |= option->getNumOccurrences() > 0;
  bool isTopology = !isMachinePreset(name) && makeBuiltinTopology(name);
  if (hasMachineOption && isTopology)
    return fail("'" + name +
                "' is a topology, and the options are for "
                "machines");
  if (isMachinePreset(name) || hasMachineOption) {
    std::optional<Machine> machine = loadMachine(name);
    return machine ? printMachine(std::move(*machine)) : BadInput;
  }
  std::optional<Topology> topology = loadTopology(name);
  if (!topology)
    return BadInput;
  return writeFile(output, topologyText(*topology)) ? Done : BadInput;
}
