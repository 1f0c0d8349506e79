//===- AmdSmiJson.cpp - amd-smi topology and rocm-smi, as JSON ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Since ROCm 6.1.1 an entry for each GPU has a list "links"; before, it had
// maps by "gpu_0", "gpu_1", ... for each table. rocm-smi has a key for each
// table and pair, in one direction, and an object for each GPU.
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "SmiTables.h"

#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

static std::string textOf(const llvm::json::Value *value) {
  if (!value)
    return "";
  if (auto text = value->getAsString())
    return text->str();
  if (auto number = value->getAsInteger())
    return std::to_string(*number);
  return "";
}

static void readLink(const llvm::json::Object &link, SmiPair &pair) {
  pair.type = typeOfLink(textOf(link.get("link_type")));
  pair.status = textOf(link.get("link_status"));
  pair.weight = wholeNumber(textOf(link.get("weight")));
  pair.hops = wholeNumber(textOf(link.get("num_hops")));
  pair.bandwidth = textOf(link.get("bandwidth"));
}

/// The tables of before: each a map from "gpu_N".
static void readMaps(const llvm::json::Object &entry, unsigned self,
                     SmiTables &tables) {
  auto forEach = [&](StringRef table, auto store) {
    if (const llvm::json::Object *map = entry.getObject(table))
      for (const auto &[key, value] : *map)
        if (auto other = numberAfter("gpu_", StringRef(key)))
          if (*other < tables.gpus.size())
            store(tables.pairs[{self, *other}], textOf(&value));
  };
  forEach("link_type",
          [](SmiPair &pair, StringRef text) { pair.type = typeOfLink(text); });
  forEach("link_accessibility",
          [](SmiPair &pair, StringRef text) { pair.status = text.upper(); });
  forEach("weight", [](SmiPair &pair, StringRef text) {
    pair.weight = wholeNumber(text);
  });
  forEach("hops",
          [](SmiPair &pair, StringRef text) { pair.hops = wholeNumber(text); });
  forEach("numa_bandwidth",
          [](SmiPair &pair, StringRef text) { pair.bandwidth = text.str(); });
}

static std::optional<Error> readGpus(const ImportFile &file,
                                     const llvm::json::Array &entries,
                                     SmiTables &tables) {
  if (entries.size() > maxGpusOfHost)
    return errorAt(file.path, {}, "too many GPUs for one host");
  for (size_t i = 0; i < entries.size(); ++i) {
    const llvm::json::Object *entry = entries[i].getAsObject();
    auto number = entry ? entry->getInteger("gpu") : std::nullopt;
    if (number != int64_t(i))
      return errorAt(file.path, placeOfKey(file.text, "gpu", i),
                     "entry " + llvm::Twine(i) + " is not of gpu " +
                         llvm::Twine(i));
    std::string busId = textOf(entry->get("bdf"));
    tables.gpus.push_back({unsigned(i), "GPU" + std::to_string(i),
                           busId.empty() ? "" : normalizedBusId(busId)});
  }
  return std::nullopt;
}

Result<Reading> import::readAmdSmiJson(const ImportFile &file) {
  Result<llvm::json::Value> value = parseJson(file);
  if (!value)
    return Error{value.error()};
  const llvm::json::Array *entries = value->getAsArray();
  if (!entries)
    if (const llvm::json::Object *object = value->getAsObject())
      entries = object->getArray("topology");
  if (!entries || entries->empty())
    return errorAt(file.path, {}, "expected a list with an entry for each GPU");
  SmiTables tables;
  if (std::optional<Error> error = readGpus(file, *entries, tables))
    return *error;
  for (unsigned self = 0; self < entries->size(); ++self) {
    const llvm::json::Object &entry = *(*entries)[self].getAsObject();
    readMaps(entry, self, tables);
    const llvm::json::Array *links = entry.getArray("links");
    for (size_t i = 0; links && i < links->size(); ++i) {
      const llvm::json::Object *link = (*links)[i].getAsObject();
      auto other = link ? link->getInteger("gpu") : std::nullopt;
      if (!other || *other < 0 || *other >= int64_t(tables.gpus.size()))
        return errorAt(file.path, placeOfKey(file.text, "links", self),
                       "link " + llvm::Twine(i) + " of gpu " +
                           llvm::Twine(self) + " leads to no GPU of the list");
      readLink(*link, tables.pairs[{self, unsigned(*other)}]);
    }
  }
  Result<Reading> reading =
      readingOfTables(file, ImportFormat::AmdSmiJson, std::move(tables));
  if (reading)
    reading->formatDetail = "amd-smi topology --json";
  return reading;
}

//===----------------------------------------------------------------------===//
// rocm-smi
//===----------------------------------------------------------------------===//

/// "(Topology) Weight between DRM devices 0 and 1" is ("Weight", {0, 1}).
static std::optional<std::pair<StringRef, std::pair<unsigned, unsigned>>>
pairOfKey(StringRef key) {
  auto [table, devices] = key.split(" between DRM devices ");
  auto [first, second] = devices.split(" and ");
  std::optional<unsigned> a = wholeNumber(first), b = wholeNumber(second);
  if (!table.consume_front("(Topology) ") || !a || !b || a == b)
    return std::nullopt;
  return std::pair(table, std::minmax({*a, *b}));
}

static void store(StringRef table, const std::string &text, SmiPair &pair) {
  if (table == "Weight")
    pair.weight = wholeNumber(text);
  else if (table == "Hops")
    pair.hops = wholeNumber(text);
  else if (table == "Link type")
    pair.type = typeOfLink(text);
  else if (table == "Link accessibility")
    pair.status = StringRef(text).upper();
}

/// Numbers of GPUs: those that have an object, and those of pairs.
static std::set<unsigned> rocmNumbers(const llvm::json::Object &all,
                                      const llvm::json::Object &system) {
  std::set<unsigned> numbers;
  for (const auto &[key, value] : all)
    if (auto number = numberAfter("card", StringRef(key)))
      numbers.insert(*number);
  for (const auto &[key, value] : system)
    if (auto pair = pairOfKey(StringRef(key)))
      numbers.insert({pair->second.first, pair->second.second});
  return numbers;
}

static std::optional<Error> readPairs(const ImportFile &file,
                                      const llvm::json::Object &system,
                                      SmiTables &tables) {
  std::map<unsigned, unsigned> indexOf;
  for (const DeviceReading &gpu : tables.gpus)
    indexOf.emplace(gpu.number, unsigned(indexOf.size()));
  for (const auto &[key, value] : system) {
    auto named = pairOfKey(StringRef(key));
    if (!named)
      continue;
    auto [a, b] = named->second;
    SmiPair &pair = tables.pairs[{indexOf[a], indexOf[b]}];
    pair.place = placeOfKey(file.text, StringRef(key));
    store(named->first, textOf(&value), pair);
  }
  for (unsigned a = 0; a < tables.gpus.size() && !tables.pairs.empty(); ++a)
    for (unsigned b = a + 1; b < tables.gpus.size(); ++b)
      if (!tables.pairs.count({a, b}))
        return errorAt(file.path, {},
                       "nothing is said of the pair " + tables.gpus[a].name +
                           " and " + tables.gpus[b].name);
  return std::nullopt;
}

Result<Reading> import::readRocmSmiJson(const ImportFile &file) {
  Result<llvm::json::Value> value = parseJson(file);
  if (!value)
    return Error{value.error()};
  const llvm::json::Object *all = value->getAsObject();
  if (!all)
    return errorAt(file.path, {}, "expected an object with one for each GPU");
  const llvm::json::Object none, *system = all->getObject("system");
  system = system ? system : &none;
  std::set<unsigned> numbers = rocmNumbers(*all, *system);
  if (numbers.size() > maxGpusOfHost)
    return errorAt(file.path, {}, "too many GPUs for one host");
  SmiTables tables;
  for (unsigned number : numbers) {
    tables.gpus.push_back({number, "GPU" + std::to_string(number)});
    const auto *card = all->getObject("card" + std::to_string(number));
    if (card)
      if (auto node = wholeNumber(textOf(card->get("(Topology) Numa Node"))))
        tables.numa[number] = *node;
  }
  if (std::optional<Error> error = readPairs(file, *system, tables))
    return *error;
  Result<Reading> reading =
      readingOfTables(file, ImportFormat::RocmSmi, std::move(tables));
  if (reading)
    reading->formatDetail = "rocm-smi --showtopo --json";
  return reading;
}
