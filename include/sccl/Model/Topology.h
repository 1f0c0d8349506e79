//===- Topology.h - Ranks, links and bandwidth limits -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A topology is the pair (P, B) of the SCCL paper, section 3.1: a number of
// ranks and a bandwidth relation B that bounds, for arbitrary *sets* of
// directed links, the chunks they carry together in one round. A point-to-point
// link is a set of one; a shared bus, or a rank's egress into a switch, is a
// larger one.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_TOPOLOGY_H
#define SCCL_MODEL_TOPOLOGY_H

#include "sccl/Model/Result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

/// A directed physical edge between two ranks.
struct Link {
  unsigned src;
  unsigned dst;
  bool operator==(const Link &) const = default;
};

/// A link as messages name it: "0 -> 1".
std::string linkText(unsigned src, unsigned dst);

/// One element of the bandwidth relation: the links in `links` (indices into
/// `Topology::links()`, ascending) carry together at most `bandwidth` chunks
/// per round.
struct BandwidthLimit {
  std::vector<unsigned> links;
  unsigned bandwidth;
};

/// A switch that does more than hand on what it gets. It joins some ranks, all
/// of which have links to one another through it. In a limit that contains all
/// links from one of them to the others, as the port of a GPU, what is sent to
/// several of them counts once if the switch multicasts. In one that contains
/// all links to one of them from the others, what several of them send to be
/// reduced counts once if it reduces. See `SendTransport`.
struct Switch {
  std::vector<unsigned> ranks; ///< ascending
  bool multicast = false;      ///< sends one copy to many
  bool reduces = false;        ///< reduces what it gets from many
  /// What a rank multicasts comes back to it as well, and what it gets reduced
  /// takes its own part by way of the switch.
  bool ownCopies = false;
  bool operator==(const Switch &) const = default;
};

/// Ranks 0..numRanks-1, directed links and the limits on sets of links.
class Topology {
public:
  /// Largest sizes accepted anywhere; they bound the memory that an input file
  /// can make us use.
  static constexpr unsigned maxRanks = 1u << 16;
  static constexpr unsigned maxLinks = 1u << 22;
  static constexpr unsigned maxBandwidth = 1u << 20;

  Topology(std::string name, unsigned numRanks)
      : topologyName(std::move(name)), ranks(numRanks), out(numRanks),
        in(numRanks) {}

  const std::string &name() const { return topologyName; }
  void setName(std::string name) { topologyName = std::move(name); }
  unsigned numRanks() const { return ranks; }

  /// All links in order of insertion.
  const std::vector<Link> &links() const { return allLinks; }
  /// All limits in order of insertion. A link in no limit is unbounded.
  const std::vector<BandwidthLimit> &limits() const { return allLimits; }
  /// Indices of the links that leave / enter `rank`, in order of insertion.
  const std::vector<unsigned> &outLinks(unsigned rank) const {
    return out[rank];
  }
  const std::vector<unsigned> &inLinks(unsigned rank) const { return in[rank]; }
  /// The index of the link src -> dst, if the topology has it.
  std::optional<unsigned> findLink(unsigned src, unsigned dst) const;

  /// Adds the link src -> dst and returns its index. Fails on a rank out of
  /// range, a self-loop, a duplicate, or too many links.
  Result<unsigned> addLink(unsigned src, unsigned dst);
  /// Adds the link and a limit of `bandwidth` chunks per round on it alone.
  Result<unsigned> addLink(unsigned src, unsigned dst, unsigned bandwidth);
  /// Adds a limit on a set of links. Returns the limit's index. Fails on an
  /// empty set, an unknown or repeated link, or a bandwidth outside
  /// [1, maxBandwidth].
  Result<unsigned> addLimit(std::vector<unsigned> links, unsigned bandwidth);

  /// Adds a switch. Fails on fewer than 3 ranks, one that is out of range or
  /// named twice, two without links to one another, a switch that neither
  /// multicasts nor reduces, and one of the same ranks.
  Result<unsigned> addSwitch(Switch added);
  /// All switches that multicast or reduce, in order of insertion.
  const std::vector<Switch> &switches() const { return allSwitches; }

  /// The most chunks per round that link `index` could carry alone: the
  /// smallest bound over the limits that contain it, `maxBandwidth` if none.
  unsigned capacity(unsigned index) const { return caps[index]; }
  /// True if every limit covers one link only, i.e. no bandwidth is shared.
  bool isPointToPoint() const;

  /// Hop distances from `rank` to every rank; `unreachable` where no path.
  std::vector<unsigned> distancesFrom(unsigned rank) const;
  /// Likewise from the nearest of several ranks.
  std::vector<unsigned>
  distancesFrom(const std::vector<unsigned> &origins) const;
  /// Hop distances from every rank to the nearest of several.
  std::vector<unsigned> distancesTo(const std::vector<unsigned> &targets) const;
  static constexpr unsigned unreachable = ~0u;

  /// The same ranks with every link turned round, same indices and limits; a
  /// switch that multicasts reduces, and the other way round.
  Topology reversed() const;

private:
  size_t slotOf(unsigned src, unsigned dst) const;
  void indexLinks(size_t numSlots);

  std::string topologyName;
  unsigned ranks;
  std::vector<Link> allLinks;
  std::vector<BandwidthLimit> allLimits;
  std::vector<Switch> allSwitches;
  std::vector<std::vector<unsigned>> out, in;
  std::vector<unsigned> caps;
  /// A hash table with open addressing: one more than the number of a link, or
  /// 0. Never more than half full. Copies are made often.
  std::vector<unsigned> slots;
};

/// One entry of the list of built-in topologies, for `sccl machine`.
struct BuiltinTopology {
  std::string_view spec;        ///< "dgx1", or a pattern such as "ring:N"
  std::string_view description; ///< one line
};

/// The built-in topologies in the order `sccl machine` lists them.
const std::vector<BuiltinTopology> &builtinTopologies();

/// Builds the topology that `spec` names: "dgx1", "amd_z52", "ring:8",
/// "torus:4x4", ... Its name is the spec. Fails with a message on an unknown
/// name or a parameter out of range. Sources: dgx1 and amd_z52 are the models
/// of the SCCL paper, sections 5.1.1 and 5.1.2.
Result<Topology> makeBuiltinTopology(std::string_view spec);

} // namespace sccl

#endif // SCCL_MODEL_TOPOLOGY_H
