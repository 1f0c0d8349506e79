//===- Teccl.cpp - Schedules of TE-CCL ------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Teccl.h"

#include "Json.h"
#include "UsedLinks.h"

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

using namespace sccl;
using namespace sccl::exchange;

bool exchange::isTeccl(std::string_view text) {
  return text.substr(0, 1 << 12).find("\"1-Epoch_Duration\"") !=
         std::string_view::npos;
}

namespace {
/// A chunk of a GPU.
struct Piece {
  unsigned from, number;
  auto operator<=>(const Piece &) const = default;
};

class TecclReader {
public:
  TecclReader(std::string_view text, Findings &findings)
      : json(text, findings), findings(findings) {}
  std::optional<FoundSchedule> read();

private:
  std::optional<unsigned> numberAfter(const Json::Value &at,
                                      const std::string &text,
                                      std::string_view what);
  void readDemands(const Json::Value &demands);
  std::optional<Collective> findCollective(const Json::Value &at);
  std::optional<Schedule> readFlows(const Json::Value &flows);
  void numberChunks(CollectiveKind kind);

  JsonReader json;
  Findings &findings;
  std::map<Piece, std::set<unsigned>> destinations;
  std::map<unsigned, unsigned> ranks; ///< by vertex
  std::map<Piece, unsigned> chunkOf;  ///< of the collective
};
} // namespace

/// The number in "GPU 3" or "Chunk 0".
std::optional<unsigned> TecclReader::numberAfter(const Json::Value &at,
                                                 const std::string &text,
                                                 std::string_view what) {
  unsigned number = 0;
  int end = 0;
  std::string format = std::string(what) + " %6u%n";
  if (std::sscanf(text.c_str(), format.c_str(), &number, &end) == 1 &&
      size_t(end) == text.size())
    return number;
  json.complain(at, "'" + text.substr(0, 40) + "', expected " +
                        std::string(what) + " and a number");
  return std::nullopt;
}

void TecclReader::readDemands(const Json::Value &demands) {
  if (!demands.isObject())
    return json.complain(demands, "\"6-Demand_Met\" is no object");
  std::set<unsigned> vertices;
  for (const std::string &source : demands.getMemberNames()) {
    const Json::Value &ofSource = demands[source];
    auto from = numberAfter(ofSource, source, "GPU");
    if (!from || !ofSource.isObject())
      continue;
    vertices.insert(*from);
    for (const std::string &destination : ofSource.getMemberNames()) {
      const Json::Value &chunks = ofSource[destination];
      auto to = numberAfter(chunks, destination, "GPU");
      if (!to || !chunks.isObject())
        continue;
      vertices.insert(*to);
      for (const std::string &chunk : chunks.getMemberNames())
        if (auto number = numberAfter(chunks, chunk, "Chunk"))
          destinations[{*from, *number}].insert(*to);
    }
  }
  for (unsigned vertex : vertices)
    ranks.try_emplace(vertex, unsigned(ranks.size()));
}

/// Chunks in the order of our collective: by source, and by destination where
/// each has its own.
void TecclReader::numberChunks(CollectiveKind kind) {
  std::vector<std::pair<std::pair<unsigned, unsigned>, Piece>> order;
  for (const auto &[piece, to] : destinations)
    order.push_back(
        {{piece.from, kind == CollectiveKind::AllToAll ? *to.begin() : 0},
         piece});
  std::ranges::sort(order);
  unsigned perPair = 0, next = 0;
  for (const auto &[ends, piece] : order)
    perPair += ends == order.front().first;
  for (size_t i = 0; i < order.size(); ++i) {
    // What a rank has for itself is in no file.
    if (kind == CollectiveKind::AllToAll && i % perPair == 0) {
      const auto &[from, to] = order[i].first;
      next = (ranks[from] * unsigned(ranks.size()) + ranks[to]) * perPair;
    }
    chunkOf[order[i].second] = next++;
  }
}

std::optional<Collective> TecclReader::findCollective(const Json::Value &at) {
  using enum CollectiveKind;
  auto count = unsigned(ranks.size());
  std::map<unsigned, unsigned> perSource;
  std::map<std::pair<unsigned, unsigned>, unsigned> perPair;
  bool areForAll = true, areForOne = true;
  for (const auto &[piece, to] : destinations) {
    ++perSource[piece.from];
    ++perPair[{piece.from, *to.begin()}];
    areForAll &= to.size() + 1 == count && !to.contains(piece.from);
    areForOne &= to.size() == 1 && !to.contains(piece.from);
  }
  auto areEqual = [](const auto &counts) {
    return std::ranges::all_of(counts, [&](const auto &each) {
      return each.second == counts.begin()->second;
    });
  };
  std::optional<CollectiveKind> kind;
  if (areForAll && perSource.size() == 1)
    kind = Broadcast;
  else if (areForAll && perSource.size() == count && areEqual(perSource))
    kind = AllGather;
  else if (areForOne && perPair.size() == size_t(count) * (count - 1) &&
           areEqual(perPair))
    kind = AllToAll;
  if (!kind) {
    json.complain(at, "the chunks are for neither an all_gather, a broadcast "
                      "nor an all_to_all");
    return std::nullopt;
  }
  unsigned chunks = *kind == AllToAll ? perPair.begin()->second * count
                                      : perSource.begin()->second;
  Result<Collective> collective = Collective::make(
      *kind, count, chunks, ranks.at(perSource.begin()->first));
  if (!collective) {
    json.complain(at, collective.error());
    return std::nullopt;
  }
  numberChunks(*kind);
  return *collective;
}

std::optional<Schedule> TecclReader::readFlows(const Json::Value &flows) {
  std::map<unsigned, Step> steps; ///< by epoch
  for (const Json::Value &flow : flows) {
    Piece piece{};
    unsigned src = 0, dst = 0, epoch = 0;
    std::string text = flow.isString() ? flow.asString() : "";
    if (std::sscanf(text.c_str(),
                    "Chunk %6u from %6u traveled over %6u->%6u in epoch %8u",
                    &piece.number, &piece.from, &src, &dst, &epoch) != 5) {
      json.complain(flow, "expected \"Chunk C from A traveled over I->J in "
                          "epoch E\"");
      continue;
    }
    auto chunk = chunkOf.find(piece);
    if (chunk == chunkOf.end())
      json.complain(flow, "nobody asks for chunk " +
                              std::to_string(piece.number) + " from " +
                              std::to_string(piece.from));
    else if (!ranks.contains(src) || !ranks.contains(dst) || src == dst)
      json.complain(flow, "a flow from " + std::to_string(src) + " to " +
                              std::to_string(dst) + ", which are not two GPUs");
    else
      steps[epoch].sends.push_back({chunk->second, ranks[src], ranks[dst]});
  }
  if (!findings.empty())
    return std::nullopt;
  Schedule schedule;
  for (auto &[epoch, step] : steps)
    schedule.steps.push_back(std::move(step));
  schedule.normalize();
  return schedule;
}

std::optional<FoundSchedule> TecclReader::read() {
  Json::Value root = json.parse();
  if (!findings.empty())
    return std::nullopt;
  readDemands(json.field(root, "6-Demand_Met"));
  const Json::Value &flows = json.list(root, "7-Flows");
  if (findings.empty() && destinations.empty())
    json.complain(root, "nobody asks for a chunk");
  if (!findings.empty())
    return std::nullopt;
  std::optional<Collective> collective = findCollective(root["6-Demand_Met"]);
  if (!collective)
    return std::nullopt;
  std::optional<Schedule> schedule = readFlows(flows);
  if (!schedule)
    return std::nullopt;
  Topology topology = usedLinks(*schedule, collective->numRanks());
  fitRounds(*schedule, topology);
  if (auto violation = checkSchedule(topology, *collective, *schedule)) {
    json.complain(flows, violation->message);
    return std::nullopt;
  }
  return FoundSchedule{std::move(topology), std::move(*collective),
                       std::move(*schedule)};
}

std::optional<FoundSchedule> exchange::parseTeccl(std::string_view text,
                                                  Findings &findings) {
  return TecclReader(text, findings).read();
}
