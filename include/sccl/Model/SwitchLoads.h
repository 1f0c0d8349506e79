//===- SwitchLoads.h - What counts once in a switch -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which limits a send takes from, where switches copy or reduce: see `Switch`
// and `SendTransport`. Used by whoever counts loads, and by the checker.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_SWITCHLOADS_H
#define SCCL_MODEL_SWITCHLOADS_H

#include "sccl/Model/Schedule.h"
#include "sccl/Model/Topology.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <vector>

namespace sccl {

/// The limits of a topology that have what passes one side of its switches in
/// common.
class SwitchLimits {
public:
  /// Looks at all limits; `topology` must outlive this.
  explicit SwitchLimits(const Topology &topology);

  /// The first switch that joins both ends and multicasts, or reduces.
  std::optional<unsigned> multicasting(const Link &link) const;
  std::optional<unsigned> reducing(const Link &link) const;
  /// The limits that contain all links from `rank` to the others of a switch,
  /// or all links to it; ascending. None if the rank is not of the switch.
  const std::vector<unsigned> &before(unsigned number, unsigned rank) const {
    return outOf[number][rank];
  }
  const std::vector<unsigned> &behind(unsigned number, unsigned rank) const {
    return into[number][rank];
  }

  /// The limits in which a send by a switch is one with others: those before
  /// the switch of a multicast, those behind it of a reduction.
  const std::vector<unsigned> &common(const Send &send, unsigned number) const {
    return send.transport == SendTransport::Multicast
               ? before(number, send.src)
               : behind(number, send.dst);
  }
  /// The limits that the copy of the rank itself takes from, if it has one.
  const std::vector<unsigned> &ownCopy(const Send &send,
                                       unsigned number) const {
    if (!topology.switches()[number].ownCopies)
      return nothing;
    return send.transport == SendTransport::Multicast
               ? behind(number, send.src)
               : before(number, send.dst);
  }

  /// What `limit` carries of collectives that only move: sends of one chunk in
  /// one step over the links of one set are one there. Switches with own copies
  /// are taken for such without.
  std::vector<std::vector<unsigned>> countedOnce(unsigned limit) const;

private:
  std::optional<unsigned> firstWith(const Link &link,
                                    bool Switch::*capability) const;

  const Topology &topology;
  const std::vector<unsigned> nothing;
  std::vector<std::vector<unsigned>> switchesOf; ///< by rank, ascending
  /// By switch and rank.
  std::vector<std::vector<std::vector<unsigned>>> outOf, into;
};

/// Counts the sends of one step after the other that go by way of switches.
class SwitchLoads {
public:
  explicit SwitchLoads(const Topology &topology) : limits(topology) {}

  /// True if a switch joins the ends of `link` that does what `send` asks for.
  bool serves(const Send &send, const Link &link) const {
    return switchOf(send, link).has_value();
  }
  /// Calls add(limit) for those of `limitsOfLink` from which `send` takes a
  /// chunk of its own, after the sends of this step that were counted before.
  template <typename Add>
  void count(const Send &send, const Link &link,
             const std::vector<unsigned> &limitsOfLink, Add add) {
    std::optional<unsigned> number = switchOf(send, link);
    bool isFirst = !number || isFirstOf(send, *number);
    for (unsigned limit : limitsOfLink)
      if (isFirst ||
          !std::ranges::binary_search(limits.common(send, *number), limit))
        add(limit);
    if (number && isFirst)
      for (unsigned limit : limits.ownCopy(send, *number))
        add(limit);
  }
  /// The next send is of another step.
  void finishStep() { seen.clear(); }

private:
  std::optional<unsigned> switchOf(const Send &send, const Link &link) const;
  /// True if no earlier send of the step is one with this in the switch.
  bool isFirstOf(const Send &send, unsigned number);

  SwitchLimits limits;
  /// Transport, switch, rank, chunk, and what tells apart what is sent or
  /// where it is kept.
  using Key = std::array<uint32_t, 6>;
  struct KeyHash {
    size_t operator()(const Key &key) const {
      size_t hash = 0;
      for (uint32_t word : key)
        hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      return hash ^ hash >> 32;
    }
  };
  std::unordered_set<Key, KeyHash> seen; // looked up, not iterated
};

/// Lets switches multicast what ranks of `schedule`, which only copies, send to
/// several others in a step.
void multicast(Schedule &schedule, const Topology &topology);

/// By limit, the chunks that a schedule has it carry in all steps together.
/// Sends over links that the topology lacks count nowhere.
std::vector<uint64_t> limitLoads(const Schedule &schedule,
                                 const Topology &topology);

} // namespace sccl

#endif // SCCL_MODEL_SWITCHLOADS_H
