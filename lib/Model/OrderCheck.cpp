//===- OrderCheck.cpp - Schedules that follow a tree of additions ---------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/OrderCheck.h"

#include <algorithm>
#include <map>

using namespace sccl;

namespace {
using Parts = std::vector<uint32_t>; ///< nodes that have no leaf in common

/// Which sums of one chunk are where.
class SumReplay {
public:
  SumReplay(const SumTree &tree, const std::vector<unsigned> &contributors,
            uint32_t chunk)
      : tree(tree), contributors(contributors), chunk(chunk) {
    for (uint32_t leaf = 0; leaf < contributors.size(); ++leaf)
      ranks[contributors[leaf]].value = {leaf};
  }

  /// Takes a send of a step against the state before it.
  std::optional<Error> take(const Send &send, unsigned step);
  void finishStep();
  std::optional<Error> finish(unsigned rank) const;

private:
  struct State {
    Parts value;
    std::map<unsigned, uint32_t> kept; ///< nodes, by number
  };
  struct Arrival {
    Send send;
    uint32_t node;
  };

  Parts partsOf(const Send &send) const;
  std::optional<uint32_t> nodeOf(const Parts &parts) const;
  Error wrong(const std::string &where, const Parts &parts) const;

  const SumTree &tree;
  const std::vector<unsigned> &contributors;
  const uint32_t chunk;
  std::map<unsigned, State> ranks;
  std::vector<Arrival> arrivals; ///< of the step under way
};
} // namespace

Parts SumReplay::partsOf(const Send &send) const {
  auto at = ranks.find(send.src);
  if (at == ranks.end())
    return {};
  if (send.payload == SendPayload::Current)
    return at->second.value;
  Parts parts;
  if (send.payload == SendPayload::Input)
    parts.push_back(uint32_t(std::ranges::lower_bound(contributors, send.src) -
                             contributors.begin()));
  send.forEachKept([&](unsigned number) {
    if (auto kept = at->second.kept.find(number); kept != at->second.kept.end())
      parts.push_back(kept->second);
  });
  return parts;
}

std::optional<uint32_t> SumReplay::nodeOf(const Parts &parts) const {
  if (parts.size() == 1)
    return parts.front();
  auto chains = tree.chainsOf(parts);
  if (!chains || chains->empty())
    return std::nullopt;
  return chains->back().node;
}

Error SumReplay::wrong(const std::string &where, const Parts &parts) const {
  std::string sum;
  for (uint32_t part : parts) {
    std::vector<uint32_t> below = {part};
    while (!below.empty()) {
      uint32_t node = below.back();
      below.pop_back();
      if (tree.isLeaf(node))
        sum += (sum.empty() ? "" : ", ") + std::to_string(contributors[node]);
      else
        below.insert(below.end(), {tree.right(node), tree.left(node)});
    }
  }
  return Error{where + " the sum of chunk " + std::to_string(chunk) +
               " of the ranks " + sum + ", which is no node of the tree " +
               tree.toString(contributors)};
}

std::optional<Error> SumReplay::take(const Send &send, unsigned step) {
  Parts parts = partsOf(send);
  std::optional<uint32_t> node = nodeOf(parts);
  if (!node)
    return wrong("in step " + std::to_string(step) + " rank " +
                     std::to_string(send.src) + " sends",
                 parts);
  arrivals.push_back({send, *node});
  return std::nullopt;
}

void SumReplay::finishStep() {
  for (const auto &[send, node] : arrivals) {
    State &state = ranks[send.dst];
    if (send.action == SendAction::Copy)
      state.value.clear();
    if (send.action != SendAction::Keep)
      state.value.push_back(node);
    if (send.keep != 0)
      state.kept[send.keep] = node;
  }
  arrivals.clear();
}

std::optional<Error> SumReplay::finish(unsigned rank) const {
  auto at = ranks.find(rank);
  const Parts parts = at == ranks.end() ? Parts() : at->second.value;
  if (nodeOf(parts) == tree.root())
    return std::nullopt;
  return wrong("rank " + std::to_string(rank) + " ends with", parts);
}

/// The sends of each chunk, in order, with their steps.
static std::vector<std::vector<std::pair<unsigned, const Send *>>>
sendsByChunk(const Collective &collective, const Schedule &schedule) {
  std::vector<std::vector<std::pair<unsigned, const Send *>>> result(
      collective.numChunks());
  for (unsigned step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends)
      result[send.chunk].emplace_back(step, &send);
  return result;
}

std::optional<Error> sccl::checkOrder(const Collective &collective,
                                      const Schedule &schedule,
                                      const SumOrder &order) {
  if (!order.isTree() || !collective.combining())
    return std::nullopt;
  std::map<size_t, SumTree> trees; // by ranks that contribute
  auto sends = sendsByChunk(collective, schedule);
  for (uint32_t chunk = 0; chunk < sends.size(); ++chunk) {
    std::vector<unsigned> contributors = collective.pre().ranksOf(chunk);
    auto tree = trees.find(contributors.size());
    if (tree == trees.end()) {
      Result<SumTree> made = order.treeOf(unsigned(contributors.size()));
      if (!made)
        return Error{made.error()};
      tree = trees.emplace(contributors.size(), std::move(*made)).first;
    }
    SumReplay replay(tree->second, contributors, chunk);
    for (size_t i = 0; i < sends[chunk].size(); ++i) {
      auto [step, send] = sends[chunk][i];
      if (i > 0 && sends[chunk][i - 1].first != step)
        replay.finishStep();
      if (std::optional<Error> error = replay.take(*send, step))
        return error;
    }
    replay.finishStep();
    for (unsigned rank : collective.post().ranksOf(chunk))
      if (std::optional<Error> error = replay.finish(rank))
        return error;
  }
  return std::nullopt;
}

std::optional<Error> sccl::checkTrees(const Collective &collective,
                                      const SumOrder &order) {
  if (!order.isTree() || !collective.combining())
    return std::nullopt;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk)
    if (Result<SumTree> tree =
            order.treeOf(unsigned(collective.pre().ranksOf(chunk).size()));
        !tree)
      return Error{tree.error()};
  return std::nullopt;
}
