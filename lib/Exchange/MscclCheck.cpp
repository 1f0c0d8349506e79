//===- MscclCheck.cpp - What a file of MSCCL does -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclStructure.h"

#include "Contributions.h"

#include <algorithm>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

namespace {
/// Where the buffers of each rank are, as chunks of the collective.
class Layout {
public:
  Layout(const MscclAlgorithm &algorithm, CollectiveKind kind, bool inPlace)
      : algorithm(algorithm), inPlace(inPlace) {
    auto chunks = uint32_t(algorithm.chunks);
    auto part = uint32_t(algorithm.chunks / algorithm.gpus.size());
    inputs = kind == CollectiveKind::AllGather ? part : chunks;
    outputs = kind == CollectiveKind::ReduceScatter ? part : chunks;
    gathers = kind == CollectiveKind::AllGather;
    scatters = kind == CollectiveKind::ReduceScatter;
  }
  uint32_t numInputs() const { return inputs; }
  uint32_t numOutputs() const { return outputs; }
  uint32_t numCells(uint32_t rank) const {
    return scratch() + uint32_t(algorithm.gpus[rank].scratchChunks);
  }
  /// In place, the smaller buffer is the rank's part of the larger one.
  uint32_t cell(uint32_t rank, MscclBuffer buffer, uint32_t chunk) const {
    switch (buffer) {
    case MscclBuffer::Input:
      return chunk + (inPlace && gathers ? rank * inputs : 0);
    case MscclBuffer::Output:
      if (!inPlace)
        return inputs + chunk;
      return chunk + (scatters ? rank * outputs : 0);
    case MscclBuffer::Scratch:
      break;
    }
    return scratch() + chunk;
  }
  uint32_t size(uint32_t rank, MscclBuffer buffer) const {
    return buffer == MscclBuffer::Input ? inputs
           : buffer == MscclBuffer::Output
               ? outputs
               : uint32_t(algorithm.gpus[rank].scratchChunks);
  }

private:
  uint32_t scratch() const {
    return inPlace ? std::max(inputs, outputs) : inputs + outputs;
  }

  const MscclAlgorithm &algorithm;
  const bool inPlace;
  bool gathers, scatters;
  uint32_t inputs, outputs;
};
} // namespace

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

namespace {
/// Makes a trace of the steps of a file.
class TraceMaker {
public:
  TraceMaker(const MscclAlgorithm &algorithm, const Layout &layout,
             bool inPlace, Findings &findings)
      : algorithm(algorithm), layout(layout), inPlace(inPlace),
        findings(findings) {}
  Trace make();

private:
  std::optional<Cells> cells(const MscclStep &step, uint32_t rank,
                             MscclBuffer buffer, int first);
  void addBlock(uint32_t rank, const MscclBlock &block);
  /// Adds what steps of other blocks come before which.
  void addWaits();

  const MscclAlgorithm &algorithm;
  const Layout &layout;
  const bool inPlace;
  Findings &findings;
  Trace trace;
};
} // namespace

std::optional<Cells> TraceMaker::cells(const MscclStep &step, uint32_t rank,
                                       MscclBuffer buffer, int first) {
  uint32_t size = layout.size(rank, buffer);
  if (first < 0 || uint64_t(first) + uint64_t(step.count) > size) {
    findings.add(step.place, "chunks " + std::to_string(first) + " to " +
                                 std::to_string(first + step.count - 1) +
                                 " of a buffer of " + std::to_string(size));
    return std::nullopt;
  }
  return Cells{layout.cell(rank, buffer, uint32_t(first)),
               uint32_t(step.count)};
}

void TraceMaker::addBlock(uint32_t rank, const MscclBlock &block) {
  for (const MscclStep &step : block.steps) {
    Event event{step.place, rank, trace.numBlocks(), {}, {}, false, {}, {}};
    if (readsSource(step.type))
      event.reads = cells(step, rank, step.srcBuffer, step.src);
    if (writesDestination(step.type)) {
      event.writes = cells(step, rank, step.dstBuffer, step.dst);
      event.addsToWritten = step.type == MscclType::Reduce;
      if (!inPlace && step.dstBuffer == MscclBuffer::Input)
        findings.add(step.place, "writes to the send buffer of a call out of "
                                 "place");
    }
    // In place a chunk may be copied onto itself, which changes nothing.
    if (step.type == MscclType::Copy && event.reads && event.writes &&
        event.reads->first == event.writes->first)
      event.writes.reset();
    trace.events.push_back(std::move(event));
  }
}

void TraceMaker::addWaits() {
  uint32_t event = 0;
  for (uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank)
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      for (const MscclStep &step : block.steps) {
        if (step.waitsForBlock >= 0) {
          uint32_t other =
              trace.firstBlockOfRank[rank] + uint32_t(step.waitsForBlock);
          trace.events[event].after.push_back(trace.firstOfBlock[other] +
                                              uint32_t(step.waitsForStep));
        }
        ++event;
      }
}

Trace TraceMaker::make() {
  trace.firstOfBlock = {0};
  for (uint32_t rank = 0; rank < algorithm.gpus.size(); ++rank) {
    trace.firstBlockOfRank.push_back(trace.numBlocks());
    for (const MscclBlock &block : algorithm.gpus[rank].blocks) {
      addBlock(rank, block);
      trace.firstOfBlock.push_back(uint32_t(trace.events.size()));
    }
  }
  trace.firstBlockOfRank.push_back(trace.numBlocks());
  addWaits();
  for (auto [send, receive] : matchMsccl(algorithm, findings))
    trace.events[receive].from = send;
  return std::move(trace);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What an output chunk must hold; nothing if it does not matter.
static std::optional<Sum> wantedAt(CollectiveKind kind, uint32_t ranks,
                                   uint32_t part, uint32_t root, uint32_t rank,
                                   uint32_t chunk) {
  auto sumOf = [&](uint32_t input) {
    Sum sum;
    for (uint32_t source = 0; source < ranks; ++source)
      sum.push_back({{source, input}, 1});
    return sum;
  };
  switch (kind) {
  case CollectiveKind::AllReduce:
    return sumOf(chunk);
  case CollectiveKind::ReduceScatter:
    return sumOf(rank * part + chunk);
  case CollectiveKind::Reduce:
    return rank == root ? std::optional(sumOf(chunk)) : std::nullopt;
  case CollectiveKind::AllGather:
    return Sum{{{chunk / part, chunk % part}, 1}};
  case CollectiveKind::AllToAll:
    return Sum{{{chunk / part, rank * part + chunk % part}, 1}};
  case CollectiveKind::Broadcast:
    return Sum{{{root, chunk}, 1}};
  default:
    return std::nullopt;
  }
}

static Memory initialMemory(const Layout &layout, uint32_t ranks, Sums &sums) {
  Memory memory;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    std::vector<SumId> &cells =
        memory.cells.emplace_back(layout.numCells(rank), Sums::nothing);
    for (uint32_t chunk = 0; chunk < layout.numInputs(); ++chunk)
      cells[layout.cell(rank, MscclBuffer::Input, chunk)] =
          sums.of({{{rank, chunk}, 1}});
  }
  return memory;
}

static void checkResults(const MscclAlgorithm &algorithm, const Layout &layout,
                         CollectiveKind kind, uint32_t root, const Sums &sums,
                         const Memory &memory, const Trace &trace,
                         Findings &findings) {
  auto ranks = uint32_t(algorithm.gpus.size());
  uint32_t part = uint32_t(algorithm.chunks) / ranks;
  for (uint32_t rank = 0; rank < ranks; ++rank)
    for (uint32_t chunk = 0; chunk < layout.numOutputs(); ++chunk) {
      std::optional<Sum> wanted =
          wantedAt(kind, ranks, part, root, rank, chunk);
      if (!wanted)
        continue;
      uint32_t cell = layout.cell(rank, MscclBuffer::Output, chunk);
      SumId held = memory.cells[rank][cell];
      std::string wrong =
          difference(held == Sums::nothing ? nullptr : &sums[held], *wanted);
      if (wrong.empty())
        continue;
      std::optional<uint32_t> writer = memory.writers[rank][cell];
      findings.add(writer ? trace.events[*writer].place
                          : algorithm.gpus[rank].place,
                   "output chunk " + std::to_string(chunk) + " of rank " +
                       std::to_string(rank) + " " + wrong);
    }
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Runs the file in place or out of place.
static void checkCall(const MscclAlgorithm &algorithm, CollectiveKind kind,
                      uint32_t root, bool inPlace, Findings &findings) {
  Layout layout(algorithm, kind, inPlace);
  Trace trace = TraceMaker(algorithm, layout, inPlace, findings).make();
  if (!findings.empty())
    return;
  std::optional<std::vector<uint32_t>> order = orderEvents(trace, findings);
  if (!order)
    return;
  std::vector<uint32_t> cells;
  auto ranks = uint32_t(algorithm.gpus.size());
  for (uint32_t rank = 0; rank < ranks; ++rank)
    cells.push_back(layout.numCells(rank));
  findRaces(trace, *order, cells, findings);
  Sums sums;
  Memory memory = initialMemory(layout, ranks, sums);
  execute(trace, *order, sums, memory, findings);
  if (findings.empty())
    checkResults(algorithm, layout, kind, root, sums, memory, trace, findings);
}

static MscclVerdict countParts(const MscclAlgorithm &algorithm,
                               MscclDialect dialect, CollectiveKind kind) {
  MscclVerdict verdict{dialect, kind};
  for (const MscclGpu &gpu : algorithm.gpus) {
    verdict.blocks += gpu.blocks.size();
    verdict.mostBlocks =
        std::max(verdict.mostBlocks, unsigned(gpu.blocks.size()));
    for (const MscclBlock &block : gpu.blocks) {
      verdict.steps += block.steps.size();
      verdict.mostSteps =
          std::max(verdict.mostSteps, unsigned(block.steps.size()));
    }
  }
  return verdict;
}

std::optional<MscclVerdict>
exchange::checkMsccl(const MscclAlgorithm &algorithm,
                     const MscclCheckOptions &options, Findings &findings) {
  MscclDialect dialect = options.dialect.value_or(guessDialect(algorithm));
  checkMscclLimits(algorithm, dialect, findings);
  std::optional<CollectiveKind> kind =
      options.as ? options.as : mscclCollective(algorithm, findings);
  if (!findings.empty() || !kind)
    return std::nullopt;
  if (!checkMscclStructure(algorithm, *kind, options.root, findings))
    return std::nullopt;
  MscclVerdict verdict = countParts(algorithm, dialect, *kind);
  // A file that says nothing is for what it does not exclude.
  verdict.inPlace = algorithm.inPlace.value_or(false);
  verdict.outOfPlace = algorithm.outOfPlace.value_or(!verdict.inPlace);
  for (bool inPlace : {false, true})
    if (inPlace ? verdict.inPlace : verdict.outOfPlace)
      if (findings.empty())
        checkCall(algorithm, *kind, options.root, inPlace, findings);
  if (!findings.empty())
    return std::nullopt;
  return verdict;
}
