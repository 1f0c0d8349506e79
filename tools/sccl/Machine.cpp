//===- Machine.cpp - sccl machine -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "MachineFlags.h"
#include "Output.h"
#include "TopologyNotes.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

llvm::cl::SubCommand &driver::machineCommand() {
  static cl::SubCommand command(
      "machine", "List machines and topologies, print one, import one, or "
                 "measure its links");
  return command;
}
static cl::opt<std::string> name(cl::Positional, cl::desc("[NAME|FILE]"),
                                 cl::sub(machineCommand()));
static cl::opt<std::string> output("o", cl::desc("Write it here"),
                                   cl::value_desc("FILE"), cl::init("-"),
                                   cl::sub(machineCommand()));

static cl::opt<bool>
    asTopology("as-topology",
               cl::desc("Print the topology of a machine in its place"),
               cl::sub(machineCommand()));
static cl::opt<bool>
    json("json", cl::desc("Print what was imported or measured as JSON"),
         cl::sub(machineCommand()));

bool driver::machineChosen() { return bool(machineCommand()); }

static void listNames() {
  for (const BuiltinTopology &builtin : builtinTopologies())
    out() << llvm::left_justify(builtin.spec, 18) << builtin.description
          << '\n';
  out() << "\nMachines, in GB/s; with :boxes=N several of them, with "
           "rails (the default) or\na core between their NICs, "
           "nic-gbps=X for other NICs\n";
  for (const MachinePreset &preset : machinePresets())
    out() << llvm::left_justify(preset.spec, 18) << preset.description << " ["
          << preset.source << "]\n";
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

static std::string topologyText(const Topology &topology,
                                const RankGroups &boxes) {
  return textOf([&](mlir::OpBuilder &builder) {
    coll::TopologyOp op =
        coll::exportTopology(builder, builder.getUnknownLoc(), topology);
    coll::setBoxes(op, boxes);
    return op;
  });
}

std::string driver::machineText(const Machine &machine) {
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
  bool isAlone = topology.numRanks() == 1;
  std::string text = "as a topology: " + std::to_string(topology.numRanks()) +
                     (isAlone ? " rank, " : " ranks, ") +
                     std::to_string(topology.links().size()) + " links, " +
                     std::to_string(topology.limits().size()) + " limits" +
                     (isAlone ? ""
                              : "; one chunk per round is " +
                                    decimalText(derivation.quantum) + " GB/s") +
                     "\n";
  for (const std::string &note : derivation.notes)
    text += "  note: " + note + "\n";
  return text;
}

/// What the options change; prints an error and returns false if they cannot.
static bool applyOptions(Machine &machine) {
  return applyNetwork(machine) && applyFaults(machine);
}

static int printMachine(Machine machine) {
  if (!applyOptions(machine))
    return BadInput;
  std::optional<Derivation> derivation = derive(machine);
  if (!derivation)
    return BadInput;
  std::string text =
      asComment(describe(machine) + derivationText(*derivation)) +
      (asTopology
           ? topologyText(derivation->topology,
                          ranksByBox(machine, !derivation->memories.empty()))
           : machineText(machine));
  return writeFile(output, text) ? Done : BadInput;
}

/// What is wrong with the options, or nothing.
static std::string findMistake() {
  if (isMeasuring()) {
    if (asTopology)
      return "--as-topology and --measure exclude each other";
    return isImport() ? "" : findIdleImportOption(name);
  }
  if (std::string idle = findMeasureOption(); !idle.empty())
    return idle + " needs --measure";
  if (isImport()) {
    if (!name.empty())
      return "--import or --probe, and the name '" + name +
             "' exclude each other";
    std::string idle = asTopology ? "--as-topology" : findDerivationOption();
    return json && !idle.empty()
               ? idle + " is for the text of a machine or topology, and --json "
                        "prints what was read"
               : "";
  }
  if (json)
    return "--json is for what --import and --probe read";
  if (std::string idle = findIdleImportOption(name); !idle.empty())
    return idle;
  std::string idle = findGiven({&asTopology, &output});
  if (idle.empty())
    idle = findMachineOption();
  if (name.empty() && !idle.empty())
    return idle + " needs a topology or a machine: a name, a file or --import";
  bool isTopology = !isMachinePreset(name) && makeBuiltinTopology(name);
  if (std::string option = findMachineOption(); !option.empty() && isTopology)
    return option + " is for machines, and '" + name + "' is a topology";
  return "";
}

static int printImported() {
  std::optional<Imported> imported = importFiles();
  if (!imported)
    return BadInput;
  if (!json)
    return imported->machine ? printMachine(*imported->machine)
                             : fail(imported->problem);
  if (imported->machine &&
      (!applyOptions(*imported->machine) || !derive(*imported->machine)))
    return BadInput;
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << llvm::formatv("{0:2}", llvm::json::Value(importedToJson(*imported)))
         << '\n';
  return writeFile(output, text) ? Done : BadInput;
}

int driver::machineMain() {
  if (std::string mistake = findMistake(); !mistake.empty())
    return fail(mistake);
  if (isMeasuring())
    return measureMachine(
        name, output.getNumOccurrences() ? output.getValue() : "", json);
  if (isImport())
    return printImported();
  if (name.empty()) {
    listNames();
    return Done;
  }
  std::optional<Wiring> wiring = loadWiring(name);
  if (!wiring)
    return BadInput;
  bool needsMachine = !findMachineOption().empty();
  if (wiring->machine && (needsMachine || !asTopology || !wiring->topology))
    return printMachine(std::move(*wiring->machine));
  if (needsMachine)
    return fail("'" + name + "' holds no machine");
  noteUnlimitedLinks(*wiring->topology);
  return writeFile(output, topologyText(*wiring->topology, wiring->boxes))
             ? Done
             : BadInput;
}
