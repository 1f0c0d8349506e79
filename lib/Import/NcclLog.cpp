//===- NcclLog.cpp - Machines from NCCL_DEBUG=INFO ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With NCCL_DEBUG_SUBSYS=INIT,GRAPH each process writes the topology that it
// found, line by line, and processes of all hosts write at once:
//
//   node7:310:377 [0] NCCL INFO === System : maxBw 48.0 totalBw 370.8 ===
//   node7:310:377 [0] NCCL INFO CPU/0-0 (1/2/-1)
//   node7:310:377 [0] NCCL INFO ==========================================
//
// Communicators of some GPUs of a host have less, so that the one with the most
// GPUs is taken of each host.
//
//===----------------------------------------------------------------------===//

#include "NcclSystem.h"

#include "Readers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

std::vector<LogLine> import::splitNcclLog(StringRef text) {
  std::vector<LogLine> result;
  for (const Line &line : splitLines(text)) {
    constexpr StringRef mark = "NCCL INFO ";
    size_t at = line.text.find(mark.str());
    if (at == line.text.npos)
      result.push_back({"", line.text, line.place(0)});
    else
      result.push_back({StringRef(line.text).take_front(at).trim().str(),
                        line.text.substr(at + mark.size()),
                        line.place(at + mark.size())});
  }
  return result;
}

std::vector<unsigned> import::ringOfLine(StringRef text) {
  text = text.trim();
  if (!text.consume_front("Channel "))
    return {};
  auto [name, list] = text.split(" :");
  // "Channel 00/0 : 1[1] -> 0[0] via P2P" is a connection.
  if (!wholeNumber(name.split('/').first))
    return {};
  std::vector<unsigned> ring;
  llvm::SmallVector<StringRef> words;
  list.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (StringRef word : words) {
    std::optional<unsigned> rank = wholeNumber(word);
    if (!rank)
      return {};
    ring.push_back(*rank);
  }
  return ring;
}

bool import::beginsSystem(StringRef text) {
  // Before NCCL 2.11 it was maxWidth.
  return text.trim().starts_with("=== System : max");
}

namespace {
/// The lines of one process on its topology.
struct SystemLines {
  std::vector<LogLine> lines;
  bool isWhole = false;
};
} // namespace

/// "node7" of "[1,0]<stdout>:node7:310:377 [0]", which tools and NCCL itself
/// may put more before.
static std::string hostOf(StringRef writer) {
  StringRef place = writer.rsplit(" [").first;
  place = place.rsplit(':').first.rsplit(':').first;
  return place.substr(place.find_last_of(": >") + 1).str();
}

static Error noWholeSystem(const ImportFile &file, StringRef host) {
  return errorAt(file.path, {},
                 "the log has no whole topology" +
                     (host.empty() ? "" : " of host '" + host + "'") +
                     ", from '=== System : maxBw ...' to '====='; NCCL writes "
                     "it with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH");
}

/// The topologies of a log with their writers, in the order of their
/// beginnings.
static std::vector<std::pair<std::string, SystemLines>>
findSystems(const std::vector<LogLine> &lines) {
  std::vector<std::pair<std::string, SystemLines>> systems;
  std::map<std::string, size_t> latest; // by writer
  for (const LogLine &line : lines) {
    auto known = latest.find(line.writer);
    bool isWithin =
        known != latest.end() && !systems[known->second].second.isWhole;
    if (isWithin) {
      SystemLines &system = systems[known->second].second;
      system.isWhole = StringRef(line.text).trim().starts_with("=====");
      if (!system.isWhole)
        system.lines.push_back(line);
    } else if (beginsSystem(line.text)) {
      latest[line.writer] = systems.size();
      systems.push_back({line.writer, {}});
    }
  }
  return systems;
}

/// By host.
using Systems = std::map<std::string, NcclSystem>;

/// True if `system` is of a host that is in what another one has found: each
/// host of an NVLink domain finds all of it.
static bool isInDomain(const Systems::value_type &system,
                       const Systems &systems) {
  const auto &[host, own] = system;
  return llvm::any_of(systems, [&](const Systems::value_type &entry) {
    const auto &[otherHost, other] = entry;
    size_t more = other.reading.gpus.size(), here = own.reading.gpus.size();
    return other.reading.numBoxes > 1 &&
           std::ranges::includes(other.ranks, own.ranks) &&
           (more > here || (more == here && otherHost < host));
  });
}

Result<std::vector<Reading>> import::readNcclLog(const ImportFile &file) {
  std::vector<std::pair<std::string, SystemLines>> found =
      findSystems(splitNcclLog(file.text));
  std::map<std::string, bool> hosts; // whether one of its topologies is whole
  Systems systems;
  for (auto &[writer, system] : found) {
    std::string host = hostOf(writer);
    hosts[host] |= system.isWhole;
    if (!system.isWhole)
      continue;
    Result<NcclSystem> read = readNcclSystem(file, system.lines);
    if (!read)
      return Error{read.error()};
    auto known = systems.try_emplace(host, *read).first;
    if (known->second.reading.gpus.size() < read->reading.gpus.size())
      known->second = std::move(*read);
  }
  if (hosts.empty())
    return noWholeSystem(file, "");
  for (const auto &[writer, system] : found)
    if (!hosts[hostOf(writer)]) {
      Result<NcclSystem> cut = readNcclSystem(file, system.lines);
      return cut ? noWholeSystem(file, hostOf(writer)) : Error{cut.error()};
    }
  std::vector<NcclSystem> sorted;
  for (const Systems::value_type &system : systems)
    if (!isInDomain(system, systems))
      sorted.push_back(system.second);
  auto leastRank = [](const NcclSystem &system) {
    return system.ranks.empty() ? ~0u : *system.ranks.begin();
  };
  llvm::stable_sort(sorted, [&](const NcclSystem &a, const NcclSystem &b) {
    return leastRank(a) < leastRank(b);
  });
  std::vector<Reading> readings;
  for (NcclSystem &system : sorted) {
    if (!readings.empty()) // they are the same
      system.reading.assumptions.clear();
    readings.push_back(std::move(system.reading));
  }
  return readings;
}
