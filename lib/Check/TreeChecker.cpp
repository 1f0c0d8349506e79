//===- TreeChecker.cpp - Independent check of trees -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/TreeChecker.h"

#include "sccl/Model/DisjointSets.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace sccl;

using Failure = std::optional<std::string>;
using WideSum = unsigned __int128;

//===----------------------------------------------------------------------===//
// Symmetries
//===----------------------------------------------------------------------===//

namespace {
/// The orbits of the links under renumberings, if these keep the topology.
class LinkOrbits {
public:
  explicit LinkOrbits(const Topology &topology)
      : topology(topology), orbits(topology.links().size()) {
    for (const BandwidthLimit &limit : topology.limits())
      ++limits[{limit.links, limit.bandwidth}];
  }
  Failure add(const Permutation &symmetry);
  /// The smallest link of the orbit.
  unsigned find(unsigned link) { return orbits.first(link); }
  std::vector<unsigned> sizes() {
    std::vector<unsigned> result(topology.links().size());
    for (unsigned link = 0; link < result.size(); ++link)
      ++result[find(link)];
    return result;
  }

private:
  const Topology &topology;
  DisjointSets orbits;
  /// How often there is each limit.
  std::map<std::pair<std::vector<unsigned>, unsigned>, unsigned> limits;
};
} // namespace

static bool isRenumbering(const Permutation &symmetry, unsigned ranks) {
  std::vector<bool> hit(ranks);
  for (unsigned rank : symmetry) {
    if (rank >= ranks || hit[rank])
      return false;
    hit[rank] = true;
  }
  return symmetry.size() == ranks;
}

Failure LinkOrbits::add(const Permutation &symmetry) {
  if (!isRenumbering(symmetry, topology.numRanks()))
    return "a generator is not a renumbering of the ranks";
  std::vector<unsigned> images;
  for (const Link &link : topology.links()) {
    auto image = topology.findLink(symmetry[link.src], symmetry[link.dst]);
    if (!image)
      return "a generator maps link " + linkText(link.src, link.dst) +
             " to one that the topology does not have";
    images.push_back(*image);
  }
  auto left = limits;
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<unsigned> image;
    for (unsigned link : limit.links)
      image.push_back(images[link]);
    std::ranges::sort(image);
    auto found = left.find({std::move(image), limit.bandwidth});
    if (found == left.end() || found->second-- == 0)
      return "a generator does not map limits to limits";
  }
  for (unsigned link = 0; link < images.size(); ++link)
    orbits.join(link, images[link]);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Trees
//===----------------------------------------------------------------------===//

namespace {
/// The contributions in each rank's value of one chunk.
class TreeReplay {
public:
  TreeReplay(unsigned ranks, bool reduces, unsigned origin)
      : ranks(ranks), words(reduces ? (ranks + 63) / 64 : 1),
        bits(size_t(ranks) * words), completeCount(reduces ? ranks : 1) {
    for (unsigned rank = 0; rank < ranks; ++rank)
      if (reduces || rank == origin)
        at(rank)[reduces ? rank / 64 : 0] |= uint64_t(1)
                                             << (reduces ? rank % 64 : 0);
  }
  /// All sends of a step, which read what was there before it.
  Failure step(const std::vector<TreeSend> &sends);
  Failure finish() const;

private:
  uint64_t *at(unsigned rank) { return &bits[size_t(rank) * words]; }
  bool isComplete(unsigned rank) const {
    unsigned count = 0;
    for (unsigned i = 0; i < words; ++i)
      count += unsigned(__builtin_popcountll(bits[size_t(rank) * words + i]));
    return count == completeCount;
  }
  Failure apply(const TreeSend &send, const uint64_t *value);

  const unsigned ranks, words;
  std::vector<uint64_t> bits;
  const unsigned completeCount;
};
} // namespace

Failure TreeReplay::apply(const TreeSend &send, const uint64_t *value) {
  std::string where = "link " + linkText(send.src, send.dst) + " in step " +
                      std::to_string(send.step + 1);
  if (std::all_of(value, value + words, [](uint64_t word) { return !word; }))
    return where + " carries a chunk that is not there";
  uint64_t *target = at(send.dst);
  if (send.action == SendAction::Copy) {
    if (isComplete(send.dst))
      return where + " brings what is there already";
    for (unsigned i = 0; i < words; ++i)
      if (target[i] & ~value[i])
        return where + " overwrites a contribution that it does not bring";
    std::copy(value, value + words, target);
    return std::nullopt;
  }
  if (completeCount == 1)
    return where + " reduces in a collective that does not";
  for (unsigned i = 0; i < words; ++i) {
    if (target[i] & value[i])
      return where + " adds a contribution twice";
    target[i] |= value[i];
  }
  return std::nullopt;
}

Failure TreeReplay::step(const std::vector<TreeSend> &sends) {
  std::vector<uint64_t> values;
  for (const TreeSend &send : sends)
    values.insert(values.end(), at(send.src), at(send.src) + words);
  for (size_t i = 0; i < sends.size(); ++i)
    if (Failure failure = apply(sends[i], &values[i * words]))
      return failure;
  return std::nullopt;
}

Failure TreeReplay::finish() const {
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (!isComplete(rank))
      return "rank " + std::to_string(rank) +
             " lacks a chunk, or part of it, at the end";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
class TreeChecker {
public:
  TreeChecker(const Topology &topology, const TreeSchedule &schedule,
              unsigned root)
      : topology(topology), schedule(schedule), root(root), orbits(topology) {}
  Failure check();

private:
  Failure checkShape();
  Failure checkGroup();
  Failure checkTree(const ChunkTree &tree);
  Failure checkCounts() const;
  Failure checkLoads();
  std::string limitText(const BandwidthLimit &limit) const;

  const Topology &topology;
  const TreeSchedule &schedule;
  const unsigned root;
  LinkOrbits orbits;
  size_t order = 0; ///< of the group
  std::vector<unsigned> orbitSizes;
  std::vector<WideSum> loads; ///< of the first link of each orbit, per step
};
} // namespace

Failure TreeChecker::checkShape() {
  if (schedule.kind != CollectiveKind::AllGather &&
      schedule.kind != CollectiveKind::Broadcast &&
      schedule.kind != CollectiveKind::AllReduce)
    return "trees are no schedule of '" +
           std::string(collectiveName(schedule.kind)) + "'";
  constexpr uint64_t most = uint64_t(1) << 62;
  if (schedule.chunks == 0 || schedule.chunks > most || schedule.period > most)
    return "the number of chunks, or the period, is out of range";
  uint64_t sum = 0;
  for (uint64_t rounds : schedule.rounds)
    if (rounds == 0)
      return "a step has no rounds";
    else if (rounds > most || (sum += rounds) > most)
      return "the number of rounds is out of range";
  for (const ChunkTree &tree : schedule.trees)
    if (tree.origin >= topology.numRanks() || tree.count > most)
      return "a tree has an origin or a count that is out of range";
  return std::nullopt;
}

Failure TreeChecker::checkGroup() {
  for (const Permutation &generator : schedule.generators) {
    if (Failure failure = orbits.add(generator))
      return failure;
    if (schedule.kind == CollectiveKind::Broadcast && generator[root] != root)
      return "a generator moves the root";
  }
  order = groupElements(schedule.generators, topology.numRanks(),
                        TreeSchedule::maxElements)
              .size();
  if (order == 0)
    return "the group has more than " +
           std::to_string(TreeSchedule::maxElements) + " elements";
  orbitSizes = orbits.sizes();
  loads.resize(topology.links().size() * schedule.rounds.size());
  return std::nullopt;
}

Failure TreeChecker::checkTree(const ChunkTree &tree) {
  std::vector<std::vector<TreeSend>> steps(schedule.rounds.size());
  for (const TreeSend &send : tree.sends) {
    if (send.step >= steps.size())
      return "a send is in step " + std::to_string(send.step + 1) + " of " +
             std::to_string(steps.size());
    auto link = topology.findLink(send.src, send.dst);
    if (!link)
      return "the topology has no link " + linkText(send.src, send.dst);
    steps[send.step].push_back(send);
    unsigned first = orbits.find(*link);
    loads[size_t(first) * steps.size() + send.step] +=
        WideSum(tree.count) * (order / orbitSizes[first]);
  }
  TreeReplay replay(topology.numRanks(),
                    schedule.kind == CollectiveKind::AllReduce, tree.origin);
  for (const std::vector<TreeSend> &sends : steps)
    if (Failure failure = replay.step(sends))
      return failure;
  return replay.finish();
}

/// Whether each rank, or the root, or all together, have C chunks.
Failure TreeChecker::checkCounts() const {
  unsigned ranks = topology.numRanks();
  std::vector<unsigned> firsts = rankOrbits(schedule.generators, ranks);
  std::vector<WideSum> chunks(ranks); // of all ranks of the orbit, at its first
  std::vector<unsigned> sizes(ranks);
  for (unsigned first : firsts)
    ++sizes[first];
  WideSum all = 0;
  for (const ChunkTree &tree : schedule.trees) {
    chunks[firsts[tree.origin]] += WideSum(tree.count) * order;
    all += WideSum(tree.count) * order;
  }
  auto complain = [&](unsigned rank) {
    return "rank " + std::to_string(rank) + " does not have " +
           std::to_string(schedule.chunks) + " chunks";
  };
  for (unsigned rank = 0; rank < ranks; ++rank) {
    WideSum wanted = WideSum(schedule.chunks) * sizes[rank];
    if (schedule.kind == CollectiveKind::Broadcast && rank != root)
      wanted = 0;
    if (schedule.kind != CollectiveKind::AllReduce && chunks[rank] != wanted)
      return complain(rank);
  }
  if (schedule.kind == CollectiveKind::AllReduce && all != schedule.chunks)
    return "there are not " + std::to_string(schedule.chunks) + " chunks";
  return std::nullopt;
}

/// Ready for where it is exceeded.
std::string TreeChecker::limitText(const BandwidthLimit &limit) const {
  const Link &link = topology.links()[limit.links.front()];
  return "the limit on link " + linkText(link.src, link.dst) + " and " +
         std::to_string(limit.links.size() - 1) + " others is exceeded in ";
}

Failure TreeChecker::checkLoads() {
  size_t steps = schedule.rounds.size();
  for (const BandwidthLimit &limit : topology.limits()) {
    std::vector<WideSum> load(steps);
    for (unsigned link : limit.links) {
      size_t first = orbits.find(link);
      for (size_t step = 0; step < steps; ++step)
        load[step] += loads[first * steps + step];
    }
    for (size_t step = 0; step < steps; ++step)
      if (load[step] > WideSum(limit.bandwidth) * schedule.rounds[step])
        return limitText(limit) + "step " + std::to_string(step + 1);
    WideSum all = std::accumulate(load.begin(), load.end(), WideSum(0));
    if (schedule.period > 0 && all > WideSum(limit.bandwidth) * schedule.period)
      return limitText(limit) + "all steps together";
  }
  return std::nullopt;
}

Failure TreeChecker::check() {
  if (Failure failure = checkShape())
    return failure;
  if (Failure failure = checkGroup())
    return failure;
  for (const ChunkTree &tree : schedule.trees)
    if (Failure failure = checkTree(tree))
      return failure;
  if (Failure failure = checkCounts())
    return failure;
  return checkLoads();
}

std::optional<std::string> sccl::checkTreeSchedule(const Topology &topology,
                                                   const TreeSchedule &schedule,
                                                   unsigned root) {
  if (root >= topology.numRanks())
    return "the root is out of range";
  return TreeChecker(topology, schedule, root).check();
}
