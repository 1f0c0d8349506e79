//===- NcclChannels.cpp - Rings and trees that NCCL chose -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Import/NcclChannels.h"

#include "NcclLog.h"
#include "Readers.h"
#include "Xml.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <numeric>

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Channels that are alike
//===----------------------------------------------------------------------===//

/// Keeps of channels that are there several times as many as tells them apart
/// in number: one of each if all are there equally often.
template <typename Channel>
static std::vector<Channel> reduced(const std::vector<Channel> &channels) {
  std::vector<std::pair<Channel, unsigned>> counts;
  for (const Channel &channel : channels) {
    auto known = llvm::find_if(
        counts, [&](const auto &entry) { return entry.first == channel; });
    if (known == counts.end())
      counts.emplace_back(channel, 1);
    else
      ++known->second;
  }
  unsigned common = 0;
  for (const auto &[channel, count] : counts)
    common = std::gcd(common, count);
  std::vector<Channel> result;
  for (const auto &[channel, count] : counts)
    result.insert(result.end(), count / common, channel);
  return result;
}

static std::vector<RankTree>
treesOf(const std::vector<std::vector<unsigned>> &parents) {
  std::vector<RankTree> trees;
  for (const std::vector<unsigned> &tree : reduced(parents)) {
    unsigned root = 0;
    for (unsigned rank = 0; rank < tree.size(); ++rank)
      if (tree[rank] == rank)
        root = rank;
    trees.push_back({root, tree});
  }
  return trees;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// NCCL's numbers of patterns.
static constexpr unsigned ringPattern = 4;
static constexpr unsigned treePatterns[] = {1, 2, 3};

static Result<Ring> readChannel(const XmlFile &xml, pugi::xml_node channel) {
  Ring gpus;
  for (pugi::xml_node gpu : channel.children("gpu")) {
    std::optional<unsigned> dev = wholeNumber(gpu.attribute("dev").value());
    if (!dev || *dev >= maxGpusOfHost)
      return xml.error(gpu, "a <gpu> needs its number, dev=\"N\"");
    gpus.push_back(*dev);
  }
  Ring sorted = gpus;
  llvm::sort(sorted);
  for (unsigned i = 0; i < sorted.size(); ++i)
    if (sorted[i] != i)
      return xml.error(channel, "a channel must visit each GPU of the host "
                                "once, from 0 on");
  return gpus;
}

/// The chain through a host, repeated for each host.
static Ring throughHosts(const Ring &chain, unsigned numHosts) {
  Ring all;
  for (unsigned host = 0; host < numHosts; ++host)
    for (unsigned gpu : chain)
      all.push_back(host * unsigned(chain.size()) + gpu);
  return all;
}

/// Each GPU of a chain below the one before it.
static std::vector<unsigned> chainParents(const Ring &chain) {
  std::vector<unsigned> parents(chain.size());
  for (size_t i = 0; i < chain.size(); ++i)
    parents[chain[i]] = chain[i == 0 ? 0 : i - 1];
  return parents;
}

static Result<NcclChannels> readGraph(const ImportFile &file,
                                      unsigned numRanks) {
  XmlFile xml(file);
  if (std::optional<Error> error = xml.parse("graphs"))
    return *error;
  NcclChannels result;
  std::vector<std::vector<unsigned>> parents;
  for (pugi::xml_node graph : xml.root().children("graph")) {
    std::optional<unsigned> pattern =
        wholeNumber(graph.attribute("pattern").value());
    if (!pattern)
      return xml.error(graph, "a <graph> needs its pattern, a number");
    bool isRing = *pattern == ringPattern;
    if (!isRing && !llvm::is_contained(treePatterns, *pattern))
      continue;
    for (pugi::xml_node node : graph.children("channel")) {
      Result<Ring> chain = readChannel(xml, node);
      if (!chain)
        return Error{chain.error()};
      if (chain->empty() || numRanks % chain->size() != 0)
        return xml.error(node, "a channel of " + llvm::Twine(chain->size()) +
                                   " GPUs, for a machine of " +
                                   llvm::Twine(numRanks) + " ranks");
      unsigned numHosts = numRanks / unsigned(chain->size());
      if (isRing)
        result.rings.push_back(throughHosts(*chain, numHosts));
      else if (numHosts == 1)
        parents.push_back(chainParents(*chain));
    }
  }
  if (result.rings.empty())
    return xml.error(xml.root(), "there is no graph of rings (pattern 4) with "
                                 "channels");
  result.numChannels = unsigned(result.rings.size());
  result.rings = reduced(result.rings);
  result.trees = treesOf(parents);
  return result;
}

//===----------------------------------------------------------------------===//
// Logs
//===----------------------------------------------------------------------===//

namespace {
/// The parents of ranks in the trees of all channels, of "Trees [0]
/// 1/-1/-1->0->-1 [1] ...".
class LogTrees {
public:
  explicit LogTrees(unsigned numRanks) : numRanks(numRanks) {}
  void add(StringRef text);
  /// Those of which the parent of each rank is known.
  std::vector<std::vector<unsigned>> complete() const;

private:
  unsigned numRanks;
  /// By channel and rank. The first line of a rank counts: later communicators
  /// have other trees.
  std::map<unsigned, std::map<unsigned, unsigned>> parentOf;
};
} // namespace

void LogTrees::add(StringRef text) {
  llvm::SmallVector<StringRef> words;
  text.split(words, ' ', -1, /*KeepEmpty=*/false);
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    StringRef name = words[i];
    std::optional<unsigned> channel =
        name.consume_front("[") && name.consume_back("]") ? wholeNumber(name)
                                                          : std::nullopt;
    auto [children, rest] = words[i + 1].split("->");
    auto [self, up] = rest.split("->");
    std::optional<unsigned> rank = wholeNumber(self);
    std::optional<unsigned> parent = up == "-1" ? rank : wholeNumber(up);
    if (!channel || !rank || !parent || *rank >= numRanks ||
        *parent >= numRanks)
      return;
    parentOf[*channel].try_emplace(*rank, *parent);
  }
}

std::vector<std::vector<unsigned>> LogTrees::complete() const {
  std::vector<std::vector<unsigned>> trees;
  for (const auto &[channel, parents] : parentOf) {
    if (parents.size() != numRanks)
      return {};
    std::vector<unsigned> &tree = trees.emplace_back();
    for (const auto &[rank, parent] : parents)
      tree.push_back(parent);
  }
  return trees;
}

static bool isFirstChannel(StringRef text) {
  return text.starts_with("Channel 00/") || text.starts_with("Channel 0/");
}

static Result<NcclChannels> readLog(const ImportFile &file, unsigned numRanks) {
  NcclChannels result;
  LogTrees trees(numRanks);
  bool hasEnded = false;
  std::optional<Place> other;
  size_t otherRanks = 0;
  for (const LogLine &line : splitNcclLog(file.text)) {
    StringRef text = StringRef(line.text).trim();
    if (text.consume_front("Trees "))
      trees.add(text);
    Ring ring = ringOfLine(text);
    if (ring.empty())
      continue;
    if (ring.size() != numRanks) {
      if (ring.size() > otherRanks)
        other = line.place;
      otherRanks = std::max(otherRanks, ring.size());
      continue;
    }
    // Rank 0 writes the rings; a second communicator begins anew.
    hasEnded |= !result.rings.empty() && isFirstChannel(text);
    if (!hasEnded)
      result.rings.push_back(std::move(ring));
  }
  if (result.rings.empty() && other)
    return errorAt(file.path, *other,
                   "rings of " + llvm::Twine(otherRanks) +
                       " ranks, for a machine of " + llvm::Twine(numRanks));
  if (result.rings.empty())
    return errorAt(file.path, {},
                   "there is no line such as 'Channel 00/24 : 0 1 2 3', which "
                   "rank 0 writes with NCCL_DEBUG=INFO");
  result.numChannels = unsigned(result.rings.size());
  result.rings = reduced(result.rings);
  result.trees = treesOf(trees.complete());
  return result;
}

Result<NcclChannels> sccl::readNcclChannels(const ImportFile &file,
                                            unsigned numRanks) {
  StringRef text = file.text;
  text.consume_front("\xef\xbb\xbf");
  return text.ltrim().starts_with("<") ? readGraph(file, numRanks)
                                       : readLog(file, numRanks);
}
