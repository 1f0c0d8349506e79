//===- TecclVolumes.cpp - Parts of chunks in TE-CCL -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TecclVolumes.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace sccl;
using namespace sccl::exchange;

void TecclDemands::add(TecclPiece piece, unsigned to) {
  vertices.insert({piece.from, to});
  destinations[piece].insert(to);
}

std::optional<unsigned> TecclDemands::rankOf(unsigned vertex) const {
  auto found = ranks.find(vertex);
  return found == ranks.end() ? std::nullopt : std::optional(found->second);
}

std::optional<unsigned> TecclDemands::chunkOf(TecclPiece piece) const {
  auto found = chunks.find(piece);
  return found == chunks.end() ? std::nullopt : std::optional(found->second);
}

static bool areEqual(const auto &counts) {
  return std::ranges::all_of(counts, [&](const auto &each) {
    return each.second == counts.begin()->second;
  });
}

std::optional<CollectiveKind> TecclDemands::kind() const {
  using enum CollectiveKind;
  auto count = unsigned(vertices.size());
  std::map<unsigned, unsigned> perSource;
  std::map<std::pair<unsigned, unsigned>, unsigned> perPair;
  bool areForAll = true, areForOne = true;
  for (const auto &[piece, to] : destinations) {
    ++perSource[piece.from];
    ++perPair[{piece.from, *to.begin()}];
    areForAll &= to.size() + 1 == count && !to.contains(piece.from);
    areForOne &= to.size() == 1 && !to.contains(piece.from);
  }
  if (areForAll && perSource.size() == 1)
    return Broadcast;
  if (areForAll && perSource.size() == count && areEqual(perSource))
    return AllGather;
  if (areForOne && perPair.size() == size_t(count) * (count - 1) &&
      areEqual(perPair))
    return AllToAll;
  return std::nullopt;
}

/// Chunks in the order of our collective: by source, and by destination where
/// each has its own.
void TecclDemands::numberChunks(CollectiveKind kind, unsigned parts) {
  std::vector<std::pair<std::pair<unsigned, unsigned>, TecclPiece>> order;
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
    chunks[order[i].second] = next++ * parts;
  }
}

Result<Collective> TecclDemands::collective(unsigned parts) {
  std::optional<CollectiveKind> is = kind();
  if (!is)
    return Error{"the chunks are for neither an all_gather, a broadcast nor an "
                 "all_to_all"};
  for (unsigned vertex : vertices)
    ranks.try_emplace(vertex, unsigned(ranks.size()));
  auto count = unsigned(ranks.size());
  unsigned first = destinations.begin()->first.from;
  uint64_t perSource = 0;
  for (const auto &[piece, to] : destinations)
    perSource += piece.from == first;
  // A rank of an all_to_all has as many chunks for itself.
  if (*is == CollectiveKind::AllToAll)
    perSource = perSource / (count - 1) * count;
  if (perSource * parts > Collective::maxPairs)
    return Error{std::to_string(perSource * parts) + " chunks of a rank"};
  Result<Collective> collective = Collective::make(
      *is, count, unsigned(perSource * parts), ranks.at(first));
  if (collective)
    numberChunks(*is, parts);
  return collective;
}

/// "10->8 with volume 0.25 in epoch 5", the second item of a pair.
static std::optional<TecclHop> readHop(JsonReader &json,
                                       const Json::Value &value) {
  TecclHop hop{};
  const Json::Value &text = value.isArray() && value.size() == 2
                                ? value[1]
                                : Json::Value::nullSingleton();
  std::string words = text.isString() ? text.asString() : "";
  if (std::sscanf(words.c_str(), "%6u->%6u with volume %24lf in epoch %8u",
                  &hop.src, &hop.dst, &hop.volume, &hop.epoch) == 4)
    return hop;
  json.complain(value, "expected [E, \"I->J with volume V in epoch E\"]");
  return std::nullopt;
}

static std::vector<TecclHop> readPath(JsonReader &json,
                                      const Json::Value &value) {
  std::vector<TecclHop> path;
  if (!value.isArray() || value.empty())
    json.complain(value, "expected a list of hops");
  else
    for (const Json::Value &item : value)
      if (auto hop = readHop(json, item)) {
        path.push_back(*hop);
        if (std::abs(hop->volume - path.front().volume) > 1e-6)
          json.complain(item, "a hop of another volume than the first of its "
                              "path");
      }
  return path;
}

static double volumeOf(const std::vector<TecclHop> &path) {
  return path.empty() ? 0 : std::clamp(path.front().volume, 0.0, 1.0);
}

std::vector<TecclDelivery> exchange::readTecclPaths(JsonReader &json,
                                                    const Json::Value &paths) {
  std::vector<TecclDelivery> deliveries;
  if (!paths.isObject()) {
    json.complain(paths, "expected an object with the paths of chunks");
    return deliveries;
  }
  constexpr double accuracy = 1e-3; // of a sum of numbers with 6 decimals
  for (const std::string &name : paths.getMemberNames()) {
    const Json::Value &value = paths[name];
    TecclDelivery delivery;
    if (std::sscanf(name.c_str(), "Demand at %6u for chunk %6u from %6u met",
                    &delivery.to, &delivery.piece.number,
                    &delivery.piece.from) != 3) {
      json.complain(value, "'" + name.substr(0, 40) +
                               "', expected \"Demand at D for chunk C from A "
                               "met by epoch E\"");
      continue;
    }
    if (!value.isArray())
      json.complain(value, "expected a list of paths");
    else
      for (const Json::Value &path : value)
        delivery.paths.push_back(readPath(json, path));
    double sum = 0;
    for (const std::vector<TecclHop> &path : delivery.paths)
      sum += volumeOf(path);
    if (std::abs(sum - 1) > accuracy)
      json.complain(value, "the volumes of these paths add up to " +
                               std::to_string(sum) + ", expected 1");
    deliveries.push_back(std::move(delivery));
  }
  return deliveries;
}

std::vector<unsigned> exchange::partsOf(const TecclDelivery &delivery,
                                        unsigned parts) {
  std::vector<unsigned> taken, order;
  std::vector<double> remainders;
  unsigned left = parts;
  for (const std::vector<TecclHop> &path : delivery.paths) {
    // Volumes have 6 decimals, so that a third of 3 is less than 1.
    double share = volumeOf(path) * parts;
    auto whole = std::min(left, unsigned(share + parts * 1e-6));
    order.push_back(unsigned(taken.size()));
    taken.push_back(whole);
    remainders.push_back(share - whole);
    left -= whole;
  }
  std::ranges::stable_sort(order, [&](unsigned a, unsigned b) {
    return remainders[a] > remainders[b];
  });
  for (size_t i = 0; i < order.size() && left > 0; ++i, --left)
    ++taken[order[i]];
  return taken;
}

TecclCut exchange::tecclCut(const std::vector<TecclDelivery> &deliveries) {
  // With more parts nearly all numbers of 6 decimals would be whole.
  constexpr unsigned mostExact = 256, rounded = 64;
  constexpr double accuracy = 1e-6;
  auto isExact = [](const TecclDelivery &delivery, unsigned parts) {
    return std::ranges::all_of(
        delivery.paths, [&](const std::vector<TecclHop> &path) {
          double share = volumeOf(path) * parts;
          return std::abs(share - std::round(share)) <= accuracy * parts;
        });
  };
  for (unsigned parts = 1; parts <= mostExact; ++parts)
    if (std::ranges::all_of(deliveries, [&](const TecclDelivery &delivery) {
          return isExact(delivery, parts);
        }))
      return {parts, true};
  return {rounded, false};
}
