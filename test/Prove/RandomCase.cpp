//===- RandomCase.cpp - From a random topology to a result ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/Composition.h"
#include "sccl/Solver/Solver.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::test;

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// Grows a schedule step by step.
class Grower {
public:
  Grower(Random &random, const Topology &topology, const Collective &collective)
      : random(random), topology(topology), collective(collective),
        held(collective.pre()) {}

  Schedule grow() {
    Schedule schedule;
    while (!isDone())
      if (Step step = nextStep(); !step.sends.empty())
        schedule.steps.push_back(std::move(step));
    fitRounds(schedule, topology);
    return schedule;
  }

private:
  bool isDone() const {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      for (unsigned chunk : collective.post().chunksOf(rank))
        if (!held.contains(rank, chunk))
          return false;
    return true;
  }

  /// Each link brings up to three chunks, or nothing.
  Step nextStep() {
    Step step;
    RankChunkSet next = held;
    for (const Link &link : topology.links()) {
      if (random() % 3 == 0)
        continue;
      std::vector<unsigned> missing;
      for (unsigned chunk : held.chunksOf(link.src))
        if (!next.contains(link.dst, chunk))
          missing.push_back(chunk);
      for (unsigned left = 1 + random() % 3; left-- > 0 && !missing.empty();) {
        size_t index = random() % missing.size();
        unsigned chunk = missing[index];
        missing.erase(missing.begin() + index);
        next.insert(link.dst, chunk);
        step.sends.push_back({chunk, link.src, link.dst});
      }
    }
    held = next;
    return step;
  }

  Random &random;
  const Topology &topology;
  const Collective &collective;
  RankChunkSet held;
};

/// A schedule by an engine, with few steps and rounds to spare, or nothing if
/// there is none or it takes long.
std::optional<RandomCase> synthesizeCase(Random &random,
                                         const Topology &topology,
                                         const Collective &collective) {
  unsigned longest = 1;
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    for (unsigned distance : topology.distancesFrom(rank))
      longest = std::max(longest, distance);
  unsigned steps = longest + random() % 3;
  unsigned rounds = steps + random() % (2 * collective.numChunks() + 1);
  Result<Instance> instance =
      Instance::make(topology, collective, steps, rounds);
  if (!instance)
    return std::nullopt;
  SolverOptions options;
  options.maxWork = 20000; // some ten milliseconds
  options.useBounds = false;
  SynthesisResult result = synthesize(*instance, options);
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return std::nullopt;
  return RandomCase{
      topology, {collective, std::move(satisfied->schedule)}, result.engine};
}

/// A grown schedule, or what follows from one: its inverse, or the two halves
/// of an all_reduce.
RandomCase growCase(Random &random, const Topology &topology) {
  Collective collective = randomCollective(random, topology.numRanks());
  auto grown = [&](const Topology &on) {
    return Implementation{collective, growSchedule(random, on, collective)};
  };
  unsigned kind = random() % 3;
  // A plan is for ranks of which one at least has something to send.
  auto sends = [](const Collective &collective) {
    for (unsigned rank = 0; rank < collective.numRanks(); ++rank)
      if (collective.inputSlots(rank) != 0)
        return true;
    return false;
  };
  if (kind == 0)
    if (Result<Implementation> inverse = invert(grown(topology.reversed()));
        inverse && sends(inverse->collective))
      return {topology, *inverse, "grown, inverted"};
  if (kind == 1 && collective.kind() == CollectiveKind::AllGather)
    return {topology,
            must(composeAllReduce(grown(topology.reversed()), grown(topology))),
            "grown, composed"};
  return {topology, grown(topology), "grown"};
}
} // namespace

Schedule test::growSchedule(Random &random, const Topology &topology,
                            const Collective &collective) {
  return Grower(random, topology, collective).grow();
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// True in one of `times` draws.
static bool once(Random &random, unsigned times) {
  return random() % times == 0;
}

LoweringOptions test::randomLowering(Random &random) {
  LoweringOptions options;
  constexpr TransportChoice transports[] = {
      TransportChoice::Push, TransportChoice::Pull, TransportChoice::Auto,
      TransportChoice::DMA};
  options.transport = transports[random() % std::size(transports)];
  options.steps = once(random, 4);
  options.throughScratch = once(random, 2);
  bool bySteps = runsBySteps(options);
  options.doubleBuffer = !bySteps && once(random, 2);
  options.ll =
      !bySteps && options.transport == TransportChoice::Push && once(random, 2);
  constexpr CodeShapeChoice shapes[] = {
      CodeShapeChoice::Auto, CodeShapeChoice::Unrolled, CodeShapeChoice::Table};
  options.codeShape = shapes[random() % std::size(shapes)];
  if (once(random, 4)) {
    options.pieces = 2 + random() % 4;
    options.pieceDistance = 1 + random() % 6;
  }
  options.element = elementTypes()[random() % elementTypes().size()].id;
  options.reduction = reductions()[random() % reductions().size()];
  return options;
}

RandomCase test::makeCase(Random &random, unsigned maxRanks) {
  Topology topology = randomTopology(random, maxRanks);
  addSharedLimits(random, topology);
  std::optional<RandomCase> made;
  if (once(random, 2))
    made = synthesizeCase(random, topology,
                          once(random, 2)
                              ? randomSumOf(random, topology.numRanks())
                              : randomCollective(random, topology.numRanks()));
  if (!made)
    made = growCase(random, topology);
  made->lowering = randomLowering(random);
  // Sums in LL words have 4 bytes at most.
  made->lowering.ll &= !made->implementation.collective.combining() ||
                       elementType(made->lowering.element).bytes <= 4;
  made->reach = Reach(random() % 3);
  if (made->reach == Reach::Messages) {
    LoweringOptions plain;
    plain.element = made->lowering.element;
    plain.reduction = made->lowering.reduction;
    made->lowering = plain;
  }
  unsigned chunks = made->implementation.collective.chunksPerSegment();
  const uint64_t sizes[] = {0,          1,       chunks - 1u,       chunks,
                            chunks + 1, 3 * 64u, random() % 5000ull};
  made->elements = sizes[random() % std::size(sizes)];
  made->inPlace = once(random, 3);
  chooseOrder(*made);
  return *made;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

std::string test::describe(const RandomCase &given) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const LoweringOptions &options = given.lowering, plain;
  const ElementType &element = elementType(options.element);
  os << "--element=" << options.element << " --reduction=" << options.reduction;
  if (options.transport != plain.transport)
    os << " --transport=" << options.transport;
  if (options.codeShape != plain.codeShape)
    os << " --code-shape=" << options.codeShape;
  if (options.pieces != plain.pieces)
    os << " --pieces=" << options.pieces
       << " --piece-distance=" << options.pieceDistance;
  if (options.wire != plain.wire)
    os << " --wire=" << options.wire;
  if (options.sumOrder != plain.sumOrder)
    os << " --order=" << options.sumOrder;
  for (auto [member, word] :
       {std::pair(&LoweringOptions::steps, "steps"),
        std::pair(&LoweringOptions::throughScratch, "through-scratch"),
        std::pair(&LoweringOptions::doubleBuffer, "double-buffer"),
        std::pair(&LoweringOptions::ll, "ll")})
    if (options.*member)
      os << " --" << word;
  constexpr const char *reaches[] = {"memory", "copies", "messages"};
  os << (given.inPlace ? " --in-place" : "") << "  # segments of "
     << given.elements << " elements of " << element.bytes
     << " bytes, ranks by " << reaches[unsigned(given.reach)]
     << ", schedule: " << given.source;
  return text;
}
