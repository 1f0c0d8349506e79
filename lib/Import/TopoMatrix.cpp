//===- TopoMatrix.cpp - nvidia-smi topo -m --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matrix of devices with columns about CPUs behind it, set with tabs or with
// blanks, with colours in it, and with lines that a terminal has wrapped. What
// counts is the order of words: names of columns, then for each row its name
// and as many cells.
//
//===----------------------------------------------------------------------===//

#include "Readers.h"
#include "Text.h"

#include "sccl/Model/DisjointSets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// How near two devices are, the nearest first.
enum Nearness { Self, NVLink, OneSwitch, Switches, HostBridge, Numa, System };

struct Cell {
  Nearness nearness;
  unsigned links = 0; ///< of NVLink
  Place place;
};

/// The table as it stands there.
struct Matrix {
  std::vector<std::string> devices;
  Place header;
  bool hasNuma = false, isP2p = false;
  std::vector<std::vector<std::optional<Cell>>> cells;
  std::vector<bool> hasRow;
  std::vector<std::string> numa; ///< of each row; empty if not said
  std::vector<std::string> p2p;  ///< distinct states, for topo -p2p
};

class MatrixParser {
public:
  explicit MatrixParser(const ImportFile &file)
      : file(file), lines(splitLines(file.text)) {}
  Result<Matrix> parse();

private:
  bool findHeader();
  std::optional<Error> parseRow(size_t device);
  std::optional<Error> addCell(size_t row, size_t column, const Word &word);
  std::optional<Error> checkRows() const;
  std::optional<Error> checkSymmetry() const;
  std::optional<Error> checkEnd() const;
  void readNuma(size_t row, const Line &line, size_t wordsBefore);
  std::optional<size_t> deviceOf(StringRef name) const;

  const ImportFile &file;
  std::vector<Line> lines;
  size_t at = 0; ///< the next line
  Matrix matrix;
};
} // namespace

static bool isDeviceName(StringRef word) {
  if (numberAfter("GPU", word) || numberAfter("NIC", word))
    return true;
  // mlx5_0, mlx5_bond_0, bnxt_re0, rdmap0s6, hfi1_0, efa_0, irdma1, ...
  return word.size() > 2 && llvm::isLower(word[0]) &&
         llvm::isDigit(word.back()) && llvm::all_of(word, [](char c) {
           return llvm::isLower(c) || llvm::isDigit(c) || c == '_';
         });
}

static std::optional<Cell> parseCell(const Word &word) {
  auto nearness = llvm::StringSwitch<std::optional<Nearness>>(word.text)
                      .Case("X", Self)
                      .Case("PIX", OneSwitch)
                      .Case("PXB", Switches)
                      .Case("PHB", HostBridge)
                      .Case("NODE", Numa)
                      .Cases({"SYS", "SOC"}, System)
                      .Default(std::nullopt);
  if (nearness)
    return Cell{*nearness, 0, word.place};
  std::optional<unsigned> links = numberAfter("NV", word.text);
  if (links && *links >= 1 && *links <= 64)
    return Cell{NVLink, *links, word.place};
  return std::nullopt;
}

static bool isP2pState(StringRef word) {
  return llvm::is_contained({"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"}, word);
}

std::optional<size_t> MatrixParser::deviceOf(StringRef name) const {
  auto it = std::find(matrix.devices.begin(), matrix.devices.end(), name);
  if (it == matrix.devices.end())
    return std::nullopt;
  return it - matrix.devices.begin();
}

/// True for a line of names of columns, which begins with one of a device.
bool MatrixParser::findHeader() {
  for (; at < lines.size(); ++at) {
    std::vector<Word> words = lines[at].words();
    bool isHeader = !words.empty() && isDeviceName(words[0].text) &&
                    (words.size() == 1 || !parseCell(words[1]));
    if (!isHeader || words[0].text.find("GPU") != 0)
      continue;
    matrix.header = words[0].place;
    // The names of columns may go on in the next lines.
    for (bool isOver = false; at < lines.size(); ++at) {
      words = lines[at].words();
      if (words.size() > 1 &&
          (parseCell(words[1]) || isP2pState(words[1].text)))
        return true;
      for (const Word &word : words) {
        matrix.hasNuma |= word.text == "NUMA" && !isOver;
        isOver |= !isDeviceName(word.text);
        if (!isOver)
          matrix.devices.push_back(word.text);
        matrix.hasNuma |= word.text == "NUMA";
      }
    }
  }
  return false;
}

std::optional<Error> MatrixParser::addCell(size_t row, size_t column,
                                           const Word &word) {
  if (isP2pState(word.text)) {
    matrix.isP2p = true;
    if (!llvm::is_contained(matrix.p2p, word.text))
      matrix.p2p.push_back(word.text);
    return std::nullopt;
  }
  std::optional<Cell> cell = parseCell(word);
  if (!cell || (cell->nearness == Self) != (row == column))
    return errorAt(file.path, word.place,
                   "the cell of " + matrix.devices[row] + " and " +
                       matrix.devices[column] + " is '" + word.text +
                       "', expected " +
                       (row == column ? "X"
                                      : "NV with a number, PIX, PXB, PHB, NODE "
                                        "or SYS"));
  matrix.cells[row][column] = *cell;
  return std::nullopt;
}

void MatrixParser::readNuma(size_t row, const Line &line, size_t wordsBefore) {
  if (!matrix.hasNuma)
    return;
  std::vector<std::string> fields = line.fields();
  std::vector<Word> words = line.words();
  // With tabs each column is in its place; with blanks empty ones are not
  // there.
  size_t tabbed = matrix.devices.size() + 2;
  if (fields.size() > tabbed)
    matrix.numa[row] = fields[tabbed];
  else if (words.size() >= wordsBefore + 2)
    matrix.numa[row] = words[wordsBefore + 1].text;
  if (matrix.numa[row] == "N/A")
    matrix.numa[row].clear();
}

std::optional<Error> MatrixParser::parseRow(size_t row) {
  size_t count = 0, first = 1;
  matrix.hasRow[row] = true;
  for (; at < lines.size() && count < matrix.devices.size(); ++at, first = 0) {
    std::vector<Word> words = lines[at].words();
    bool isNextRow = !words.empty() && first == 0 &&
                     (deviceOf(words[0].text) || words[0].text == "Legend:");
    if (words.empty() || isNextRow)
      break;
    size_t i = first;
    for (; i < words.size() && count < matrix.devices.size(); ++i, ++count)
      if (std::optional<Error> error = addCell(row, count, words[i]))
        return error;
    if (count == matrix.devices.size())
      readNuma(row, lines[at], i);
  }
  // Cards have nothing to say that GPUs do not.
  bool isGpu = numberAfter("GPU", matrix.devices[row]).has_value();
  if (count < matrix.devices.size() && isGpu)
    return errorAt(file.path, {lines[at - 1].number, 1},
                   "the row of " + matrix.devices[row] + " has " +
                       llvm::Twine(count) + " cells for " +
                       llvm::Twine(matrix.devices.size()) +
                       " columns; was the output cut?");
  return std::nullopt;
}

std::optional<Error> MatrixParser::checkRows() const {
  for (size_t row = 0; row < matrix.devices.size(); ++row)
    if (!matrix.hasRow[row] && numberAfter("GPU", matrix.devices[row]))
      return errorAt(file.path, matrix.header,
                     "there is a column but no row for " + matrix.devices[row] +
                         "; was the output cut?");
  return std::nullopt;
}

std::optional<Error> MatrixParser::checkSymmetry() const {
  for (size_t a = 0; a < matrix.devices.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      const std::optional<Cell> &there = matrix.cells[b][a],
                                &back = matrix.cells[a][b];
      if (there && back &&
          (there->nearness != back->nearness || there->links != back->links))
        return errorAt(file.path, back->place,
                       matrix.devices[a] + " and " + matrix.devices[b] +
                           " are said to be joined otherwise at " +
                           there->place.str() +
                           ", the other way round; run nvidia-smi topo -m "
                           "again");
    }
  return std::nullopt;
}

/// Below the table there is no other one: two hosts have two files.
std::optional<Error> MatrixParser::checkEnd() const {
  auto isRow = [](const std::vector<Word> &words) {
    return words.size() > 1 && isDeviceName(words[0].text) &&
           llvm::any_of(llvm::drop_begin(words), [](const Word &word) {
             std::optional<Cell> cell = parseCell(word);
             return cell && cell->nearness != Self;
           });
  };
  for (size_t below = at; below < lines.size(); ++below) {
    std::vector<Word> words = lines[below].words();
    if (isRow(words))
      return errorAt(file.path, words[0].place,
                     "a second table; each host needs a file of its own");
  }
  return std::nullopt;
}

Result<Matrix> MatrixParser::parse() {
  if (!findHeader())
    return errorAt(file.path, {},
                   "there is no row GPU0 X ... below a line of "
                   "names of devices; was the output cut?");
  size_t count = matrix.devices.size();
  std::map<std::string, unsigned> names;
  for (const std::string &name : matrix.devices)
    if (names[name]++)
      return errorAt(file.path, matrix.header, "two columns are named " + name);
  if (count > 4 * maxGpusOfHost)
    return errorAt(file.path, matrix.header,
                   llvm::Twine(count) + " columns are too many for one host");
  matrix.cells.assign(count, std::vector<std::optional<Cell>>(count));
  matrix.hasRow.assign(count, false);
  matrix.numa.resize(count);
  while (at < lines.size()) {
    std::vector<Word> words = lines[at].words();
    if (words.empty() || !isDeviceName(words[0].text)) {
      // After a blank line or the legend there is no more of it.
      if (!words.empty() && words[0].text == "Legend:")
        break;
      ++at;
      continue;
    }
    std::optional<size_t> device = deviceOf(words[0].text);
    if (!device)
      return errorAt(file.path, words[0].place,
                     "row " + words[0].text + " has no column");
    if (matrix.hasRow[*device])
      return errorAt(file.path, words[0].place,
                     "a second row for " + words[0].text);
    if (std::optional<Error> error = parseRow(*device))
      return *error;
  }
  if (std::optional<Error> error = checkEnd())
    return *error;
  if (std::optional<Error> error = checkRows())
    return *error;
  if (std::optional<Error> error = checkSymmetry())
    return *error;
  return std::move(matrix);
}

//===----------------------------------------------------------------------===//
// From the matrix to a reading
//===----------------------------------------------------------------------===//

namespace {
class MatrixReader {
public:
  MatrixReader(const Matrix &matrix, Reading &reading)
      : matrix(matrix), reading(reading) {}
  void run();

private:
  bool isGpu(size_t device) const {
    return numberAfter("GPU", matrix.devices[device]).has_value();
  }
  const Cell *cell(size_t a, size_t b) const {
    const auto &there = matrix.cells[a][b], &back = matrix.cells[b][a];
    return there ? &*there : back ? &*back : nullptr;
  }
  void addDevices();
  void addLinks();
  void addComponent(const std::vector<size_t> &gpus);
  void addSwitch(const std::vector<size_t> &gpus);
  void addHosts();
  unsigned addHost(VertexKind kind, std::string name,
                   std::optional<unsigned> parent);

  const Matrix &matrix;
  Reading &reading;
  std::map<size_t, unsigned> indexOf; ///< of a device in gpus or nics
};
} // namespace

void MatrixReader::addDevices() {
  std::vector<size_t> order(matrix.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    auto number = [&](size_t i) {
      return numberAfter("GPU", matrix.devices[i]).value_or(~0u);
    };
    return number(a) < number(b);
  });
  for (size_t device : order) {
    auto &list = isGpu(device) ? reading.gpus : reading.nics;
    indexOf[device] = list.size();
    DeviceReading entry = {unsigned(list.size()), matrix.devices[device], "",
                           ""};
    if (isGpu(device))
      entry.number = *numberAfter("GPU", matrix.devices[device]);
    list.push_back(entry);
  }
  reading.numGpus = reading.gpus.size();
  reading.numNics = reading.nics.size();
}

void MatrixReader::addSwitch(const std::vector<size_t> &gpus) {
  auto chip = unsigned(reading.switches.size());
  reading.switches.push_back("nvswitch" + std::to_string(chip));
  unsigned most = 0;
  for (size_t gpu : gpus) {
    // A GPU whose cells are smaller has lost links.
    unsigned links = 0;
    for (size_t other : gpus)
      if (const Cell *joined = other == gpu ? nullptr : cell(gpu, other))
        links = std::max(links, joined->links);
    reading.switchLinks.push_back({indexOf[gpu], chip, links, std::nullopt});
    most = std::max(most, links);
  }
  for (size_t i = 0; i < gpus.size(); ++i) {
    unsigned links =
        *reading.switchLinks[reading.switchLinks.size() - gpus.size() + i]
             .links;
    if (links < most)
      reading.warnings.push_back(matrix.devices[gpus[i]] + " has " +
                                 std::to_string(links) +
                                 " links where others "
                                 "have " +
                                 std::to_string(most) + ": is it degraded?");
  }
  reading.hasSwitch = true;
  reading.linksPerGpu = std::max(reading.linksPerGpu.value_or(0), most);
  reading.assumptions.push_back(
      "NV" + std::to_string(most) + " among " + std::to_string(gpus.size()) +
      " GPUs is read as " + std::to_string(most) +
      " links from each to a switch: no GPU has links of its own to every "
      "other");
}

/// GPUs that NVLink connects: links of their own, or a switch if there would
/// have to be more than a GPU has.
void MatrixReader::addComponent(const std::vector<size_t> &gpus) {
  for (size_t gpu : gpus) {
    unsigned total = 0;
    for (size_t other : gpus)
      if (const Cell *joined = cell(gpu, other))
        total += joined->links;
    if (total > maxLinksOf(reading.gpus[indexOf[gpu]].chip))
      return addSwitch(gpus);
  }
  for (size_t a : gpus)
    for (size_t b : gpus)
      if (const Cell *joined = cell(a, b);
          indexOf[a] < indexOf[b] && joined && joined->links)
        reading.pairs->push_back(
            {indexOf[a], indexOf[b], joined->links, std::nullopt});
}

void MatrixReader::addLinks() {
  reading.pairs.emplace();
  reading.hasSwitch = false;
  DisjointSets linked(matrix.devices.size());
  for (size_t a = 0; a < matrix.devices.size(); ++a)
    for (size_t b = 0; b < a; ++b)
      if (const Cell *joined = cell(a, b); joined && joined->links)
        linked.join(b, a);
  std::map<size_t, std::vector<size_t>> components;
  for (size_t device = 0; device < matrix.devices.size(); ++device)
    if (isGpu(device))
      components[linked.first(device)].push_back(device);
  for (const auto &[leader, gpus] : components)
    if (gpus.size() > 1)
      addComponent(gpus);
}

unsigned MatrixReader::addHost(VertexKind kind, std::string name,
                               std::optional<unsigned> parent) {
  reading.hosts.push_back(
      {kind,
       std::move(name),
       parent,
       {32, "assumed: topo -m has no rates of PCIe; as PCIe 4 x16"},
       kind == VertexKind::Bridge ? "host" : "PCIe"});
  return reading.hosts.size() - 1;
}

/// PCIe switches below host bridges below NUMA nodes, as far as cells tell.
void MatrixReader::addHosts() {
  size_t count = matrix.devices.size();
  DisjointSets numa(count), bridge(count), plx(count);
  for (size_t a = 0; a < count; ++a)
    for (size_t b = 0; b < a; ++b) {
      const Cell *joined = cell(a, b);
      if (joined && joined->nearness >= OneSwitch) {
        if (joined->nearness <= Numa)
          numa.join(b, a);
        if (joined->nearness <= HostBridge)
          bridge.join(b, a);
        if (joined->nearness <= Switches)
          plx.join(b, a);
      }
      if (isGpu(a) && isGpu(b) && !matrix.numa[a].empty() &&
          matrix.numa[a] == matrix.numa[b])
        numa.join(b, a);
    }
  std::map<size_t, unsigned> numaHost, bridgeHost, plxHost;
  auto hostOf = [&](std::map<size_t, unsigned> &known, size_t group,
                    VertexKind kind, StringRef stem,
                    std::optional<unsigned> parent) {
    auto [it, isNew] = known.try_emplace(group, 0);
    if (isNew)
      it->second =
          addHost(kind, (stem + llvm::Twine(known.size() - 1)).str(), parent);
    return it->second;
  };
  for (size_t device = 0; device < count; ++device) {
    // Nodes are joined through the first one.
    auto root = numaHost.empty() ? std::nullopt
                                 : std::optional(numaHost.at(numa.first(0)));
    unsigned node =
        hostOf(numaHost, numa.first(device), VertexKind::Bridge, "numa", root);
    unsigned above = hostOf(bridgeHost, bridge.first(device),
                            VertexKind::Bridge, "host", node);
    above =
        hostOf(plxHost, plx.first(device), VertexKind::Switch, "pcie", above);
    auto &list = isGpu(device) ? reading.gpus : reading.nics;
    DeviceReading &entry = list[indexOf[device]];
    entry.host = above;
    entry.toHost = reading.hosts[above].toParent;
  }
}

void MatrixReader::run() {
  addDevices();
  if (matrix.isP2p) {
    reading.formatDetail = "nvidia-smi topo -p2p";
    llvm::json::Array states;
    for (const std::string &state : matrix.p2p)
      states.push_back(state);
    reading.extras["p2p"] = std::move(states);
    reading.numNics.reset();
    reading.noMachine =
        "topo -p2p says who may access whom, not by what links; "
        "give nvidia-smi topo -m";
    return;
  }
  addLinks();
  addHosts();
}

Result<Reading> import::readTopoMatrix(const ImportFile &file) {
  Result<Matrix> matrix = MatrixParser(file).parse();
  if (!matrix)
    return Error{matrix.error()};
  Reading reading = {file.path, ImportFormat::TopoMatrix, "nvidia-smi topo -m",
                     "nvidia"};
  MatrixReader(*matrix, reading).run();
  return reading;
}
