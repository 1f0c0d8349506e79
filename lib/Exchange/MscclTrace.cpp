//===- MscclTrace.cpp - What a file of MSCCL does, step by step -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclTrace.h"

#include "MscclStructure.h"

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// Makes a trace of the steps of a file.
class TraceMaker {
public:
  TraceMaker(const MscclAlgorithm &algorithm, const CallLayout &layout,
             unsigned inFlight, Findings &findings)
      : algorithm(algorithm), layout(layout), inFlight(inFlight),
        findings(findings) {}
  Trace make();

private:
  std::optional<Cells> cells(const MscclStep &step, uint32_t rank,
                             Buffer buffer, int first);
  void addBlock(uint32_t rank, const MscclBlock &block);
  /// Adds what steps of other blocks come before which.
  void addWaits();
  /// Joins sends and receives, and makes sends wait for room.
  void joinEnds();

  const MscclAlgorithm &algorithm;
  const CallLayout &layout;
  const unsigned inFlight;
  Findings &findings;
  Trace trace;
};
} // namespace

CallLayout exchange::layoutOf(const MscclAlgorithm &algorithm,
                              const Call &call) {
  std::vector<uint32_t> scratch;
  for (const MscclGpu &gpu : algorithm.gpus)
    scratch.push_back(uint32_t(gpu.scratchChunks));
  return {call, std::move(scratch)};
}

static uint32_t sizeOf(const CallLayout &layout, uint32_t rank, Buffer buffer) {
  return buffer == Buffer::Input    ? layout.call.inputs()
         : buffer == Buffer::Output ? layout.call.outputs()
                                    : layout.scratchSize(rank);
}

static uint32_t cellOf(const CallLayout &layout, uint32_t rank, Buffer buffer,
                       uint32_t chunk) {
  return buffer == Buffer::Input    ? layout.input(rank, chunk)
         : buffer == Buffer::Output ? layout.output(rank, chunk)
                                    : layout.scratch(chunk);
}

std::optional<Cells> TraceMaker::cells(const MscclStep &step, uint32_t rank,
                                       Buffer buffer, int first) {
  uint32_t size = sizeOf(layout, rank, buffer);
  if (first < 0 || uint64_t(first) + uint64_t(step.count) > size) {
    findings.add(step.place, "chunks " + std::to_string(first) + " to " +
                                 std::to_string(first + step.count - 1) +
                                 " of a buffer of " + std::to_string(size));
    return std::nullopt;
  }
  return Cells{cellOf(layout, rank, buffer, uint32_t(first)),
               uint32_t(step.count)};
}

void TraceMaker::addBlock(uint32_t rank, const MscclBlock &block) {
  for (const MscclStep &step : block.steps) {
    Event event{};
    event.place = step.place;
    event.rank = rank;
    event.block = trace.numBlocks();
    if (readsSource(step.type))
      event.reads = cells(step, rank, step.srcBuffer, step.src);
    if (writesDestination(step.type)) {
      event.writes = cells(step, rank, step.dstBuffer, step.dst);
      event.addsToWritten = step.type == MscclType::Reduce;
      if (!layout.call.inPlace && step.dstBuffer == Buffer::Input)
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

void TraceMaker::joinEnds() {
  std::vector<std::pair<uint32_t, uint32_t>> pairs =
      matchMsccl(algorithm, findings);
  auto blockOf = [&](uint32_t event) { return trace.events[event].block; };
  for (size_t i = 0; i < pairs.size(); ++i) {
    auto [send, receive] = pairs[i];
    trace.events[receive].from = send;
    if (inFlight == 0 || i < inFlight)
      continue;
    auto [earlier, taken] = pairs[i - inFlight];
    // Connections have an end in a block of their own.
    if (blockOf(earlier) == blockOf(send) && blockOf(taken) == blockOf(receive))
      trace.events[send].follows.push_back(taken);
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
  joinEnds();
  return std::move(trace);
}

Trace exchange::makeMscclTrace(const MscclAlgorithm &algorithm,
                               const CallLayout &layout, unsigned inFlight,
                               Findings &findings) {
  return TraceMaker(algorithm, layout, inFlight, findings).make();
}
