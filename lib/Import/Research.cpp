//===- Research.cpp - Inputs of TACCL and TE-CCL --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Neither file says how GPUs are wired: the programs that read them know that
// by the name of the machine, as our presets do.
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "Readers.h"

#include "sccl/Machine/Presets.h"
#include "sccl/Machine/Units.h"

#include <cmath>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

static std::optional<unsigned> countOf(const llvm::json::Object &object,
                                       StringRef key) {
  auto value = object.getInteger(key);
  if (!value || *value < 0 || *value > 1 << 20)
    return std::nullopt;
  return unsigned(*value);
}

/// `number` with 6 decimals.
static std::optional<Rational> exact(double number) {
  constexpr int64_t scale = 1000000;
  if (!(number > 0) || number > 1e9)
    return std::nullopt;
  return Rational(std::llround(number * double(scale)), scale);
}

/// Takes the machine of a preset into the reading.
static std::optional<Error> usePreset(const ImportFile &file, Reading &reading,
                                      const std::string &spec) {
  Result<Machine> machine = makeMachinePreset(spec);
  if (!machine)
    return errorAt(file.path, {}, machine.error());
  reading.assumptions.push_back("wired like the machine " + spec +
                                ": the file has only its name");
  reading.numGpus = machine->gpus().size();
  reading.cluster = std::move(*machine);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// TACCL
//===----------------------------------------------------------------------===//

namespace {
/// What TACCL's alphas and betas count.
struct TacclUnits {
  Rational perMegabyte; ///< of a beta, to microseconds
  Rational perAlpha;    ///< to microseconds
  std::string source;
};
} // namespace

/// By the size in a name, such as NDv2_1MB: betas are microseconds per MB
/// there, and hundredths of microseconds per KB in those for 1 KB.
static TacclUnits unitsOf(StringRef name) {
  if (name.ends_with_insensitive("KB"))
    return {Rational(10), Rational(1, 100),
            "TACCL, beta assumed in 0.01 us per KB as in its _1KB files"};
  return {Rational(1), Rational(1), "TACCL, beta assumed in us per MB"};
}

/// The numbers of a list, or of one value.
static std::vector<double> numbersOf(const llvm::json::Object &object,
                                     StringRef key) {
  std::vector<double> result;
  if (const llvm::json::Array *array = object.getArray(key)) {
    for (const llvm::json::Value &value : *array)
      if (auto number = value.getAsNumber())
        result.push_back(*number);
  } else if (auto number = object.getNumber(key)) {
    result.push_back(*number);
  }
  return result;
}

/// GB/s of a beta: 1000 / (us per MB).
static std::optional<Rational> rateOf(double beta, const TacclUnits &units) {
  auto value = exact(beta);
  auto perMegabyte = value ? product(*value, units.perMegabyte) : std::nullopt;
  return perMegabyte ? quotient(Rational(1000), *perMegabyte) : std::nullopt;
}

/// The same machine with the rates and latencies of the file.
static Result<Machine> withRates(const ImportFile &file, const Machine &preset,
                                 const llvm::json::Object &object) {
  TacclUnits units = unitsOf(object.getString("name").value_or(""));
  std::vector<double> betas = numbersOf(object, "node_betas_list");
  auto alpha = exact(object.getNumber("alpha").value_or(0));
  std::optional<Quantity> latency;
  if (auto us = alpha ? product(*alpha, units.perAlpha) : std::nullopt)
    latency = Quantity{*us, units.source};
  Machine machine(preset.name());
  for (const Vertex &vertex : preset.vertices())
    (void)machine.addVertex(vertex);
  for (Edge edge : preset.edges()) {
    // The first beta is of the widest links.
    bool isNarrow = edge.lanes == 1 && betas.size() > 1;
    auto rate =
        betas.empty() ? std::nullopt : rateOf(betas[isNarrow ? 1 : 0], units);
    if (!rate)
      return errorAt(file.path, placeOfKey(file.text, "node_betas_list"),
                     "expected betas above 0 in node_betas_list");
    edge.bandwidth = {*rate, units.source};
    edge.latency = latency;
    Result<unsigned> added = machine.addEdge(edge);
    if (!added)
      return errorAt(file.path, placeOfKey(file.text, "node_betas_list"),
                     added.error());
  }
  return machine;
}

static void readSketch(const llvm::json::Object &object, Reading &reading) {
  reading.formatDetail = "taccl sketch";
  if (auto nodes = countOf(object, "nnodes"))
    reading.extras["nnodes"] = *nodes;
  if (const auto *inside = object.getObject("intranode_sketch"))
    reading.extras["intranode"] =
        inside->getString("strategy").value_or("").str();
  if (const llvm::json::Value *offsets = object.get("symmetry_offsets"))
    reading.extras["symmetry_offsets"] = *offsets;
  reading.noMachine = "a sketch tells TACCL where to search, not how a machine "
                      "is wired; give the topology of TACCL";
}

Result<Reading> import::readTaccl(const ImportFile &file) {
  Result<llvm::json::Value> value = parseJson(file);
  if (!value)
    return Error{value.error()};
  const llvm::json::Object *object = value->getAsObject();
  if (!object)
    return errorAt(file.path, {}, "expected an object of TACCL");
  Reading reading = {file.path, ImportFormat::Taccl, "taccl topo", ""};
  if (object->get("intranode_sketch")) {
    readSketch(*object, reading);
    return reading;
  }
  StringRef name = object->getString("name").value_or("");
  auto gpus = countOf(*object, "gpus_per_node");
  auto nics = countOf(*object, "nics_per_node");
  if (!gpus || *gpus == 0 || *gpus > maxGpusOfHost)
    return errorAt(file.path, placeOfKey(file.text, "gpus_per_node"),
                   "gpus_per_node is no number from 1 to " +
                       llvm::Twine(maxGpusOfHost));
  reading.numGpus = gpus;
  reading.numNics = nics;
  reading.extras["name"] = name.str();
  reading.extras["gpus_per_node"] = *gpus;
  if (nics)
    reading.extras["nics_per_node"] = *nics;
  StringRef family = name.split('_').first;
  std::string spec = family == "NDv2"   ? "dgx1-v100:msccl-tools"
                     : family == "DGX2" ? "dgx2"
                                        : "";
  if (spec.empty()) {
    reading.noMachine = ("the file does not say how GPUs are wired, and '" +
                         family + "' is none of NDv2 and DGX2")
                            .str();
    return reading;
  }
  if (std::optional<Error> error = usePreset(file, reading, spec))
    return *error;
  if (reading.numGpus != gpus)
    return errorAt(file.path, placeOfKey(file.text, "gpus_per_node"),
                   family + " has " + llvm::Twine(*reading.numGpus) +
                       " GPUs, not " + llvm::Twine(*gpus));
  Result<Machine> machine = withRates(file, *reading.cluster, *object);
  if (!machine)
    return Error{machine.error()};
  machine->setName(name.str());
  reading.cluster = std::move(*machine);
  reading.vendor = "nvidia";
  return reading;
}

//===----------------------------------------------------------------------===//
// TE-CCL
//===----------------------------------------------------------------------===//

/// The preset that TE-CCL's source describes under a name.
static std::string presetOf(StringRef name, unsigned chassis) {
  std::string boxes = "boxes=" + std::to_string(chassis);
  std::string spec = llvm::StringSwitch<std::string>(name)
                         .Case("NDv2", "ndv2:" + boxes)
                         .Case("DGX1", "dgx1-v100:msccl-tools," + boxes)
                         .Case("DGX2", "dgx2:te-ccl," + boxes)
                         .Case("AMD", "mi250:te-ccl," + boxes)
                         .Default("");
  return spec;
}

Result<Reading> import::readTeCcl(const ImportFile &file) {
  Result<llvm::json::Value> value = parseJson(file);
  if (!value)
    return Error{value.error()};
  const llvm::json::Object *object = value->getAsObject();
  const llvm::json::Object *topology =
      object ? object->getObject("TopologyParams") : nullptr;
  if (!topology)
    return errorAt(file.path, {}, "expected an object with TopologyParams");
  Reading reading = {file.path, ImportFormat::TeCcl, "teccl input", ""};
  StringRef name = topology->getString("name").value_or("");
  auto chassis = countOf(*topology, "chassis");
  if (!chassis || *chassis == 0)
    return errorAt(file.path, placeOfKey(file.text, "chassis"),
                   "chassis is no number above 0");
  reading.extras["topology"] = name.str();
  reading.extras["chassis"] = *chassis;
  if (const auto *instance = object->getObject("InstanceParams"))
    if (auto code = countOf(*instance, "collective"))
      reading.extras["collective_code"] = *code;
  std::string spec = presetOf(name, *chassis);
  if (spec.empty()) {
    reading.noMachine = ("the file does not say how GPUs are wired, and '" +
                         name + "' is none of NDv2, DGX1, DGX2 and AMD")
                            .str();
    return reading;
  }
  if (std::optional<Error> error = usePreset(file, reading, spec))
    return *error;
  reading.vendor = name == "AMD" ? "amd" : "nvidia";
  return reading;
}
