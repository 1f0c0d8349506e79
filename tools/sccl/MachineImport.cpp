//===- MachineImport.cpp - Machines from what tools print -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MachineFlags.h"

#include "Arguments.h"

#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"
#include "sccl/Pipelines/InputFile.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::list<std::string> files(
    "import", cl::desc("What tools print of a machine: each file is a box"),
    cl::value_desc("FILE,..."), cl::CommaSeparated, cl::sub(takesMachines()));
static cl::opt<std::string>
    format("format", cl::desc("Format of the files (default: by content)"),
           cl::value_desc("NAME"), cl::sub(takesMachines()), cl::Hidden);
static cl::opt<unsigned> boxes("boxes",
                               cl::desc("Boxes like the one that is imported"),
                               usually(1), cl::sub(takesMachines()));
static cl::opt<std::string> nicGbps("nic-gbps",
                                    cl::desc("Gigabits per second of each NIC"),
                                    cl::value_desc("GIGABITS"),
                                    cl::sub(takesMachines()));
static cl::opt<std::string>
    linkRate("link-rate",
             cl::desc("GB/s of one link between GPUs, one direction"),
             cl::value_desc("GB/S"), cl::sub(takesMachines()), cl::Hidden);
static cl::list<std::string>
    nics("nics", cl::desc("NICs that join boxes (default: all but slow ones)"),
         cl::value_desc("NAME,..."), cl::CommaSeparated,
         cl::sub(takesMachines()), cl::Hidden);
static cl::opt<bool> rails("rails",
                           cl::desc("NIC i of every box on a switch of its own "
                                    "(the default)"),
                           cl::sub(takesMachines()));
static cl::opt<bool>
    core("core", cl::desc("All NICs on one switch that does not block"),
         cl::sub(takesMachines()));

static cl::opt<bool> probe(
    "probe",
    cl::desc("Ask nvidia-smi, amd-smi or rocm-smi of this host, or hwloc"),
    cl::sub(takesMachines()));

bool driver::isImport() { return !files.empty() || probe; }

/// How the name of a preset says what the option `option` does; empty if names
/// do not say it.
static std::string asParameter(const std::string &option) {
  if (option == "--boxes")
    return "boxes=" + std::to_string(boxes);
  if (option == "--nic-gbps")
    return "nic-gbps=" + nicGbps.getValue();
  return option == "--rails" || option == "--core" ? option.substr(2) : "";
}

std::string driver::findIdleImportOption(llvm::StringRef spec) {
  std::string option = findGiven({&boxes, &nicGbps, &rails, &core, &linkRate,
                                  std::addressof(nics), &format});
  if (option.empty())
    return "";
  std::string text = option + " is for what --import and --probe read";
  std::string parameter = asParameter(option);
  if (spec.empty())
    return text;
  if (!isMachinePreset(spec.str()))
    return text + ", and '" + spec.str() + "' says itself what it is";
  if (parameter.empty())
    return text + ", and '" + spec.str() + "' is a machine by name";
  return text + "; for a machine by name say '" + spec.str() +
         (spec.contains(':') ? "," : ":") + parameter + "'";
}

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

/// True if a bandwidth of `machine` is what the option `option` says.
static bool hasRateOf(const Machine &machine, llvm::StringRef option) {
  return llvm::any_of(machine.edges(), [&](const Edge &edge) {
    return llvm::StringRef(edge.bandwidth.source).starts_with(option);
  });
}

/// The first name of --nics that no file has, if there is one.
static std::optional<std::string>
findUnknownNic(const std::vector<Reading> &readings) {
  for (const std::string &name : nics)
    if (llvm::none_of(readings, [&](const Reading &reading) {
          return llvm::any_of(reading.nics, [&](const DeviceReading &nic) {
            return nic.name == name || nic.chip == name;
          });
        }))
      return name;
  return std::nullopt;
}

/// Why an option changed nothing in `machine`, which `readings` became; empty
/// if each that was given did.
static std::string findIdleOption(const std::vector<Reading> &readings,
                                  const Machine &machine) {
  bool isWhole = readings.size() == 1 && readings.front().cluster;
  std::string option =
      findGiven({&nicGbps, &rails, &core, std::addressof(nics)});
  if (isWhole && option.empty())
    option = findGiven({&linkRate});
  if (isWhole && !option.empty())
    return option + " changes nothing: " + readings.front().path +
           " describes a whole machine";
  if (machine.numBoxes() == 1 && !option.empty())
    return option + " is for NICs that join boxes, and there is one box; "
                    "give --boxes=N, or a file for each";
  if (nicGbps.getNumOccurrences() && !hasRateOf(machine, "--nic-gbps"))
    return "--nic-gbps changes nothing: no NIC joins the boxes";
  if (linkRate.getNumOccurrences() && !hasRateOf(machine, "--link-rate"))
    return "--link-rate changes nothing: no file has a link between GPUs";
  if (std::optional<std::string> name = findUnknownNic(readings))
    return "--nics: no NIC is named " + *name;
  return "";
}

std::optional<Machine> driver::importMachine(llvm::StringRef path) {
  std::optional<ImportFile> file = loadImportFile(path.str());
  if (!file)
    return std::nullopt;
  Result<std::vector<Reading>> readings = readFiles({*file}, {});
  if (readings && !readings->front().noMachine.empty())
    readings = Error{file->path + ": " + readings->front().noMachine};
  Result<Machine> machine = readings ? assembleMachine(std::move(*readings), {})
                                     : Result<Machine>(Error{readings.error()});
  if (machine)
    return std::move(*machine);
  fail(machine.error());
  return std::nullopt;
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
  if (std::string idle = findIdleOption(imported.readings, *machine);
      !idle.empty()) {
    fail(idle);
    return std::nullopt;
  }
  imported.machine = std::move(*machine);
  return imported;
}

std::optional<Machine> driver::importGivenMachine() {
  std::optional<Imported> imported = importFiles();
  if (imported && !imported->machine)
    fail(imported->problem);
  return imported ? std::move(imported->machine) : std::nullopt;
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
