//===- AmdSmiJson.cpp - amd-smi topology --json ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Since ROCm 6.1.1 an entry for each GPU has a list "links"; before, it had
// maps by "gpu_0", "gpu_1", ... for each table.
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "SmiTables.h"

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
  pair.type = StringRef(textOf(link.get("link_type"))).upper();
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
          [](SmiPair &pair, StringRef text) { pair.type = text.upper(); });
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
