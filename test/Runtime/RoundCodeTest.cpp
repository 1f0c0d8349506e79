//===- RoundCodeTest.cpp - Code for GPUs between messages -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What ranks compute between messages is done by emulated GPUs, in all ranks'
// memory one after the other; messages are copies.
//
//===----------------------------------------------------------------------===//

#include "MessageKernel.h"

#include "Runtime/Messages/RoundProgram.h"

#include "sccl/Emulate/Code.h"
#include "sccl/Emulate/Machine.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

using namespace sccl;

namespace {
/// Buffers by BufferField.
struct RankBuffers {
  MessageProgram messages;
  RoundProgram program;
  std::array<std::string, 3> bytes;
};

/// All ranks of a program.
class RoundCode {
public:
  /// With the last program of the plan at `path`.
  RoundCode(const char *path, unsigned blocks, size_t elements);
  void run();
  std::vector<float> output(unsigned rank) const;
  unsigned numRanks() const { return ranks.size(); }
  unsigned launches = 0;

private:
  void compute(RankBuffers &rank, const RoundProgram::Round &begin,
               const RoundProgram::Round &end);
  void exchange(unsigned round);
  char *place(RankBuffers &rank, const MessageSlot &slot) const;

  const unsigned blocks;
  const uint64_t segment;
  plan::Plan plan;
  const plan::KernelInfo *kernel = nullptr;
  std::optional<Result<emulate::Code>> code;
  std::vector<RankBuffers> ranks;
};
} // namespace

static float valueOf(unsigned rank, size_t i) {
  return float((i * 7 + rank * 13) % 1021);
}

RoundCode::RoundCode(const char *path, unsigned blocks, size_t elements)
    : blocks(blocks), segment(elements * sizeof(float)) {
  kernel = readMessageKernel(path, plan);
  if (!kernel)
    return;
  code.emplace(emulate::Code::parse(plan.blobs[kernel->blob]));
  ranks.resize(plan.manifest.ranks);
  for (unsigned i = 0; i < ranks.size(); ++i) {
    const plan::RankLayout &layout = plan.manifest.layout[i];
    RankBuffers &rank = ranks[i];
    Status status =
        MessageProgram::read(plan.rankTables[*kernel->rankTables][i], i,
                             ranks.size(), rank.messages);
    EXPECT_TRUE(status.ok()) << status.message();
    rank.program = RoundProgram::make(rank.messages, blocks);
    const MessageHeader &header = rank.messages.header();
    rank.bytes[0].resize(layout.inputSegments * segment);
    rank.bytes[1].assign(layout.outputSegments * segment, char(-1));
    rank.bytes[2].assign(header.scratchSlots *
                             chunkStride(segment, header.chunksPerSegment),
                         char(-1));
    auto *input = reinterpret_cast<float *>(rank.bytes[0].data());
    for (size_t at = 0; at < elements; ++at)
      input[at] = valueOf(i, at);
  }
}

/// Executes the launches of a round in one stream.
void RoundCode::compute(RankBuffers &rank, const RoundProgram::Round &begin,
                        const RoundProgram::Round &end) {
  emulate::Machine machine(**code, /*streams=*/1, blocks, kernel->blockSize,
                           {});
  std::array<uint64_t, 3> addresses;
  const char *names[] = {"input", "output", "scratch"};
  for (unsigned i = 0; i < 3; ++i) {
    addresses[i] = machine.allocate(rank.bytes[i].size() + 16, names[i]);
    machine.write(0, addresses[i], rank.bytes[i]);
  }
  uint64_t control =
      machine.allocate(ControlLayout{1, 0, blocks}.controlBytes(), "control");
  uint64_t abort = machine.allocate(sizeof(uint64_t), "abort");
  const std::string &tables = rank.program.tables;
  uint64_t table =
      machine.allocateConstant(tables.data(), tables.size(), "tables");
  for (uint32_t i = begin.firstLaunch; i < end.firstLaunch; ++i, ++launches)
    // Not always all that there may be.
    machine.launch(0, kernel->symbols.front(), 1 + i % blocks,
                   {addresses[0], addresses[1], addresses[2], control,
                    /*peers=*/0, abort, segment, segment,
                    table + rank.program.launches[i].table,
                    reductionNumber(7, 0), 1 + i % blocks});
  for (unsigned i = 0; i < 3; ++i)
    machine.read(0, addresses[i], rank.bytes[i].size(),
                 [&, i](const std::string &read) { rank.bytes[i] = read; });
  machine.run();
  for (const emulate::Finding &finding : machine.findings())
    ADD_FAILURE() << finding.message;
}

char *RoundCode::place(RankBuffers &rank, const MessageSlot &slot) const {
  return rank.bytes[slot.buffer].data() +
         slotOffset(BufferField(slot.buffer), slot.slot,
                    rank.messages.header().chunksPerSegment, segment, segment);
}

/// What one rank sends to another arrives in the order of both.
void RoundCode::exchange(unsigned round) {
  std::map<std::pair<unsigned, unsigned>, std::deque<std::string>> ways;
  for (bool sends : {true, false})
    for (unsigned number = 0; number < ranks.size(); ++number) {
      RankBuffers &rank = ranks[number];
      const std::vector<RoundProgram::Round> &rounds = rank.program.rounds;
      if (round + 1 >= rounds.size())
        continue;
      for (uint32_t i = rounds[round].firstMessage;
           i < rounds[round + 1].firstMessage; ++i) {
        const MessageRow &row = rank.messages.rows()[rank.program.messages[i]];
        uint64_t stride =
            chunkStride(segment, rank.messages.header().chunksPerSegment);
        uint64_t begin = std::min(row.position * stride, segment);
        uint64_t bytes = std::min(begin + row.count * stride, segment) - begin;
        if ((row.kind == MessageRow::Send) != sends || bytes == 0)
          continue;
        if (sends) {
          ways[{number, row.peer}].emplace_back(place(rank, row.src), bytes);
          continue;
        }
        auto &way = ways[{row.peer, number}];
        ASSERT_FALSE(way.empty()) << "nothing comes in round " << round;
        ASSERT_EQ(way.front().size(), bytes);
        std::memcpy(place(rank, row.dst), way.front().data(), bytes);
        way.pop_front();
      }
    }
  for (auto &[ends, way] : ways)
    EXPECT_TRUE(way.empty()) << "not received in round " << round;
}

void RoundCode::run() {
  ASSERT_TRUE(kernel);
  ASSERT_TRUE(*code) << code->error();
  size_t most = 0;
  for (const RankBuffers &rank : ranks)
    most = std::max(most, rank.program.rounds.size());
  for (unsigned round = 0; round + 1 < most; ++round) {
    for (RankBuffers &rank : ranks)
      if (const auto &rounds = rank.program.rounds; round + 1 < rounds.size())
        compute(rank, rounds[round], rounds[round + 1]);
    exchange(round);
  }
}

std::vector<float> RoundCode::output(unsigned rank) const {
  std::vector<float> values(segment / sizeof(float));
  std::memcpy(values.data(), ranks[rank].bytes[1].data(), segment);
  return values;
}

TEST(RoundCode, AddsUpOnGPUs) {
  for (const char *name : {"mesh8-rounds", "boxes2"})
    for (unsigned blocks : {1, 3}) {
      constexpr size_t elements = 1003;
      RoundCode code(
          (std::string(SCCL_TEST_PLANS "/") + name + "-all_reduce.sccl")
              .c_str(),
          blocks, elements);
      code.run();
      EXPECT_NE(code.launches, 0u);
      for (unsigned rank = 0; rank < code.numRanks(); ++rank) {
        std::vector<float> sum(elements);
        for (unsigned other = 0; other < code.numRanks(); ++other)
          for (size_t i = 0; i < elements; ++i)
            sum[i] += valueOf(other, i);
        EXPECT_EQ(code.output(rank), sum) << name << ", rank " << rank;
      }
    }
}
