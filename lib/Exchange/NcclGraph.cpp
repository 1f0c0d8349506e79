//===- NcclGraph.cpp - Rings for NCCL -------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/NcclGraph.h"

#include <pugixml.hpp>

#include <algorithm>
#include <map>
#include <sstream>

using namespace sccl;
using namespace sccl::exchange;

/// The ranks in the order in which a chunk visits them, from rank 0 on, given
/// where each rank sends it; empty if they are no ring through all.
static std::vector<unsigned> ringOf(std::map<unsigned, unsigned> next,
                                    unsigned ranks) {
  if (next.size() + 1 == ranks) {
    // The way ends where it began.
    unsigned first = 0, last = 0;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      if (!next.contains(rank))
        last = rank;
      if (std::ranges::none_of(
              next, [&](const auto &hop) { return hop.second == rank; }))
        first = rank;
    }
    next[last] = first;
  }
  std::vector<unsigned> ring;
  unsigned rank = 0;
  do {
    ring.push_back(rank);
    auto hop = next.find(rank);
    if (hop == next.end() || ring.size() > ranks)
      return {};
    rank = hop->second;
  } while (rank != 0);
  return ring.size() == ranks ? ring : std::vector<unsigned>();
}

static Result<std::vector<std::vector<unsigned>>>
ringsOf(const Collective &collective, const Schedule &schedule) {
  std::map<unsigned, std::map<unsigned, unsigned>> nextOf; ///< by chunk, rank
  auto refuse = [](unsigned chunk) {
    return Error{"the way of chunk " + std::to_string(chunk) +
                 " is no ring through all ranks"};
  };
  for (const Step &step : schedule.steps)
    for (const Send &send : step.sends) {
      auto [hop, isNew] = nextOf[send.chunk].try_emplace(send.src, send.dst);
      if (!isNew && hop->second != send.dst)
        return refuse(send.chunk);
    }
  std::vector<std::vector<unsigned>> rings;
  for (const auto &[chunk, next] : nextOf) {
    std::vector<unsigned> ring = ringOf(next, collective.numRanks());
    if (ring.empty())
      return refuse(chunk);
    if (std::ranges::find(rings, ring) == rings.end())
      rings.push_back(std::move(ring));
  }
  return rings;
}

Result<std::string> exchange::toNcclGraph(const Collective &collective,
                                          const Schedule &schedule,
                                          double gigabytesPerSecond) {
  Result<std::vector<std::vector<unsigned>>> rings =
      ringsOf(collective, schedule);
  if (!rings)
    return Error{rings.error()};
  if (rings->empty())
    return Error{"the schedule sends nothing"};
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("graphs");
  root.append_attribute("version") = 1;
  pugi::xml_node graph = root.append_child("graph");
  auto add = [&](const char *name, auto value) {
    graph.append_attribute(name) = value;
  };
  add("id", 0);
  add("pattern", 4);
  add("crossnic", 0);
  add("nchannels", unsigned(rings->size()));
  add("speedintra", gigabytesPerSecond);
  add("speedinter", gigabytesPerSecond);
  add("latencyinter", 0);
  add("typeintra", "NVL");
  add("typeinter", "PIX");
  add("samechannels", 0);
  for (const std::vector<unsigned> &ring : *rings) {
    pugi::xml_node channel = graph.append_child("channel");
    for (unsigned rank : ring)
      channel.append_child("gpu").append_attribute("dev") = rank;
  }
  std::ostringstream text;
  document.save(text, "  ", pugi::format_indent | pugi::format_no_declaration);
  return text.str();
}
