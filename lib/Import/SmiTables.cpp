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

#include "LinkGroups.h"

#include "sccl/Machine/Units.h"
#include "sccl/Model/DisjointSets.h"

#include "llvm/ADT/StringExtras.h"

#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
enum class Table { None, Access, Weight, Hops, Type, Bandwidth, Numa, Other };

class TableReader {
public:
  explicit TableReader(const ImportFile &file)
      : file(file), lines(splitLines(file.text)) {}
  std::optional<Error> run();
  SmiTables tables;

private:
  std::optional<Error> readHeader(const std::vector<Word> &words);
  std::optional<Error> readRow(std::vector<Word> words);
  std::optional<Error> readTableLine(std::vector<Word> words);
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
  bool needsHeader = false;
};
} // namespace

static Table tableOf(StringRef text) {
  std::string lower = text.lower();
  StringRef line = lower;
  if (line.trim("= ").empty())
    return Table::None;
  bool isTitle = line.contains("between two gpus") ||
                 line.ends_with("table:") || line.starts_with("=====");
  if (!isTitle && !line.contains("numa nodes"))
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
  return Table::Other;
}

bool import::isBusId(StringRef word) {
  size_t colons = word.count(':');
  return (colons == 1 || colons == 2) && word.contains('.');
}

std::string import::typeOfLink(StringRef text) {
  std::string type = text.upper();
  bool isUnknown = type == "XXXX" || type == "UNKNOWN" || type == "N/A";
  return isUnknown ? "" : type;
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
    pair.type = typeOfLink(text);
    break;
  case Table::Access:
    pair.status = text.upper();
    break;
  case Table::Bandwidth:
    pair.bandwidth = text.str();
    break;
  case Table::None:
  case Table::Numa:
  case Table::Other:
    break;
  }
  return std::nullopt;
}

std::optional<Error> TableReader::readRow(std::vector<Word> words) {
  std::optional<unsigned> row = indexOf(words[0].text);
  if (!row)
    return errorAt(file.path, words[0].place,
                   "row " + words[0].text + " has no column");
  // GPU0 and its bus id.
  if (words.size() == columns.size() + 2 && isBusId(words[1].text)) {
    tables.gpus[*row].busId = normalizedBusId(words[1].text);
    words.erase(words.begin() + 1);
  }
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

/// "GPU[3] : (Topology) Numa Node: 1", or with "GPU 3", with tabs or blanks.
void TableReader::readNuma(StringRef text) {
  if (!text.consume_front("GPU") || !text.contains("Numa Node:"))
    return;
  StringRef number = text.split(':').first.trim(" \t[]");
  auto gpu = wholeNumber(number);
  auto node = wholeNumber(text.rsplit(':').second.trim());
  if (gpu && node)
    tables.numa[*gpu] = *node;
}

std::optional<Error> TableReader::checkTable() const {
  if (table == Table::None || table == Table::Numa || table == Table::Other ||
      rowsSeen == columns.size())
    return std::nullopt;
  return errorAt(file.path, titlePlace,
                 "table '" + title + "' has " + llvm::Twine(rowsSeen) +
                     " rows for " + llvm::Twine(columns.size()) +
                     " columns; was the output cut?");
}

/// A line below a title: the names of columns first, then rows.
std::optional<Error> TableReader::readTableLine(std::vector<Word> words) {
  if (needsHeader && StringRef(words[0].text).equals_insensitive("bdf"))
    words.erase(words.begin());
  if (words.empty() || !isGpuName(words[0].text))
    return std::nullopt;
  if (table == Table::Other) {
    // Of these tables only which GPUs there are is of use.
    bool isHeader =
        needsHeader && tables.gpus.empty() &&
        llvm::all_of(words, [](const Word &w) { return isGpuName(w.text); });
    needsHeader = false;
    return isHeader ? readHeader(words) : std::nullopt;
  }
  if (!needsHeader)
    return readRow(std::move(words));
  needsHeader = false;
  return readHeader(words);
}

std::optional<Error> TableReader::run() {
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
    } else if (table != Table::None) {
      if (std::optional<Error> error = readTableLine(std::move(words)))
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

namespace {
/// How the pairs of a file are told apart: by the first of these that it has.
enum class Evidence { Type, Weight, Bandwidth, None };
} // namespace

static Evidence evidenceOf(const SmiTables &tables) {
  Evidence best = Evidence::None;
  for (const auto &[ends, pair] : tables.pairs) {
    if (ends.first == ends.second)
      continue;
    if (!pair.type.empty())
      return Evidence::Type;
    if (pair.weight.value_or(0) > 0)
      best = Evidence::Weight;
    else if (best == Evidence::None && bandwidthOf(pair.bandwidth))
      best = Evidence::Bandwidth;
  }
  return best;
}

/// A link of XGMI weighs 15, and each further one on the way as much again;
/// PCIe weighs 20 and more, no multiple of 15 up to 4 links.
static bool isXgmi(const SmiPair &pair, Evidence evidence) {
  unsigned weight = pair.weight.value_or(0);
  if (!pair.type.empty())
    return pair.type == "XGMI";
  return evidence == Evidence::Bandwidth
             ? bandwidthOf(pair.bandwidth).has_value()
             : weight == 15 || weight == 30 || weight == 45;
}

static bool isDirect(const SmiPair &pair, Evidence evidence) {
  if (!isXgmi(pair, evidence))
    return false;
  if (pair.weight && *pair.weight > 0)
    return *pair.weight == 15;
  return !pair.hops || *pair.hops <= 1;
}

void import::addNumaNodes(Reading &reading,
                          const std::map<unsigned, unsigned> &numa) {
  Quantity assumed = {32, "assumed: the file has no rates of PCIe; as PCIe 4 "
                          "x16"};
  std::map<unsigned, unsigned> hostOf;
  for (DeviceReading &gpu : reading.gpus) {
    auto known = numa.find(gpu.number);
    unsigned node = known == numa.end() ? 0 : known->second;
    auto [it, isNew] = hostOf.try_emplace(node, reading.hosts.size());
    if (isNew)
      reading.hosts.push_back({VertexKind::Bridge,
                               "numa" + std::to_string(node), std::nullopt,
                               assumed, "host"});
    gpu.host = it->second;
    gpu.toHost = assumed;
  }
  DisjointSets linked(reading.gpus.size());
  for (const LinkReading &pair :
       reading.pairs.value_or(std::vector<LinkReading>()))
    linked.join(pair.a, pair.b);
  bool needsNodes = false;
  for (unsigned gpu = 0; gpu < reading.gpus.size(); ++gpu)
    needsNodes |= linked.first(gpu) != 0;
  if (needsNodes && numa.size() < reading.gpus.size())
    reading.assumptions.push_back(
        "GPUs whose NUMA node the file does not say are on node 0");
  joinNodes(reading);
}

/// What all pairs have in common, if they do.
static void addUniform(Reading &reading, const SmiTables &tables, StringRef key,
                       llvm::function_ref<std::string(const SmiPair &)> get) {
  std::set<std::string> values;
  for (const auto &[ends, pair] : tables.pairs)
    if (ends.first != ends.second)
      values.insert(get(pair));
  if (values.size() == 1 && !values.begin()->empty())
    reading.extras[key] = *values.begin();
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
  addUniform(reading, tables, "p2p",
             [](const SmiPair &pair) { return pair.status; });
  addUniform(reading, tables, "link",
             [](const SmiPair &pair) { return pair.type; });
  if (!numa.empty())
    reading.extras["numa"] = std::move(numa);
  if (!ids.empty())
    reading.extras["busids"] = std::move(ids);
  reading.extras["xgmi_pairs_reported"] = std::move(reported);
}

static void noteEvidence(Reading &reading, Evidence evidence,
                         unsigned numUntyped) {
  bool isRocm = reading.format == ImportFormat::RocmSmi;
  if (evidence == Evidence::None) {
    reading.pairs.reset();
    reading.noMachine =
        std::string("its tables do not say by what links GPUs are joined; ") +
        (isRocm ? "run rocm-smi --showtopo"
                : "run amd-smi topology, or give amd-smi xgmi beside it");
  } else if (numUntyped > 0) {
    reading.assumptions.push_back(
        "the file has no " +
        (evidence == Evidence::Type
             ? "type of link of " + std::to_string(numUntyped) +
                   " pairs: those "
             : std::string("types of links: pairs ")) +
        (evidence == Evidence::Bandwidth ? "with a bandwidth"
                                         : "of weight 15") +
        " are taken to be joined by XGMI");
  }
}

Result<Reading> import::readingOfTables(const ImportFile &file,
                                        ImportFormat format, SmiTables tables) {
  Reading reading = {file.path, format, "", "amd"};
  reading.gpus = tables.gpus;
  reading.numGpus = reading.gpus.size();
  reading.pairs.emplace();
  Evidence evidence = evidenceOf(tables);
  unsigned numIndirect = 0, numDisabled = 0, numUntyped = 0;
  for (const auto &[ends, pair] : tables.pairs) {
    if (ends.first >= ends.second)
      continue;
    numUntyped += pair.type.empty();
    auto back = tables.pairs.find({ends.second, ends.first});
    if (back != tables.pairs.end() &&
        (back->second.type != pair.type || back->second.weight != pair.weight))
      return errorAt(file.path, back->second.place,
                     reading.gpus[ends.second].name + " and " +
                         reading.gpus[ends.first].name +
                         " are said to be joined otherwise at " +
                         pair.place.str() + ", the other way round");
    // rocm-smi says True or False.
    numDisabled += pair.status == "DISABLED" || pair.status == "FALSE";
    if (isDirect(pair, evidence))
      reading.pairs->push_back(
          {ends.first, ends.second, std::nullopt, bandwidthOf(pair.bandwidth)});
    else
      numIndirect += isXgmi(pair, evidence);
  }
  if (numIndirect)
    reading.warnings.push_back(
        std::to_string(numIndirect) +
        " pairs are joined by XGMI through other GPUs: left out");
  warnOfAccess(reading, numDisabled);
  if (!reading.pairs->empty())
    reading.assumptions.push_back(
        "one XGMI link for each direct pair: the file does not count them");
  noteEvidence(reading, evidence, numUntyped);
  addNumaNodes(reading, tables.numa);
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
