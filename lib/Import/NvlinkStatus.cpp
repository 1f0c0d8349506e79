//===- NvlinkStatus.cpp - nvidia-smi nvlink -s and -R ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Readers.h"
#include "Text.h"

#include "sccl/Machine/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

namespace {
class StatusReader {
public:
  explicit StatusReader(const ImportFile &file)
      : file(file), reading{file.path, ImportFormat::NvlinkStatus,
                            "nvidia-smi nvlink -s", "nvidia"} {}
  Result<Reading> run();

private:
  std::optional<Error> addGpu(const Line &line, StringRef text);
  std::optional<Error> addLink(const Line &line, StringRef text);
  void addRemotePairs();
  void addExtras();

  const ImportFile &file;
  Reading reading;
  std::set<std::string> links;                          ///< of the latest GPU
  std::vector<std::map<std::string, unsigned>> remotes; ///< bus ids, by GPU
};
} // namespace

/// "GPU 3: NVIDIA H100 PCIe (UUID: ...)".
std::optional<Error> StatusReader::addGpu(const Line &line, StringRef text) {
  auto [head, name] = text.split(':');
  std::optional<unsigned> number = numberAfter("GPU ", head.trim());
  if (!number)
    return std::nullopt;
  for (const DeviceReading &gpu : reading.gpus)
    if (gpu.number == *number)
      return errorAt(file.path, line.place(0),
                     "GPU " + llvm::Twine(*number) + " is listed twice");
  if (reading.gpus.size() >= maxGpusOfHost)
    return errorAt(file.path, line.place(0), "too many GPUs for one host");
  std::string chip = name.split('(').first.trim().str();
  reading.gpus.push_back(
      {*number, ("GPU" + llvm::Twine(*number)).str(), "", chip});
  reading.status.push_back({chip});
  remotes.emplace_back();
  links.clear();
  return std::nullopt;
}

/// "Link 3: 26.562 GB/s", "Link 4: <inactive>" or "Link 0: Remote Device ...".
std::optional<Error> StatusReader::addLink(const Line &line, StringRef text) {
  auto [head, state] = text.split(':');
  Place place = line.place(line.text.find("Link"));
  if (reading.status.empty())
    return errorAt(file.path, place, "a link without a line of a GPU before");
  if (!links.insert(head.trim().str()).second)
    return errorAt(file.path, place,
                   head.trim() + " of this GPU is listed twice");
  state = state.trim();
  LinkStatusReading &gpu = reading.status.back();
  if (state.consume_front("Remote Device ")) {
    reading.formatDetail = "nvidia-smi nvlink -R";
    ++gpu.active;
    ++remotes.back()[normalizedBusId(state.substr(0, state.rfind(": ")))];
    return std::nullopt;
  }
  if (state.contains_insensitive("inactive")) {
    ++gpu.inactive;
    return std::nullopt;
  }
  auto [digits, unit] = state.split(' ');
  Result<Rational> rate = parseDecimal(digits.str());
  if (!rate || unit.trim() != "GB/s" || *rate <= Rational(0))
    return errorAt(file.path, place,
                   "expected a rate in GB/s or <inactive>, got '" + state +
                       "'");
  ++gpu.active;
  gpu.perLink = gpu.perLink ? std::min(*gpu.perLink, *rate) : *rate;
  return std::nullopt;
}

/// Two GPUs name each other; of more, bus ids alone do not tell who is who.
void StatusReader::addRemotePairs() {
  if (reading.gpus.size() != 2 || remotes[0].size() != 1 ||
      remotes[1].size() != 1)
    return;
  auto &[ofSecond, links] = *remotes[0].begin();
  auto &[ofFirst, back] = *remotes[1].begin();
  if (ofFirst == ofSecond || links != back)
    return;
  reading.gpus[0].busId = ofFirst;
  reading.gpus[1].busId = ofSecond;
  reading.pairs = {{0, 1, links}};
  reading.hasSwitch = false;
  reading.noMachine.clear();
}

void StatusReader::addExtras() {
  llvm::json::Array active, inactive, rates;
  std::set<Rational> distinct;
  for (const LinkStatusReading &gpu : reading.status) {
    active.push_back(gpu.active);
    inactive.push_back(gpu.inactive);
    if (gpu.perLink)
      distinct.insert(*gpu.perLink);
  }
  for (const Rational &rate : distinct)
    rates.push_back(rate.toDouble());
  reading.extras["active_links"] = std::move(active);
  reading.extras["inactive_links"] = std::move(inactive);
  reading.extras["gbps_per_link"] = std::move(rates);
}

Result<Reading> StatusReader::run() {
  for (const Line &line : splitLines(file.text)) {
    StringRef text = StringRef(line.text).trim();
    std::optional<Error> error;
    if (text.starts_with("GPU "))
      error = addGpu(line, text);
    else if (text.starts_with("Link "))
      error = addLink(line, text);
    if (error)
      return *error;
  }
  if (reading.gpus.empty())
    return errorAt(file.path, {},
                   "there is no line of a GPU, such as "
                   "'GPU 0: NVIDIA H100 ...'");
  reading.numGpus = reading.gpus.size();
  reading.noMachine =
      reading.formatDetail.ends_with("-R")
          ? "it says which bus ids links lead to, not which GPU has which; "
            "give the output of nvidia-smi topo -m beside it"
          : "it says how fast links are, not where they lead; give the output "
            "of nvidia-smi topo -m beside it";
  addRemotePairs();
  addExtras();
  return std::move(reading);
}

Result<Reading> import::readNvlinkStatus(const ImportFile &file) {
  return StatusReader(file).run();
}
