//===- AmdXgmi.cpp - amd-smi xgmi -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table with the rate of the links of each GPU and how much went over them to
// each other one, and one with the states of the links: U for up, D for down, X
// for disabled, joined by / where there are several to one GPU. Before ROCm 7
// the second one had a column for each link and did not say where it leads.
//
//===----------------------------------------------------------------------===//

#include "Json.h"
#include "SmiTables.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
/// What is said of one GPU; lists are by column.
struct XgmiGpu {
  DeviceReading device;
  std::optional<Rational> laneRate, linkRate; ///< Gb/s
  std::vector<bool> isLinked = {};            ///< something was counted
  std::vector<std::string> states = {};
};

class XgmiReader {
public:
  explicit XgmiReader(const ImportFile &file) : file(file) {}
  Result<Reading> run();

private:
  enum class Table { None, Metric, Ports, Status };
  std::optional<Error> readText();
  std::optional<Error> readLine(const Line &line);
  void readHeader(const std::vector<Word> &words);
  std::optional<Error> startGpu(const std::vector<Word> &words);
  std::optional<Error> readCounts(const std::vector<Word> &words);
  std::optional<Error> readStates(XgmiGpu &gpu, std::vector<Word> words);
  std::optional<Error> readJson();
  std::optional<Error> readJsonGpu(const llvm::json::Object &entry);
  void readJsonStates(const llvm::json::Object &entry);
  XgmiGpu *find(StringRef name);
  Result<Reading> makeReading() const;
  void addPair(Reading &reading, unsigned a, unsigned b) const;

  const ImportFile &file;
  std::vector<XgmiGpu> gpus;
  Table table = Table::None;
  size_t numColumns = 0; ///< GPUs of the table
};
} // namespace

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// The numbers before "Gb/s", however they are run together with what follows.
static std::vector<Rational> ratesIn(StringRef text) {
  std::vector<Rational> rates;
  for (size_t at = text.find("Gb/s"); at != text.npos;
       at = text.find("Gb/s", at + 1)) {
    StringRef before = text.substr(0, at).rtrim();
    size_t begin = before.find_last_not_of("0123456789.");
    StringRef digits = before.substr(begin == before.npos ? 0 : begin + 1);
    Result<Rational> rate = parseDecimal(digits.str());
    // Drivers write all ones where they know nothing.
    bool isKnown = rate && *rate > Rational(0) && *rate < Rational(65535);
    rates.push_back(isKnown ? *rate : Rational(0));
  }
  return rates;
}

static std::optional<Rational> orNothing(const Rational &rate) {
  return rate > Rational(0) ? std::optional(rate) : std::nullopt;
}

XgmiGpu *XgmiReader::find(StringRef name) {
  for (XgmiGpu &gpu : gpus)
    if (gpu.device.name == name)
      return &gpu;
  return nullptr;
}

/// Counts the columns that are of GPUs.
void XgmiReader::readHeader(const std::vector<Word> &words) {
  numColumns = llvm::count_if(words, [](const Word &word) {
    return isBusId(word.text) || numberAfter("GPU", word.text);
  });
}

/// "GPU0 0000:0c:00.0 ...", the first line of a GPU.
std::optional<Error> XgmiReader::startGpu(const std::vector<Word> &words) {
  if (find(words[0].text))
    return std::nullopt;
  if (gpus.size() >= maxGpusOfHost)
    return errorAt(file.path, words[0].place, "too many GPUs for one host");
  DeviceReading device = {*numberAfter("GPU", words[0].text), words[0].text};
  if (words.size() > 1 && isBusId(words[1].text))
    device.busId = normalizedBusId(words[1].text);
  gpus.push_back({device, {}, {}});
  return std::nullopt;
}

/// "Read N/A 1.123 PB 2 KB": a cell is N/A, or a number and its unit.
std::optional<Error> XgmiReader::readCounts(const std::vector<Word> &words) {
  XgmiGpu &gpu = gpus.back();
  gpu.isLinked.clear();
  for (size_t i = 1; i < words.size(); ++i) {
    bool isNumber = llvm::isDigit(words[i].text[0]);
    gpu.isLinked.push_back(isNumber);
    i += isNumber && i + 1 < words.size() &&
         llvm::isAlpha(words[i + 1].text[0]) && words[i + 1].text != "N/A";
  }
  if (gpu.isLinked.size() == numColumns)
    return std::nullopt;
  return errorAt(file.path, words[0].place,
                 "row " + words[0].text + " of " + gpu.device.name + " has " +
                     llvm::Twine(gpu.isLinked.size()) + " cells for " +
                     llvm::Twine(numColumns) + " columns; was the output cut?");
}

std::optional<Error> XgmiReader::readStates(XgmiGpu &gpu,
                                            std::vector<Word> words) {
  words.erase(words.begin(),
              words.begin() +
                  (words.size() > 1 && isBusId(words[1].text) ? 2 : 1));
  for (const Word &word : words) {
    if (word.text != "SELF" && word.text != "N/A" &&
        StringRef(word.text).find_first_not_of("UDX/") != StringRef::npos)
      return errorAt(file.path, word.place,
                     "'" + word.text +
                         "' is no state of links, expected U, D, X, SELF or "
                         "N/A");
    gpu.states.push_back(word.text);
  }
  if (numColumns == 0 || words.size() == numColumns)
    return std::nullopt;
  return errorAt(file.path, words.empty() ? Place() : words[0].place,
                 "the row of " + gpu.device.name + " has " +
                     llvm::Twine(words.size()) + " states for " +
                     llvm::Twine(numColumns) + " columns; was the output cut?");
}

std::optional<Error> XgmiReader::readLine(const Line &line) {
  std::vector<Word> words = line.words();
  std::string lower = StringRef(line.text).trim().lower();
  StringRef text = lower;
  if (words.empty())
    return std::nullopt;
  for (auto [title, next] : {std::pair("link metric table", Table::Metric),
                             {"gpu link port status", Table::Ports},
                             {"xgmi link status", Table::Status}})
    if (text.contains(title)) {
      table = next;
      return std::nullopt;
    }
  // Any other title: what follows is not of xgmi.
  if (text.ends_with("table:") || text.starts_with("legend"))
    table = Table::None;
  if (table == Table::None || table == Table::Ports)
    return std::nullopt;
  if (words[0].text == "bdf") {
    readHeader(words);
    return std::nullopt;
  }
  if (numberAfter("GPU", words[0].text)) {
    if (std::optional<Error> error = startGpu(words))
      return error;
    XgmiGpu &gpu = *find(words[0].text);
    if (table == Table::Status)
      return readStates(gpu, std::move(words));
    std::vector<Rational> rates = ratesIn(line.text);
    if (rates.size() > 1) {
      gpu.laneRate = orNothing(rates[0]);
      gpu.linkRate = orNothing(rates[1]);
    }
    return std::nullopt;
  }
  bool isCount = words[0].text == "Read" || words[0].text == "Write";
  return isCount && !gpus.empty() ? readCounts(words) : std::nullopt;
}

std::optional<Error> XgmiReader::readText() {
  for (const Line &line : splitLines(file.text))
    if (std::optional<Error> error = readLine(line))
      return error;
  if (!gpus.empty())
    return std::nullopt;
  return errorAt(file.path, {},
                 "there is no row GPU0 with a rate or states of links; was "
                 "the output cut?");
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// {"value": 32, "unit": "Gb/s"}, "32 Gb/s" or "N/A".
static std::optional<Rational> rateOf(const llvm::json::Value *value) {
  if (!value)
    return std::nullopt;
  std::string text;
  if (auto whole = value->getAsString())
    text = whole->str();
  else if (const llvm::json::Object *object = value->getAsObject())
    if (auto number = object->getInteger("value"))
      text = std::to_string(*number) +
             object->getString("unit").value_or("Gb/s").str();
  std::vector<Rational> rates = ratesIn(text);
  return rates.empty() ? std::nullopt : orNothing(rates[0]);
}

std::optional<Error> XgmiReader::readJsonGpu(const llvm::json::Object &entry) {
  auto number = entry.getInteger("gpu");
  if (!number || *number < 0 || *number > maxGpusOfHost ||
      gpus.size() >= maxGpusOfHost)
    return errorAt(file.path, placeOfKey(file.text, "gpu", gpus.size()),
                   "expected the number of a GPU");
  DeviceReading device = {unsigned(*number), "GPU" + std::to_string(*number)};
  if (auto id = entry.getString("bdf"))
    device.busId = normalizedBusId(*id);
  XgmiGpu gpu = {device, {}, {}};
  if (const llvm::json::Object *metrics = entry.getObject("link_metrics")) {
    gpu.laneRate = rateOf(metrics->get("bit_rate"));
    gpu.linkRate = rateOf(metrics->get("max_bandwidth"));
    if (const llvm::json::Array *links = metrics->getArray("links"))
      for (const llvm::json::Value &link : *links) {
        const llvm::json::Object *object = link.getAsObject();
        const llvm::json::Value *read = object ? object->get("read") : nullptr;
        gpu.isLinked.push_back(read && read->getAsString() != "N/A");
      }
  }
  gpus.push_back(std::move(gpu));
  return std::nullopt;
}

void XgmiReader::readJsonStates(const llvm::json::Object &entry) {
  auto number = entry.getInteger("gpu");
  XgmiGpu *gpu = number ? find("GPU" + std::to_string(*number)) : nullptr;
  const llvm::json::Array *states = entry.getArray("link_status");
  if (gpu && states)
    for (const llvm::json::Value &state : *states)
      gpu->states.push_back(state.getAsString().value_or("N/A").str());
}

/// Calls `visit` for each object in arrays of arrays.
static std::optional<Error> forEachObject(
    const llvm::json::Value *value,
    llvm::function_ref<std::optional<Error>(const llvm::json::Object &)>
        visit) {
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array)
    return std::nullopt;
  for (const llvm::json::Value &item : *array) {
    const llvm::json::Object *object = item.getAsObject();
    std::optional<Error> error =
        object ? visit(*object) : forEachObject(&item, visit);
    if (error)
      return error;
  }
  return std::nullopt;
}

std::optional<Error> XgmiReader::readJson() {
  Result<llvm::json::Value> value = parseJson(file);
  if (!value)
    return Error{value.error()};
  const llvm::json::Object *root = value->getAsObject();
  auto addGpu = [&](const llvm::json::Object &entry) {
    return readJsonGpu(entry);
  };
  if (std::optional<Error> error =
          forEachObject(root ? root->get("xgmi_metric") : &*value, addGpu))
    return error;
  if (gpus.empty())
    return errorAt(file.path, {},
                   "expected \"xgmi_metric\", a list with an entry for each "
                   "GPU");
  numColumns = gpus.size();
  return forEachObject(root ? root->get("link_status") : nullptr,
                       [&](const llvm::json::Object &entry) {
                         readJsonStates(entry);
                         return std::optional<Error>();
                       });
}

//===----------------------------------------------------------------------===//
// From the tables to a reading
//===----------------------------------------------------------------------===//

/// GB/s of one link. Tools round: 38 Gb/s are the 38.4 of MI350, the only rate
/// of xGMI near it.
static std::optional<Quantity> rateOfLink(const XgmiGpu &gpu) {
  if (!gpu.linkRate)
    return std::nullopt;
  Rational gigabits = *gpu.linkRate;
  std::string source = "max_bandwidth of the file";
  if (gpu.laneRate == Rational(38) && gigabits > Rational(600) &&
      gigabits < Rational(620)) {
    gigabits = Rational(6144, 10);
    source += ", 38.4 Gb/s a lane, rounded there";
  }
  auto gigabytes = quotient(gigabits, 8);
  return gigabytes ? std::optional(Quantity{*gigabytes, source}) : std::nullopt;
}

void XgmiReader::addPair(Reading &reading, unsigned a, unsigned b) const {
  // Each of the two says how many links are up; nothing if it does not know.
  std::optional<unsigned> up;
  unsigned down = 0;
  bool isCounted = false;
  for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
    const XgmiGpu &gpu = gpus[from];
    isCounted |= gpu.isLinked.size() == gpus.size() && gpu.isLinked[to];
    if (gpu.states.size() != gpus.size() || numColumns == 0 ||
        StringRef(gpu.states[to]).find_first_of("UD") == StringRef::npos)
      continue;
    auto count = unsigned(StringRef(gpu.states[to]).count('U'));
    up = std::min(up.value_or(count), count);
    down = std::max<unsigned>(down, StringRef(gpu.states[to]).count('D'));
  }
  std::string names =
      gpus[a].device.name + " and " + gpus[b].device.name + ": ";
  if (down)
    reading.warnings.push_back(names + std::to_string(down) +
                               " links are down: not counted");
  if (up == 0u || (!up && !isCounted))
    return;
  std::optional<Quantity> rate = rateOfLink(gpus[a]);
  if (std::optional<Quantity> back = rateOfLink(gpus[b]))
    if (!rate || back->value < rate->value)
      rate = back;
  if (rate)
    rate->value = product(rate->value, up.value_or(1)).value_or(rate->value);
  reading.pairs->push_back({a, b, up, rate});
}

Result<Reading> XgmiReader::makeReading() const {
  Reading reading = {file.path, ImportFormat::AmdXgmi, "amd-smi xgmi", "amd"};
  for (const XgmiGpu &gpu : gpus)
    reading.gpus.push_back(gpu.device);
  reading.numGpus = reading.gpus.size();
  reading.pairs.emplace();
  for (unsigned a = 0; a < gpus.size(); ++a)
    for (unsigned b = a + 1; b < gpus.size(); ++b)
      addPair(reading, a, b);
  bool isAssumed = llvm::any_of(
      *reading.pairs, [](const LinkReading &pair) { return !pair.links; });
  if (isAssumed)
    reading.assumptions.push_back(
        "one XGMI link for each pair: the file does not count them");
  for (const XgmiGpu &gpu : gpus)
    if (numColumns == 0 && llvm::is_contained(gpu.states, "D"))
      reading.warnings.push_back(
          gpu.device.name + " has " +
          std::to_string(llvm::count(gpu.states, "D")) +
          " links that are down; the file does not say where they lead");
  llvm::json::Array rates;
  for (const XgmiGpu &gpu : gpus)
    if (std::optional<Quantity> rate = rateOfLink(gpu))
      rates.push_back(rate->value.toDouble());
  reading.extras["gbps_per_link"] = std::move(rates);
  if (reading.pairs->empty())
    reading.noMachine = "no XGMI link of it is up; amd-smi topology says how "
                        "GPUs are joined";
  addNumaNodes(reading, {});
  return reading;
}

Result<Reading> XgmiReader::run() {
  StringRef text = StringRef(file.text).ltrim();
  bool isJson = text.starts_with("{") || text.starts_with("[");
  if (std::optional<Error> error = isJson ? readJson() : readText())
    return *error;
  return makeReading();
}

Result<Reading> import::readAmdXgmi(const ImportFile &file) {
  return XgmiReader(file).run();
}
