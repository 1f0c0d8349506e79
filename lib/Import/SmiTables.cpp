//===- SmiTables.cpp - rocm-smi --showtopo and amd-smi topology -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Both print tables, one below the other, with a title before each: rocm-smi
// names GPUs GPU0, GPU1, ..., amd-smi by their bus ids.
//
//===----------------------------------------------------------------------===//

#include "SmiTables.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
enum class Table { None, Access, Weight, Hops, Type, Bandwidth, Numa };

class TableReader {
public:
  explicit TableReader(const ImportFile &file)
      : file(file), lines(splitLines(file.text)) {}
  std::optional<Error> run();
  SmiTables tables;

private:
  std::optional<Error> readHeader(const std::vector<Word> &words);
  std::optional<Error> readRow(const std::vector<Word> &words);
  std::optional<Error> readCell(SmiPair &pair, const Word &word);
  void readNuma(StringRef text);
  std::optional<Error> checkTable() const;
  std::optional<unsigned> indexOf(StringRef name) const;

  const ImportFile &file;
  std::vector<Line> lines;
  Table table = Table::None;
  std::string title;
  Place titlePlace;
  std::vector<unsigned> columns; ///< of the table, as indices of GPUs
  size_t rowsSeen = 0;
};
} // namespace

static Table tableOf(StringRef text) {
  std::string lower = text.lower();
  StringRef line = lower;
  bool isTitle = line.contains("between two gpus") || line.contains("table:") ||
                 line.contains("numa nodes");
  if (!isTitle)
    return Table::None;
  for (auto [word, table] : {std::pair("numa bw", Table::Bandwidth),
                             {"access", Table::Access},
                             {"weight", Table::Weight},
                             {"hops", Table::Hops},
                             {"link type", Table::Type},
                             {"bandwidth", Table::Bandwidth},
                             {"numa nodes", Table::Numa}})
    if (line.contains(word))
      return table;
  return Table::None;
}

static bool isBusId(StringRef word) {
  return word.count(':') == 2 && word.contains('.');
}

static bool isGpuName(StringRef word) {
  return isBusId(word) || numberAfter("GPU", word).has_value();
}

std::optional<unsigned> TableReader::indexOf(StringRef name) const {
  std::string id = isBusId(name) ? normalizedBusId(name) : name.str();
  for (unsigned i = 0; i < tables.gpus.size(); ++i)
    if (tables.gpus[i].name == id || tables.gpus[i].busId == id)
      return i;
  return std::nullopt;
}

std::optional<Error> TableReader::readHeader(const std::vector<Word> &words) {
  bool isFirst = tables.gpus.empty();
  columns.clear();
  rowsSeen = 0;
  for (const Word &word : words) {
    if (!isGpuName(word.text))
      return errorAt(file.path, word.place,
                     "'" + word.text + "' is no name of a GPU");
    if (isFirst && indexOf(word.text))
      return errorAt(file.path, word.place, "two columns are for " + word.text);
    if (isFirst && tables.gpus.size() >= maxGpusOfHost)
      return errorAt(file.path, word.place, "too many GPUs for one host");
    if (isFirst) {
      auto number = numberAfter("GPU", word.text).value_or(tables.gpus.size());
      DeviceReading gpu = {number, "GPU" + std::to_string(number)};
      if (isBusId(word.text))
        gpu.busId = normalizedBusId(word.text);
      tables.gpus.push_back(gpu);
    }
    std::optional<unsigned> index = indexOf(word.text);
    if (!index)
      return errorAt(file.path, word.place,
                     word.text + " is in no table before");
    columns.push_back(*index);
  }
  return std::nullopt;
}

std::optional<Error> TableReader::readCell(SmiPair &pair, const Word &word) {
  StringRef text = word.text;
  auto count = [&](std::optional<unsigned> &to) -> std::optional<Error> {
    to = wholeNumber(text);
    if (to || text == "N/A" || text == "-")
      return std::nullopt;
    return errorAt(file.path, word.place,
                   "expected a number in the table '" + title + "', got '" +
                       text + "'");
  };
  pair.place = word.place;
  switch (table) {
  case Table::Weight:
    return count(pair.weight);
  case Table::Hops:
    return count(pair.hops);
  case Table::Type:
    pair.type = text.upper();
    break;
  case Table::Access:
    pair.status = text.upper();
    break;
  case Table::Bandwidth:
    pair.bandwidth = text.str();
    break;
  case Table::None:
  case Table::Numa:
    break;
  }
  return std::nullopt;
}

std::optional<Error> TableReader::readRow(const std::vector<Word> &words) {
  std::optional<unsigned> row = indexOf(words[0].text);
  if (!row)
    return errorAt(file.path, words[0].place,
                   "row " + words[0].text + " has no column");
  if (words.size() != columns.size() + 1)
    return errorAt(file.path, words[0].place,
                   "the row of " + words[0].text + " in table '" + title +
                       "' has " + llvm::Twine(words.size() - 1) +
                       " cells for " + llvm::Twine(columns.size()) +
                       " columns; was the output cut?");
  for (size_t i = 0; i < columns.size(); ++i)
    if (std::optional<Error> error =
            readCell(tables.pairs[{*row, columns[i]}], words[i + 1]))
      return error;
  ++rowsSeen;
  return std::nullopt;
}

/// "GPU[3] : (Topology) Numa Node: 1", or with "GPU 3".
void TableReader::readNuma(StringRef text) {
  if (!text.consume_front("GPU") || !text.contains("Numa Node:"))
    return;
  StringRef number = text.split(':').first.trim(" []");
  auto gpu = wholeNumber(number);
  auto node = wholeNumber(text.rsplit(':').second.trim());
  if (gpu && node)
    tables.numa[*gpu] = *node;
}

std::optional<Error> TableReader::checkTable() const {
  if (table == Table::None || table == Table::Numa ||
      rowsSeen == columns.size())
    return std::nullopt;
  return errorAt(file.path, titlePlace,
                 "table '" + title + "' has " + llvm::Twine(rowsSeen) +
                     " rows for " + llvm::Twine(columns.size()) +
                     " columns; was the output cut?");
}

std::optional<Error> TableReader::run() {
  bool needsHeader = false;
  for (const Line &line : lines) {
    std::vector<Word> words = line.words();
    if (words.empty())
      continue;
    StringRef text = StringRef(line.text).trim();
    if (Table next = tableOf(text); next != Table::None) {
      if (std::optional<Error> error = checkTable())
        return error;
      table = next;
      title = text.trim("= :").str();
      titlePlace = words[0].place;
      needsHeader = table != Table::Numa;
      columns.clear();
      rowsSeen = 0;
    } else if (table == Table::Numa) {
      readNuma(text);
    } else if (table != Table::None && isGpuName(words[0].text)) {
      std::optional<Error> error =
          needsHeader ? readHeader(words) : readRow(words);
      needsHeader = false;
      if (error)
        return error;
    }
  }
  if (tables.gpus.empty())
    return errorAt(file.path, {},
                   "there is no table of pairs of GPUs; was the "
                   "output cut?");
  return checkTable();
}

//===----------------------------------------------------------------------===//
// From tables to a reading
//===----------------------------------------------------------------------===//

/// "50000-50000" MB/s, of which the larger counts; nothing for "N/A" and 0.
static std::optional<Quantity> bandwidthOf(StringRef text) {
  StringRef most = text.contains('-') ? text.rsplit('-').second : text;
  std::optional<unsigned> megabytes = wholeNumber(most.trim());
  if (!megabytes || *megabytes == 0)
    return std::nullopt;
  return Quantity{Rational(*megabytes, 1000), "NUMA BW of the file"};
}

static bool isDirect(const SmiPair &pair) {
  if (pair.type != "XGMI")
    return false;
  if (pair.weight && *pair.weight > 0)
    return *pair.weight == 15;
  return !pair.hops || *pair.hops <= 1;
}

static void addHosts(Reading &reading, const SmiTables &tables) {
  Quantity assumed = {32, "assumed: the file has no rates of PCIe; as PCIe 4 "
                          "x16"};
  std::map<unsigned, unsigned> hostOf;
  for (DeviceReading &gpu : reading.gpus) {
    auto numa = tables.numa.find(gpu.number);
    unsigned node = numa == tables.numa.end() ? 0 : numa->second;
    auto [it, isNew] = hostOf.try_emplace(node, reading.hosts.size());
    if (isNew)
      reading.hosts.push_back({VertexKind::Bridge,
                               "numa" + std::to_string(node), std::nullopt,
                               assumed, "host"});
    gpu.host = it->second;
    gpu.toHost = assumed;
  }
}

static void addExtras(Reading &reading, const SmiTables &tables) {
  llvm::json::Array numa, ids, reported;
  for (const DeviceReading &gpu : reading.gpus) {
    if (auto node = tables.numa.find(gpu.number); node != tables.numa.end())
      numa.push_back(node->second);
    if (!gpu.busId.empty())
      ids.push_back(gpu.busId);
  }
  for (const auto &[ends, pair] : tables.pairs)
    if (ends.first < ends.second && pair.type == "XGMI")
      reported.push_back(llvm::json::Array{reading.gpus[ends.first].number,
                                           reading.gpus[ends.second].number});
  if (!numa.empty())
    reading.extras["numa"] = std::move(numa);
  if (!ids.empty())
    reading.extras["busids"] = std::move(ids);
  reading.extras["xgmi_pairs_reported"] = std::move(reported);
}

Result<Reading> import::readingOfTables(const ImportFile &file,
                                        ImportFormat format, SmiTables tables) {
  Reading reading = {file.path, format, "", "amd"};
  reading.gpus = tables.gpus;
  reading.numGpus = reading.gpus.size();
  reading.pairs.emplace();
  unsigned numIndirect = 0, numDisabled = 0;
  for (const auto &[ends, pair] : tables.pairs) {
    if (ends.first >= ends.second)
      continue;
    auto back = tables.pairs.find({ends.second, ends.first});
    if (back != tables.pairs.end() &&
        (back->second.type != pair.type || back->second.weight != pair.weight))
      return errorAt(file.path, back->second.place,
                     reading.gpus[ends.second].name + " and " +
                         reading.gpus[ends.first].name +
                         " are said to be joined otherwise at " +
                         pair.place.str() + ", the other way round");
    numDisabled += pair.status == "DISABLED";
    if (isDirect(pair))
      reading.pairs->push_back(
          {ends.first, ends.second, std::nullopt, bandwidthOf(pair.bandwidth)});
    else
      numIndirect += pair.type == "XGMI";
  }
  if (numIndirect)
    reading.warnings.push_back(
        std::to_string(numIndirect) +
        " pairs are joined by XGMI through other GPUs: left out");
  if (numDisabled)
    reading.warnings.push_back(std::to_string(numDisabled) +
                               " pairs have no peer access: a schedule would "
                               "have to go through the host");
  if (!reading.pairs->empty())
    reading.assumptions.push_back(
        "one XGMI link for each direct pair: the file does not count them");
  addHosts(reading, tables);
  addExtras(reading, tables);
  return reading;
}

Result<Reading> import::readSmiTables(const ImportFile &file,
                                      ImportFormat format) {
  TableReader reader(file);
  if (std::optional<Error> error = reader.run())
    return *error;
  Result<Reading> reading =
      readingOfTables(file, format, std::move(reader.tables));
  if (reading)
    reading->formatDetail = format == ImportFormat::RocmSmi
                                ? "rocm-smi --showtopo"
                                : "amd-smi topology";
  return reading;
}
