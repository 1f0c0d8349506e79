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

#include "TopoMatrix.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
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
  void readNuma(size_t row, const Line &line, const std::vector<Word> &words,
                size_t wordsBefore);
  void readLegend(const Line &line);
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

/// How many letters and digits name the device, or are the cell, that `text`
/// begins with; 0 if it begins with neither.
static size_t tokenLength(StringRef text) {
  size_t digits = text.substr(3).take_while(llvm::isDigit).size();
  if ((text.starts_with("GPU") || text.starts_with("NIC")) && digits > 0)
    return 3 + digits;
  for (StringRef cell : {"NODE", "PIX", "PXB", "PHB", "SYS", "SOC", "CNS",
                         "GNS", "TNS", "NS", "OK", "DR", "X"})
    if (text.starts_with(cell))
      return cell.size();
  if (text.starts_with("NV")) {
    // No GPU has 100 links. CPUs may follow without a blank, as in NV40-15.
    digits = text.substr(2, 2).take_while(llvm::isDigit).size();
    StringRef rest = text.substr(2 + digits);
    if (digits == 2 && (rest.starts_with("-") || rest.starts_with(",")))
      digits = 1;
    return digits ? 2 + digits : 0;
  }
  StringRef name = text.take_while(
      [](char c) { return llvm::isLower(c) || llvm::isDigit(c) || c == '_'; });
  // mlx5_0mlx5_2: the letters at its beginning are those of the next one.
  StringRef stem = name.take_while(llvm::isLower);
  for (size_t at = name.find(stem, 1); !stem.empty() && at != name.npos;
       at = name.find(stem, at + 1))
    if (llvm::isDigit(name[at - 1])) {
      name = name.substr(0, at);
      break;
    }
  return isDeviceName(name) ? name.size() : 0;
}

std::vector<Word> import::matrixWords(const Line &line) {
  std::vector<Word> result;
  StringRef text = line.text;
  for (size_t at = 0; at < text.size();) {
    if (llvm::isSpace(text[at])) {
      ++at;
      continue;
    }
    StringRef word = text.substr(at).take_until(llvm::isSpace);
    size_t length = tokenLength(word);
    // A name before a colon is in a legend, and no cell follows.
    if (word.substr(length).starts_with(":"))
      length = 0;
    word = word.substr(0, length ? length : word.size());
    result.push_back({word.str(), line.place(at)});
    at += word.size();
  }
  return result;
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
    std::vector<Word> words = matrixWords(lines[at]);
    bool isHeader = !words.empty() && isDeviceName(words[0].text) &&
                    (words.size() == 1 || !parseCell(words[1]));
    if (!isHeader || words[0].text.find("GPU") != 0)
      continue;
    matrix.header = words[0].place;
    // The names of columns may go on in the next lines.
    for (bool isOver = false; at < lines.size(); ++at) {
      words = matrixWords(lines[at]);
      if (words.size() > 1 &&
          (parseCell(words[1]) || isP2pState(words[1].text)))
        return true;
      for (const Word &word : words) {
        isOver |= !isDeviceName(word.text);
        if (!isOver)
          matrix.devices.push_back(word.text);
        matrix.hasNuma |= StringRef(word.text).contains("NUMA");
      }
    }
  }
  return false;
}

std::optional<Error> MatrixParser::addCell(size_t row, size_t column,
                                           const Word &word) {
  if (isP2pState(word.text)) {
    matrix.isP2p = true;
    matrix.numRefused += word.text != "OK";
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

void MatrixParser::readNuma(size_t row, const Line &line,
                            const std::vector<Word> &words,
                            size_t wordsBefore) {
  if (!matrix.hasNuma)
    return;
  std::vector<std::string> fields = line.fields();
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
    std::vector<Word> words = matrixWords(lines[at]);
    bool isNextRow = !words.empty() && first == 0 &&
                     (deviceOf(words[0].text) || words[0].text == "Legend:");
    if (words.empty() || isNextRow)
      break;
    size_t i = first;
    for (; i < words.size() && count < matrix.devices.size(); ++i, ++count)
      if (std::optional<Error> error = addCell(row, count, words[i]))
        return error;
    if (count == matrix.devices.size())
      readNuma(row, lines[at], words, i);
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

/// "NIC0: mlx5_0".
void MatrixParser::readLegend(const Line &line) {
  auto [device, name] = StringRef(line.text).split(':');
  if (deviceOf(device.trim()) && !name.trim().empty())
    matrix.legend[device.trim().str()] = name.trim().str();
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
    std::vector<Word> words = matrixWords(lines[below]);
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
  for (const Line &line : lines)
    readLegend(line);
  while (at < lines.size()) {
    std::vector<Word> words = matrixWords(lines[at]);
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

Result<Matrix> import::parseMatrix(const ImportFile &file) {
  return MatrixParser(file).parse();
}
