//===- NearCodeTest.cpp - Code for GPUs that write to their host's --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks are on one host, so that no messages are left. Emulated GPUs
// execute what each does in its stream; the emulator tells of races.
//
//===----------------------------------------------------------------------===//

#include "MessageKernel.h"

#include "Runtime/Messages/NearProgram.h"
#include "Runtime/Messages/RoundProgram.h"

#include "sccl/Emulate/Code.h"
#include "sccl/Emulate/Machine.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

using namespace sccl;

namespace {
/// A rank, and addresses of its memory.
struct NearRank {
  RoundProgram rounds;
  /// With landings, and where peers reach the output.
  std::array<NearProgram, 2> near;
  uint64_t input, output, memory, control, tables;
  std::array<uint64_t, 2> nearTables;
};

/// All ranks of a program.
class NearCode {
public:
  /// The last program of the plan at `path`, in launches of up to `blocks`
  /// blocks, with buffers of up to `most` elements.
  NearCode(const char *path, unsigned blocks, size_t most);
  /// Enqueues a launch with other values than those before.
  void launch(size_t elements);
  /// Executes all, and looks at the outputs.
  void run();

private:
  void addRanks(size_t most);
  void addRank(unsigned number, const std::vector<MessageProgram> &programs,
               size_t most);
  void launchRank(unsigned number, uint64_t segment);
  float valueOf(unsigned rank, size_t i) const {
    return float((i * 7 + rank * 13 + launches * 5) % 1021);
  }

  const unsigned blocks;
  plan::Plan plan;
  const plan::KernelInfo *kernel = nullptr;
  std::optional<Result<emulate::Code>> code;
  std::optional<emulate::Machine> machine;
  std::optional<NearLayout> layout;
  std::vector<NearRank> ranks;
  uint64_t scratch = 0, abort = 0;
  std::array<uint64_t, 2> peers = {}; ///< without outputs, and with them
  unsigned launches = 0, found = 0;
  std::array<unsigned, NearLayout::NumParts> written = {};
};
} // namespace

NearCode::NearCode(const char *path, unsigned blocks, size_t most)
    : blocks(blocks) {
  kernel = readMessageKernel(path, plan);
  if (!kernel)
    return;
  code.emplace(emulate::Code::parse(plan.blobs[kernel->blob]));
  if (!*code)
    return;
  machine.emplace(**code, plan.manifest.ranks, blocks, kernel->blockSize,
                  emulate::Settings{});
  addRanks(most);
}

void NearCode::addRanks(size_t most) {
  unsigned numRanks = plan.manifest.ranks;
  std::vector<unsigned> all(numRanks);
  std::iota(all.begin(), all.end(), 0);
  std::vector<MessageProgram> programs(numRanks);
  uint32_t slots = 0, epochs = 0;
  for (unsigned i = 0; i < numRanks; ++i) {
    Status status = MessageProgram::read(
        plan.rankTables[*kernel->rankTables][i], i, numRanks, programs[i]);
    ASSERT_TRUE(status.ok()) << status.message();
    NearProgram::Needs own = NearProgram::needs(programs[i], all);
    slots = std::max(slots, own.slots + programs[i].header().scratchSlots);
    epochs = std::max(epochs, own.epochs);
  }
  uint64_t stride =
      chunkStride(most * sizeof(float), programs[0].header().chunksPerSegment);
  abort = machine->allocate(sizeof(uint64_t), "abort");
  ranks.resize(numRanks);
  for (unsigned i = 0; i < numRanks; ++i) {
    layout.emplace(all, i, /*sets=*/1, blocks);
    scratch = (layout->epoch(epochs) + 255) / 256 * 256;
    ranks[i].memory = machine->allocate(scratch + slots * stride,
                                        "memory of rank " + std::to_string(i));
    addRank(i, programs, most);
  }
  for (unsigned reachesOutput : {0, 1}) {
    std::vector<uint64_t> entries;
    for (const NearRank &rank : ranks)
      for (uint64_t address : {uint64_t(0), reachesOutput ? rank.output : 0,
                               rank.memory + scratch, rank.memory})
        entries.push_back(address);
    peers[reachesOutput] = machine->allocateConstant(
        entries.data(), entries.size() * sizeof(uint64_t), "peers");
  }
}

void NearCode::addRank(unsigned number,
                       const std::vector<MessageProgram> &programs,
                       size_t most) {
  NearRank &rank = ranks[number];
  rank.rounds = RoundProgram::make(programs[number], blocks,
                                   [](unsigned) { return true; });
  EXPECT_TRUE(rank.rounds.messages.empty());
  for (bool reachesOutput : {false, true}) {
    Status status =
        NearProgram::make(programs, NearProgram::divide(programs, *layout),
                          /*set=*/0, /*firstEpoch=*/0, *layout, reachesOutput,
                          rank.near[reachesOutput]);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  std::string name = " of rank " + std::to_string(number);
  rank.input = machine->allocate(most * sizeof(float), "input" + name);
  rank.output = machine->allocate(most * sizeof(float), "output" + name);
  rank.control = machine->allocate(ControlLayout{1, 0, blocks}.controlBytes(),
                                   "control" + name);
  auto constant = [&](std::string bytes, const std::string &what) {
    bytes.resize(std::max<size_t>(bytes.size(), tableUnitBytes));
    return machine->allocateConstant(bytes.data(), bytes.size(), what + name);
  };
  rank.tables = constant(rank.rounds.tables, "tables");
  for (unsigned i : {0, 1})
    rank.nearTables[i] = constant(rank.near[i].tables, "near tables");
}

void NearCode::launchRank(unsigned number, uint64_t segment) {
  const NearRank &rank = ranks[number];
  // Launches of both kinds take turns.
  const unsigned kind = launches % 2;
  const NearProgram &near = rank.near[kind];
  auto enqueue = [&](unsigned grid, unsigned blocks, uint64_t control,
                     uint64_t table) {
    machine->launch(number, kernel->symbols.front(), grid,
                    {rank.input, rank.output, rank.memory + scratch, control,
                     peers[kind], abort, segment, segment, table,
                     reductionNumber(7, 0), blocks});
  };
  auto write = [&](size_t round, NearLayout::Part part) {
    if (!near.has(round, part))
      return;
    ++written[part];
    // Not always all that there may be.
    unsigned each = 1 + launches % layout->blocksPerGroup();
    enqueue(layout->groups() * each, each, rank.memory,
            rank.nearTables[kind] + near.rounds[round][part]);
  };
  const bool inParts = launches % 3 != 0;
  for (size_t i = 0; i + 1 < rank.rounds.rounds.size(); ++i) {
    // Beside what is computed: before and after it on half of the ranks each.
    const bool isFirst = (number + launches / 2) % 2 == 0;
    if (inParts && isFirst)
      write(i, NearLayout::Early);
    for (uint32_t j = rank.rounds.rounds[i].firstLaunch;
         j < rank.rounds.rounds[i + 1].firstLaunch; ++j)
      enqueue(blocks, blocks, rank.control,
              rank.tables + rank.rounds.launches[j].table);
    if (inParts && !isFirst)
      write(i, NearLayout::Early);
    write(i, inParts ? NearLayout::Late : NearLayout::Whole);
  }
}

void NearCode::launch(size_t elements) {
  ASSERT_TRUE(machine);
  std::vector<float> sum(elements);
  std::vector<std::vector<float>> values(ranks.size(), sum);
  for (unsigned i = 0; i < ranks.size(); ++i)
    for (size_t at = 0; at < elements; ++at)
      sum[at] += values[i][at] = valueOf(i, at);
  for (unsigned i = 0; i < ranks.size(); ++i) {
    size_t bytes = elements * sizeof(float);
    machine->write(i, ranks[i].input,
                   {reinterpret_cast<const char *>(values[i].data()), bytes});
    launchRank(i, bytes);
    machine->read(
        i, ranks[i].output, bytes, [this, i, sum](const std::string &read) {
          ++found;
          EXPECT_EQ(0, std::memcmp(read.data(), sum.data(), read.size()))
              << "rank " << i;
        });
  }
  ++launches;
}

void NearCode::run() {
  ASSERT_TRUE(machine);
  machine->run();
  for (const emulate::Finding &finding : machine->findings())
    ADD_FAILURE() << finding.message;
  EXPECT_EQ(found, launches * ranks.size());
  for (unsigned part : written)
    EXPECT_NE(part, 0u);
}

TEST(NearCode, AddsUpOnOneHost) {
  for (unsigned blocks : {1, 16}) {
    NearCode code(SCCL_TEST_PLANS "/mesh8-rounds-all_reduce.sccl", blocks,
                  1003);
    for (size_t elements : {5, 203, 203, 7})
      code.launch(elements);
    code.run();
  }
}
