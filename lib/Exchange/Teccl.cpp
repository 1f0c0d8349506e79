//===- Teccl.cpp - Schedules of TE-CCL ------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Teccl.h"

#include "TecclVolumes.h"
#include "UsedLinks.h"

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

bool exchange::isTeccl(std::string_view text) {
  return text.substr(0, 1 << 12).find("\"1-Epoch_Duration\"") !=
         std::string_view::npos;
}

namespace {
class TecclReader {
public:
  TecclReader(std::string_view text, Findings &findings)
      : json(text, findings), findings(findings) {}
  std::optional<FoundSchedule> read();

private:
  /// A flow, "Chunk C from A traveled over I->J in epoch E".
  struct Flow {
    TecclPiece piece;
    TecclHop hop;
  };

  std::optional<unsigned> numberAfter(const Json::Value &at,
                                      const std::string &text,
                                      std::string_view what);
  void readDemands(const Json::Value &demands);
  std::optional<Flow> readFlow(const Json::Value &value, bool hasVolumes);
  std::optional<Collective> makeCollective(const Json::Value &at,
                                           unsigned parts);
  void addSends(const Json::Value &at, const Flow &flow, unsigned first,
                unsigned count);
  std::optional<Collective> readWhole(const Json::Value &root);
  std::optional<Collective> readCut(const Json::Value &root);
  void checkHops(const Json::Value &flows,
                 const std::vector<TecclDelivery> &deliveries);
  std::vector<std::string> notes() const;

  JsonReader json;
  Findings &findings;
  TecclDemands demands;
  std::map<unsigned, Step> steps; ///< by epoch
  std::set<unsigned> passed;      ///< vertices that chunks only pass through
  unsigned highest = 0;           ///< vertex
  TecclCut cut;
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

void TecclReader::readDemands(const Json::Value &met) {
  if (!met.isObject())
    return json.complain(met, "\"6-Demand_Met\" is no object");
  for (const std::string &source : met.getMemberNames()) {
    const Json::Value &ofSource = met[source];
    auto from = numberAfter(ofSource, source, "GPU");
    if (!from || !ofSource.isObject())
      continue;
    for (const std::string &destination : ofSource.getMemberNames()) {
      const Json::Value &chunks = ofSource[destination];
      auto to = numberAfter(chunks, destination, "GPU");
      if (!to || !chunks.isObject())
        continue;
      for (const std::string &chunk : chunks.getMemberNames())
        if (auto number = numberAfter(chunks, chunk, "Chunk"))
          demands.add({*from, *number}, *to);
    }
  }
}

std::optional<Collective> TecclReader::makeCollective(const Json::Value &at,
                                                      unsigned parts) {
  if (findings.empty() && demands.empty())
    json.complain(at, "nobody asks for a chunk");
  if (!findings.empty())
    return std::nullopt;
  Result<Collective> collective = demands.collective(parts);
  if (collective)
    return std::move(*collective);
  json.complain(at, collective.error());
  return std::nullopt;
}

std::optional<TecclReader::Flow> TecclReader::readFlow(const Json::Value &value,
                                                       bool hasVolumes) {
  Flow flow{{}, {0, 0, 0, 1}};
  auto &[piece, hop] = flow;
  std::string text = value.isString() ? value.asString() : "";
  bool isRead =
      hasVolumes
          ? std::sscanf(text.c_str(),
                        "Chunk %6u from %6u traveled over %6u->%6u with volume "
                        "%24lf in epoch %8u",
                        &piece.number, &piece.from, &hop.src, &hop.dst,
                        &hop.volume, &hop.epoch) == 6
          : std::sscanf(text.c_str(),
                        "Chunk %6u from %6u traveled over %6u->%6u in epoch "
                        "%8u",
                        &piece.number, &piece.from, &hop.src, &hop.dst,
                        &hop.epoch) == 5;
  if (!isRead) {
    json.complain(value, std::string("expected \"Chunk C from A traveled over "
                                     "I->J ") +
                             (hasVolumes ? "with volume V " : "") +
                             "in epoch E\"");
    return std::nullopt;
  }
  highest = std::max({highest, hop.src, hop.dst});
  // "via switches 0 -> 17".
  size_t via = text.find("via switches");
  for (size_t i = text.find_first_of("0123456789", via); i < text.size();
       i = text.find_first_of("0123456789", i)) {
    char *end = nullptr;
    unsigned long vertex = std::strtoul(&text[i], &end, 10);
    passed.insert(unsigned(std::min<unsigned long>(vertex, 999999)));
    i = size_t(end - text.data());
  }
  return flow;
}

/// The sends of `count` chunks from `first` on.
void TecclReader::addSends(const Json::Value &at, const Flow &flow,
                           unsigned first, unsigned count) {
  const TecclHop &hop = flow.hop;
  std::optional<unsigned> src = demands.rankOf(hop.src),
                          dst = demands.rankOf(hop.dst);
  if (!src || !dst || *src == *dst)
    return json.complain(at, "a flow from " + std::to_string(hop.src) + " to " +
                                 std::to_string(hop.dst) +
                                 ", which are not two GPUs");
  for (unsigned i = 0; i < count; ++i)
    steps[hop.epoch].sends.push_back({first + i, *src, *dst});
}

/// A file whose flows move whole chunks.
std::optional<Collective> TecclReader::readWhole(const Json::Value &root) {
  readDemands(root["6-Demand_Met"]);
  const Json::Value &flows = json.list(root, "7-Flows");
  std::optional<Collective> collective =
      makeCollective(root["6-Demand_Met"], 1);
  if (!collective)
    return std::nullopt;
  for (const Json::Value &value : flows) {
    std::optional<Flow> flow = readFlow(value, false);
    if (!flow)
      continue;
    if (auto chunk = demands.chunkOf(flow->piece))
      addSends(value, *flow, *chunk, 1);
    else
      json.complain(value, "nobody asks for chunk " +
                               std::to_string(flow->piece.number) + " from " +
                               std::to_string(flow->piece.from));
  }
  return collective;
}

/// Says which hops of paths are no flows; equal flows are there once.
void TecclReader::checkHops(const Json::Value &flows,
                            const std::vector<TecclDelivery> &deliveries) {
  auto keyOf = [](TecclPiece piece, const TecclHop &hop) {
    return std::tuple(piece, hop.epoch, hop.src, hop.dst,
                      std::llround(std::clamp(hop.volume, 0.0, 1e6) * 1e6));
  };
  std::set<decltype(keyOf({}, {}))> there;
  for (const Json::Value &value : flows)
    if (auto flow = readFlow(value, true))
      there.insert(keyOf(flow->piece, flow->hop));
  for (const TecclDelivery &delivery : deliveries)
    for (const std::vector<TecclHop> &path : delivery.paths)
      for (const TecclHop &hop : path)
        if (!there.contains(keyOf(delivery.piece, hop)))
          json.complain(
              flows,
              "no flow has chunk " + std::to_string(delivery.piece.number) +
                  " from " + std::to_string(delivery.piece.from) + " over " +
                  std::to_string(hop.src) + "->" + std::to_string(hop.dst) +
                  " in epoch " + std::to_string(hop.epoch) +
                  ", with the volume of a path");
}

/// A file whose flows move parts of chunks. It does not say who asks for what,
/// but for the names of the paths.
std::optional<Collective> TecclReader::readCut(const Json::Value &root) {
  bool isOlder = root.isMember("6-Flows");
  const Json::Value &flows = json.list(root, isOlder ? "6-Flows" : "7-Flows");
  const Json::Value &paths =
      json.field(root, isOlder ? "7-chunk paths" : "8-Chunk paths");
  if (!findings.empty())
    return std::nullopt;
  std::vector<TecclDelivery> deliveries = readTecclPaths(json, paths);
  for (const TecclDelivery &delivery : deliveries)
    demands.add(delivery.piece, delivery.to);
  if (findings.empty())
    checkHops(flows, deliveries);
  if (!findings.empty())
    return std::nullopt;
  cut = tecclCut(deliveries);
  std::optional<Collective> collective = makeCollective(paths, cut.parts);
  if (!collective)
    return std::nullopt;
  for (const TecclDelivery &delivery : deliveries) {
    unsigned next = *demands.chunkOf(delivery.piece);
    std::vector<unsigned> counts = partsOf(delivery, cut.parts);
    for (size_t i = 0; i < counts.size(); next += counts[i++])
      for (const TecclHop &hop : delivery.paths[i])
        addSends(paths, {delivery.piece, hop}, next, counts[i]);
  }
  return collective;
}

/// How volumes were rounded. And vertices that are no rank: which of them are
/// switches is in no file of this kind, and TE-CCL itself takes a GPU with the
/// number 0 for one in places.
std::vector<std::string> TecclReader::notes() const {
  constexpr size_t mostNamed = 8;
  std::set<unsigned> others = passed;
  for (unsigned vertex = 0; vertex < highest; ++vertex)
    others.insert(vertex);
  std::erase_if(others,
                [&](unsigned vertex) { return demands.rankOf(vertex); });
  std::vector<std::string> result;
  if (!cut.isExact)
    result.push_back("volumes are rounded to parts of 1/" +
                     std::to_string(cut.parts) +
                     " of a chunk, of which paths take more or less than in "
                     "the file");
  if (others.empty())
    return result;
  std::string text = others.size() == 1 ? "vertex" : "vertices";
  size_t named = 0;
  for (unsigned vertex : others)
    if (++named <= mostNamed)
      text += (named == 1 ? " " : ", ") + std::to_string(vertex);
  if (named > mostNamed)
    text += " and " + std::to_string(named - mostNamed) + " more";
  bool isOne = others.size() == 1;
  result.push_back(
      text +
      (isOne ? " has no chunk and asks for none: taken for a switch"
             : " have no chunks and ask for none: taken for switches") +
      ", no rank; --machine with TE-CCL's input tells if a GPU is missing");
  return result;
}

std::optional<FoundSchedule> TecclReader::read() {
  Json::Value root = json.parse();
  if (!findings.empty())
    return std::nullopt;
  if (!root.isObject()) {
    json.complain(root, "expected an object of TE-CCL");
    return std::nullopt;
  }
  std::optional<Collective> collective =
      root.isMember("6-Demand_Met") ? readWhole(root) : readCut(root);
  if (!collective || !findings.empty())
    return std::nullopt;
  Schedule schedule;
  for (auto &[epoch, step] : steps)
    schedule.steps.push_back(std::move(step));
  schedule.normalize();
  Topology topology = usedLinks(schedule, collective->numRanks());
  fitRounds(schedule, topology);
  if (auto violation = checkSchedule(topology, *collective, schedule)) {
    bool isOlder = root.isMember("6-Flows");
    json.complain(root[isOlder ? "6-Flows" : "7-Flows"], violation->message);
    return std::nullopt;
  }
  return FoundSchedule{std::move(topology), std::move(*collective),
                       std::move(schedule), notes()};
}

std::optional<FoundSchedule> exchange::parseTeccl(std::string_view text,
                                                  Findings &findings) {
  return TecclReader(text, findings).read();
}
