//===- Forest.cpp - Trees of ForestColl -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Forest.h"

#include "UsedLinks.h"
#include "Xml.h"

#include "sccl/Check/ScheduleChecker.h"

#include <algorithm>
#include <charconv>
#include <map>

using namespace sccl;
using namespace sccl::exchange;

bool exchange::isForest(std::string_view text) {
  return text.substr(0, 1 << 12).find("<tree ") != std::string_view::npos;
}

namespace {
class ForestReader {
public:
  ForestReader(std::string_view text, Findings &findings)
      : xml(text, findings), findings(findings) {}
  std::optional<FoundSchedule> read();

private:
  /// The numbers of a tuple, which order vertices; none after a finding.
  std::vector<unsigned> vertex(pugi::xml_node node, const char *name);
  std::optional<unsigned> rankOf(pugi::xml_node node, const char *name);
  void readTrees(pugi::xml_node root);
  void addTree(pugi::xml_node tree, unsigned firstChunk, unsigned chunks);

  XmlReader xml;
  Findings &findings;
  std::map<std::vector<unsigned>, unsigned> ranks;
  unsigned chunksPerRank = 0;
  Schedule schedule;
};
} // namespace

std::vector<unsigned> ForestReader::vertex(pugi::xml_node node,
                                           const char *name) {
  std::string_view value = node.attribute(name).value();
  std::vector<unsigned> numbers;
  for (size_t i = 0; i < value.size();) {
    unsigned number = 0;
    auto [end, error] =
        std::from_chars(value.data() + i, value.data() + value.size(), number);
    if (error == std::errc())
      numbers.push_back(number);
    i = error == std::errc() ? size_t(end - value.data()) : i + 1;
  }
  if (numbers.empty())
    xml.complain(node, std::string("'") + name + "' of <" + node.name() +
                           "> is no vertex with numbers");
  return numbers;
}

std::optional<unsigned> ForestReader::rankOf(pugi::xml_node node,
                                             const char *name) {
  std::vector<unsigned> numbers = vertex(node, name);
  auto found = ranks.find(numbers);
  if (found != ranks.end())
    return found->second;
  if (!numbers.empty())
    xml.complain(node, std::string("'") + name + "' is " +
                           node.attribute(name).value() +
                           ", which is the root of no tree");
  return std::nullopt;
}

/// Sends are in any order: each level is a step.
void ForestReader::addTree(pugi::xml_node tree, unsigned firstChunk,
                           unsigned chunks) {
  std::optional<unsigned> root = rankOf(tree, "root");
  std::map<unsigned, std::vector<unsigned>> children;
  for (pugi::xml_node send : tree.children("send")) {
    std::optional<unsigned> src = rankOf(send, "src"),
                            dst = rankOf(send, "dst");
    if (src && dst)
      children[*src].push_back(*dst);
  }
  if (!root || !findings.empty())
    return;
  std::vector<unsigned> level = {*root};
  std::vector<bool> isReached(ranks.size());
  isReached[*root] = true;
  for (size_t step = 0; !level.empty(); ++step) {
    std::vector<unsigned> below;
    for (unsigned src : level)
      for (unsigned dst : children[src]) {
        if (isReached[dst])
          return xml.complain(tree,
                              "reaches rank " + std::to_string(dst) + " twice");
        isReached[dst] = true;
        below.push_back(dst);
        schedule.steps.resize(std::max(schedule.steps.size(), step + 1));
        for (unsigned i = 0; i < chunks; ++i)
          schedule.steps[step].sends.push_back({firstChunk + i, src, dst});
      }
    level = std::move(below);
  }
  if (std::ranges::count(isReached, true) != std::ptrdiff_t(ranks.size()))
    xml.complain(tree, "does not reach all ranks");
}

void ForestReader::readTrees(pugi::xml_node root) {
  struct Tree {
    pugi::xml_node node;
    unsigned chunks;
  };
  std::map<std::vector<unsigned>, std::vector<Tree>> byRoot;
  for (pugi::xml_node tree : root.children("tree")) {
    int chunks = tree.attribute("nchunks").as_int(-1);
    if (chunks < 1 || chunks > 1 << 20)
      xml.complain(tree, "'nchunks' is no number of chunks");
    else if (std::vector<unsigned> numbers = vertex(tree, "root");
             !numbers.empty())
      byRoot[numbers].push_back({tree, unsigned(chunks)});
  }
  if (byRoot.empty() && findings.empty())
    xml.complain(root, "there are no trees");
  for (const auto &[numbers, trees] : byRoot)
    ranks.try_emplace(numbers, unsigned(ranks.size()));
  for (const auto &[numbers, trees] : byRoot) {
    unsigned chunks = 0;
    for (const Tree &tree : trees)
      chunks += tree.chunks;
    if (chunksPerRank == 0)
      chunksPerRank = chunks;
    if (chunks != chunksPerRank)
      return xml.complain(
          trees.front().node,
          "the trees of this root have " + std::to_string(chunks) +
              " chunks, those of another " + std::to_string(chunksPerRank));
    unsigned next = ranks.at(numbers) * chunksPerRank;
    for (const Tree &tree : trees) {
      addTree(tree.node, next, tree.chunks);
      next += tree.chunks;
    }
  }
}

std::optional<FoundSchedule> ForestReader::read() {
  pugi::xml_node root = xml.parse();
  if (findings.empty())
    readTrees(root);
  if (!findings.empty())
    return std::nullopt;
  Result<Collective> collective = Collective::make(
      CollectiveKind::AllGather, unsigned(ranks.size()), chunksPerRank);
  if (!collective) {
    xml.complain(root, collective.error());
    return std::nullopt;
  }
  schedule.normalize();
  Topology topology = usedLinks(schedule, collective->numRanks());
  fitRounds(schedule, topology);
  if (auto violation = checkSchedule(topology, *collective, schedule)) {
    xml.complain(root, violation->message);
    return std::nullopt;
  }
  return FoundSchedule{std::move(topology), std::move(*collective),
                       std::move(schedule)};
}

std::optional<FoundSchedule> exchange::parseForest(std::string_view text,
                                                   Findings &findings) {
  return ForestReader(text, findings).read();
}
