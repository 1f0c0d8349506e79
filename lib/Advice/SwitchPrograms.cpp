//===- SwitchPrograms.cpp - With and without what switches do -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SwitchPrograms.h"

#include "Adviser.h"

#include "sccl/Pipelines/Ways.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::advice;

static Topology withoutSwitches(const Topology &topology) {
  Topology plain(topology.name(), topology.numRanks());
  for (const Link &link : topology.links())
    (void)plain.addLink(link.src, link.dst);
  for (const BandwidthLimit &limit : topology.limits())
    (void)plain.addLimit(limit.links, limit.bandwidth);
  return plain;
}

Fabric advice::withoutSwitches(const Fabric &fabric) {
  if (fabric.topology.switches().empty())
    return fabric;
  Fabric plain = fabric;
  plain.topology = ::withoutSwitches(fabric.topology);
  if (fabric.bounding)
    plain.bounding =
        std::make_shared<Fabric>(withoutSwitches(*fabric.bounding));
  return plain;
}

bool advice::maySwitchesDo(const Fabric &fabric, const Collective &collective,
                           const LoweringOptions &options) {
  const SumContract contract = contractFor(options);
  bool isFree = !contract.order.isTree() && !contract.oneRounding;
  return !fabric.topology.switches().empty() &&
         (isFree || !collective.combining());
}

/// True if there is a size for which the bytes of `candidate` by themselves
/// take less time than the best program does.
bool Adviser::mayTakeLess(const Candidate &candidate) const {
  return std::ranges::any_of(advice.sizes, [&](const SizeAdvice &size) {
    double moving = candidate.load * double(size.bytes) * fabric.unitTime;
    return isLess(std::max(moving, candidate.latency), size.microseconds);
  });
}

/// Lowers `variant`, and takes it where it is clearly faster. By size what it
/// takes; empty if it breaks the contract.
Result<std::vector<double>>
Adviser::tryInNetwork(const Variant &variant,
                      const std::optional<Variant> &next) {
  Lowerings::Lowered<Traffic> program =
      lowerings.traffic(variant, next, *limit);
  if (!program)
    return Error{program.error()};
  if (!*program)
    return std::vector<double>();
  return improve(allSizes(), *program, variant, asGood);
}

/// Tries `variant` in twice as many pieces as long as that helps where it may
/// come to be the best. Two may take longer than one.
std::optional<Error> Adviser::tryInPieces(Variant variant, TryVariant tryOne) {
  constexpr unsigned fewPieces = 4, maxPieces = 64;
  constexpr uint64_t maxSends = 100'000;
  auto inMorePieces = [&, order = variant.order](Variant cut) {
    cut.pieces *= 2;
    cut.order = order;
    bool isShort = cut.pieces <= maxPieces && choice.sendsOf(cut) <= maxSends;
    return isShort ? std::optional(cut) : std::nullopt;
  };
  std::vector<double> before;
  std::optional<Variant> next = variant;
  next->order = PieceOrder(); // of one piece
  while (next && !deadline.isOver()) {
    Variant present = *next;
    next = inMorePieces(present);
    Result<std::vector<double>> times = tryOne(present, next);
    if (!times)
      return Error{times.error()};
    bool isBetter = present.pieces <= fewPieces;
    for (size_t i = 0; i < std::min(times->size(), before.size()); ++i)
      isBetter |= isLess((*times)[i], before[i]) &&
                  (*times)[i] < far * advice.sizes[i].microseconds;
    if (!isBetter || times->empty())
      break;
    before = std::move(*times);
  }
  return std::nullopt;
}

std::optional<Error> Adviser::tryInNetwork(std::vector<Candidate> found) {
  // Copies, ports and network cards work at once.
  constexpr PieceOrder order{.distance = 2};
  for (Candidate &candidate : found) {
    if (!mayTakeLess(candidate))
      continue;
    size_t number = advice.candidates.size();
    advice.candidates.push_back(std::move(candidate));
    if (std::optional<Error> error = tryInPieces(
            {number, 1, order, ways.size()},
            [&](const Variant &variant, const std::optional<Variant> &next) {
              return tryInNetwork(variant, next);
            }))
      return error;
  }
  return std::nullopt;
}
