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
// The first whole one of each host is taken.
//
//===----------------------------------------------------------------------===//

#include "NcclSystem.h"

#include "Readers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

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

/// The topologies of a log: of each process the first one, in their order.
static std::vector<std::pair<std::string, SystemLines>>
findSystems(const std::vector<LogLine> &lines) {
  std::vector<std::pair<std::string, SystemLines>> systems;
  std::map<std::string, size_t> systemOf;
  for (const LogLine &line : lines) {
    auto known = systemOf.find(line.writer);
    if (known == systemOf.end()) {
      if (beginsSystem(line.text)) {
        systemOf[line.writer] = systems.size();
        systems.push_back({line.writer, {}});
      }
      continue;
    }
    SystemLines &system = systems[known->second].second;
    if (system.isWhole)
      continue;
    system.isWhole = StringRef(line.text).trim().starts_with("=====");
    if (!system.isWhole)
      system.lines.push_back(line);
  }
  return systems;
}

Result<std::vector<Reading>> import::readNcclLog(const ImportFile &file) {
  std::vector<std::pair<std::string, SystemLines>> found =
      findSystems(splitNcclLog(file.text));
  // Whether a topology of a host is whole.
  std::map<std::string, bool> hosts;
  std::vector<NcclSystem> systems;
  for (auto &[writer, system] : found) {
    bool &isRead = hosts[hostOf(writer)];
    if (isRead || !system.isWhole)
      continue;
    isRead = true;
    Result<NcclSystem> read = readNcclSystem(file, system.lines);
    if (!read)
      return Error{read.error()};
    // Each host of an NVLink domain has found all of it.
    bool isKnown = llvm::any_of(systems, [&](const NcclSystem &other) {
      return other.reading.numBoxes > 1 && other.ranks == read->ranks;
    });
    if (!isKnown)
      systems.push_back(std::move(*read));
  }
  if (hosts.empty())
    return noWholeSystem(file, "");
  for (const auto &[writer, system] : found)
    if (!hosts[hostOf(writer)]) {
      Result<NcclSystem> cut = readNcclSystem(file, system.lines);
      return cut ? noWholeSystem(file, hostOf(writer)) : Error{cut.error()};
    }
  auto leastRank = [](const NcclSystem &system) {
    return system.ranks.empty() ? ~0u : *system.ranks.begin();
  };
  llvm::stable_sort(systems, [&](const NcclSystem &a, const NcclSystem &b) {
    return leastRank(a) < leastRank(b);
  });
  std::vector<Reading> readings;
  for (NcclSystem &system : systems) {
    if (!readings.empty()) // they are the same
      system.reading.assumptions.clear();
    readings.push_back(std::move(system.reading));
  }
  return readings;
}
