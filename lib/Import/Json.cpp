//===- Json.cpp - JSON in and out -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "sccl/Machine/Units.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

Result<llvm::json::Value> import::parseJson(const ImportFile &file) {
  if (std::optional<Error> error = checkDepth(file, /*isYaml=*/false))
    return *error;
  StringRef text = file.text;
  text.consume_front("\xef\xbb\xbf");
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (value)
    return std::move(*value);
  // "[LINE:COLUMN, byte=N]: message".
  std::string message = llvm::toString(value.takeError());
  StringRef rest = message;
  Place place;
  if (rest.consume_front("[") && !rest.consumeInteger(10, place.line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, place.column))
    rest = rest.split("]: ").second;
  else
    rest = message;
  return errorAt(file.path, place, "no JSON: " + rest);
}

Place import::placeOfKey(StringRef text, StringRef key, size_t index) {
  std::string quoted = ("\"" + key + "\"").str();
  size_t at = text.find(quoted);
  for (; index > 0 && at != text.npos; --index)
    at = text.find(quoted, at + 1);
  return at == text.npos ? Place() : placeAt(text, at);
}

//===----------------------------------------------------------------------===//
// Out
//===----------------------------------------------------------------------===//

template <typename T>
static llvm::json::Value orNull(const std::optional<T> &value) {
  return value ? llvm::json::Value(*value) : llvm::json::Value(nullptr);
}

static llvm::json::Value textOrNull(StringRef text) {
  return text.empty() ? llvm::json::Value(nullptr)
                      : llvm::json::Value(text.str());
}

static llvm::json::Value pairsToJson(const Reading &reading) {
  if (!reading.pairs)
    return nullptr;
  llvm::json::Array pairs;
  for (const LinkReading &link : *reading.pairs)
    pairs.push_back(llvm::json::Array{reading.gpus[link.a].number,
                                      reading.gpus[link.b].number,
                                      orNull(link.links)});
  return pairs;
}

static llvm::json::Array toJson(const std::vector<std::string> &lines) {
  llvm::json::Array array;
  for (const std::string &line : lines)
    array.push_back(line);
  return array;
}

llvm::json::Object sccl::readingToJson(const Reading &reading) {
  llvm::json::Object object{
      {"file", reading.path},
      {"format", reading.formatDetail},
      {"vendor", textOrNull(reading.vendor)},
      {"gpus", orNull(reading.numGpus)},
      {"nics", orNull(reading.numNics)},
      {"switch", orNull(reading.hasSwitch)},
      {"links_per_gpu", orNull(reading.linksPerGpu)},
      {reading.vendor == "amd" ? "xgmi_pairs" : "nvlink_pairs",
       pairsToJson(reading)},
      {"warnings", toJson(reading.warnings)},
      {"assumptions", toJson(reading.assumptions)},
  };
  for (const auto &[key, value] : reading.extras)
    object[key] = value;
  return object;
}

/// A number with its source; exact as text where a double is not.
static llvm::json::Object quantityToJson(const Quantity &quantity) {
  return llvm::json::Object{{"value", quantity.value.toDouble()},
                            {"exact", quantity.value.str()},
                            {"source", quantity.source}};
}

llvm::json::Object sccl::machineToJson(const Machine &machine) {
  llvm::json::Array vertices, edges;
  for (const Vertex &vertex : machine.vertices()) {
    llvm::json::Object object{{"name", vertex.name},
                              {"kind", StringRef(vertexKindName(vertex.kind))},
                              {"box", orNull(vertex.box)},
                              {"bus_id", textOrNull(vertex.busId)},
                              {"chip", textOrNull(vertex.chip)}};
    if (vertex.kind == VertexKind::Switch) {
      object["multicast"] = vertex.multicast;
      object["reduces"] = vertex.reduces;
    }
    vertices.push_back(std::move(object));
  }
  for (const Edge &edge : machine.edges())
    edges.push_back(llvm::json::Object{
        {"from", machine.vertices()[edge.src].name},
        {"to", machine.vertices()[edge.dst].name},
        {"kind", edge.kind},
        {"lanes", edge.lanes},
        {"gigabytes_per_second", quantityToJson(edge.bandwidth)},
        {"microseconds", edge.latency
                             ? llvm::json::Value(quantityToJson(*edge.latency))
                             : llvm::json::Value(nullptr)}});
  return llvm::json::Object{{"name", machine.name()},
                            {"vertices", std::move(vertices)},
                            {"edges", std::move(edges)},
                            {"notes", toJson(machine.notes())}};
}
