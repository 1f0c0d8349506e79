//===- MachineImport.cpp - Machines from what tools print -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineFlags.h"

#include "sccl/Machine/Units.h"
#include "sccl/Pipelines/InputFile.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::list<std::string>
    files("import",
          cl::desc("What tools print of a machine: each file is a box"),
          cl::value_desc("FILE,..."), cl::CommaSeparated,
          cl::sub(topoCommand()), cl::sub(planCommand()));
static cl::opt<std::string>
    format("format", cl::desc("Format of the files (default: by content)"),
           cl::value_desc("NAME"), cl::sub(topoCommand()),
           cl::sub(planCommand()));
static cl::opt<unsigned> boxes("boxes",
                               cl::desc("Boxes like the one that is imported"),
                               cl::init(1), cl::sub(topoCommand()),
                               cl::sub(planCommand()));
static cl::opt<std::string> nicGbps("nic-gbps",
                                    cl::desc("Gigabits per second of each NIC"),
                                    cl::value_desc("GIGABITS"),
                                    cl::sub(topoCommand()),
                                    cl::sub(planCommand()));
static cl::opt<std::string> linkRate(
    "link-rate", cl::desc("GB/s of one link between GPUs, one direction"),
    cl::value_desc("GB/S"), cl::sub(topoCommand()), cl::sub(planCommand()));
static cl::list<std::string>
    nics("nics", cl::desc("NICs that join boxes (default: all but slow ones)"),
         cl::value_desc("NAME,..."), cl::CommaSeparated, cl::sub(topoCommand()),
         cl::sub(planCommand()));
static cl::opt<bool> rails("rails",
                           cl::desc("NIC i of every box on a switch of its own "
                                    "(the default)"),
                           cl::sub(topoCommand()), cl::sub(planCommand()));
static cl::opt<bool>
    core("core", cl::desc("All NICs on one switch that does not block"),
         cl::sub(topoCommand()), cl::sub(planCommand()));

static cl::opt<bool> probe(
    "probe",
    cl::desc("Ask nvidia-smi, amd-smi or rocm-smi of this host, or hwloc"),
    cl::sub(topoCommand()), cl::sub(planCommand()));

bool driver::isImport() { return !files.empty() || probe; }

static bool readRate(const cl::opt<std::string> &option,
                     std::optional<Rational> &value) {
  if (!option.getNumOccurrences())
    return true;
  Result<Rational> number = parseDecimal(option.getValue());
  if (!number || *number <= Rational(0) ||
      *number > Rational(Machine::maxQuantity)) {
    fail("--" + option.ArgStr + "=" + option +
         " is no positive number such as 400 or 26.562");
    return false;
  }
  value = *number;
  return true;
}

static bool readOptions(ImportOptions &options) {
  if (rails + core + hasNetwork() > 1) {
    fail("--rails, --core and --network exclude each other");
    return false;
  }
  if (format.getNumOccurrences()) {
    options.format = parseImportFormat(format);
    if (!options.format) {
      fail("unknown format '" + format + "', expected one of " +
           importFormatNames());
      return false;
    }
  }
  constexpr unsigned most = 4096;
  if (boxes < 1 || boxes > most) {
    fail("--boxes is " + llvm::Twine(boxes) + ", expected between 1 and " +
         llvm::Twine(most));
    return false;
  }
  options.boxes = boxes;
  if (rails || core)
    options.hasRails = rails;
  options.nics.assign(nics.begin(), nics.end());
  return readRate(nicGbps, options.nicGbps) &&
         readRate(linkRate, options.linkRate);
}

std::optional<ImportFile> driver::loadImportFile(const std::string &path) {
  /// Bounds the memory that readers take; real files have kilobytes.
  constexpr size_t mostBytes = 64 << 20;
  auto buffer = readInput(path, mostBytes);
  if (!buffer) {
    fail(buffer.error());
    return std::nullopt;
  }
  return ImportFile{path == "-" ? "<stdin>" : path,
                    (*buffer)->getBuffer().str()};
}

std::optional<Imported> driver::importFiles() {
  ImportOptions options;
  if (!readOptions(options))
    return std::nullopt;
  if (probe && !files.empty()) {
    fail("--probe and --import exclude each other");
    return std::nullopt;
  }
  std::vector<ImportFile> loaded;
  if (probe)
    loaded = probeHost();
  for (const std::string &path : files) {
    std::optional<ImportFile> file = loadImportFile(path);
    if (!file)
      return std::nullopt;
    loaded.push_back(std::move(*file));
  }
  Result<std::vector<Reading>> readings = readFiles(loaded, options);
  if (!readings) {
    fail(readings.error());
    return std::nullopt;
  }
  Imported imported;
  imported.readings = *readings;
  // Some formats say something of a machine, and not what it is.
  if (imported.readings.size() == 1 &&
      !imported.readings.front().noMachine.empty()) {
    const Reading &reading = imported.readings.front();
    imported.problem = reading.path + ": " + reading.noMachine;
    return imported;
  }
  Result<Machine> machine = assembleMachine(std::move(*readings), options);
  if (!machine) {
    fail(machine.error());
    return std::nullopt;
  }
  imported.machine = std::move(*machine);
  return imported;
}

llvm::json::Object driver::importedToJson(const Imported &imported) {
  llvm::json::Object object;
  if (imported.readings.size() == 1) {
    object = readingToJson(imported.readings.front());
  } else {
    llvm::json::Array readings;
    for (const Reading &reading : imported.readings)
      readings.push_back(readingToJson(reading));
    object["readings"] = std::move(readings);
  }
  object["machine"] = imported.machine
                          ? llvm::json::Value(machineToJson(*imported.machine))
                          : llvm::json::Value(nullptr);
  if (!imported.machine)
    object["problem"] = imported.problem;
  return object;
}
