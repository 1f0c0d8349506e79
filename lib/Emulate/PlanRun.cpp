//===- PlanRun.cpp - Programs of plans, executed --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Emulate/PlanRun.h"

#include "sccl/ABI/TraceTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstring>

using namespace sccl;
using namespace sccl::emulate;
using plan::KernelInfo;
using plan::ProgramEntry;

namespace {
/// The addresses of one rank's memory.
struct RankMemory {
  uint64_t input = 0, output = 0, scratch = 0, control = 0, table = 0;
  uint64_t peers = 0;
  uint64_t scratchBytes = 0;
  uint64_t inputBytes = 0, outputBytes = 0; ///< of the largest launch
  RankRecord record;
};

class PlanRun {
public:
  PlanRun(const Code &code, const plan::Plan &plan, const KernelInfo &kernel,
          const RunRequest &request, const RunData &data)
      : plan(plan), kernel(kernel),
        program(plan.manifest.programs[kernel.program]), request(request),
        data(data),
        machine(code,
                request.sharedGPUs ? request.sharedGPUs : plan.manifest.ranks,
                mostBlocks(), kernel.blockSize, request.settings) {}

  RunReport run() {
    allocate();
    for (unsigned launch = 0; launch < request.launches; ++launch) {
      if (bytes != bytesOf(launch) && !program.announcesReady)
        machine.meet();
      bytes = bytesOf(launch);
      blocks = countOf(launch);
      for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank)
        fill(rank, launch);
      if (request.sharedGPUs != 0)
        launchShared();
      else
        for (unsigned step = 0; step < std::max(program.steps, 1u); ++step)
          launchEach(step);
      for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank)
        compare(rank, launch);
    }
    if (request.recorded != 0)
      readRecords();
    machine.run();
    RunReport report{machine.findings(), machine.execution(), {}};
    if (request.recorded != 0)
      for (RankMemory &memory : ranks)
        report.records.push_back(std::move(memory.record));
    return report;
  }

private:
  /// Of a segment.
  uint64_t bytesOf(unsigned launch) const {
    return request.segmentBytes[launch % request.segmentBytes.size()];
  }
  uint64_t mostBytes() const {
    return *std::max_element(request.segmentBytes.begin(),
                             request.segmentBytes.end());
  }

  /// Blocks of each channel.
  unsigned countOf(unsigned launch) const {
    return request.blocks.empty()
               ? program.blocks
               : request.blocks[launch % request.blocks.size()];
  }
  /// Of a kernel, for each block of a channel. That for virtual ranks has the
  /// channels of all.
  unsigned channelsOfAll() const {
    unsigned sum = 0;
    for (const RankNeeds &needs : program.ranks)
      sum += needs.channels;
    return sum;
  }
  /// Of the largest grid.
  unsigned mostBlocks() const {
    unsigned most = 0;
    for (const RankNeeds &needs : program.ranks)
      most = std::max(most, needs.channels);
    return (request.sharedGPUs ? channelsOfAll() : most) * program.blocks;
  }

  uint64_t buffer(uint64_t bytes, const std::string &name) {
    return machine.allocate(bytes + request.misalignment, name) +
           request.misalignment;
  }

  void allocateRank(unsigned rank) {
    RankMemory &memory = ranks.emplace_back();
    const plan::RankLayout &layout = plan.manifest.layout[rank];
    const RankNeeds &needs = program.ranks[rank];
    std::string of = " of rank " + std::to_string(rank);
    memory.inputBytes = layout.inputSegments * mostBytes();
    memory.outputBytes = layout.outputSegments * mostBytes();
    if (request.inPlace && layout.inPlaceOffset) {
      int64_t offset = *layout.inPlaceOffset * int64_t(mostBytes());
      int64_t begin = std::min<int64_t>(0, offset);
      int64_t end = std::max<int64_t>(memory.outputBytes,
                                      offset + int64_t(memory.inputBytes));
      memory.output = buffer(end - begin, "the buffer" + of) - begin;
      memory.input = memory.output + offset;
    } else {
      memory.input = buffer(memory.inputBytes, "the send buffer" + of);
      memory.output = buffer(memory.outputBytes, "the receive buffer" + of);
    }
    uint64_t stride =
        chunkStride(mostBytes(),
                    plan.manifest.schedules[program.schedule].chunksPerSegment);
    memory.scratchBytes = needs.scratchSlots * stride;
    memory.scratch = machine.allocate(memory.scratchBytes, "the scratch" + of);
    memory.control = machine.allocate(needs.controlBytes, "the control" + of);
    if (kernel.rankTables)
      placeTable(memory, streamOf(rank),
                 plan.rankTables[*kernel.rankTables][rank], of);
  }

  /// Code writes to the tables of what is traced.
  void placeTable(RankMemory &memory, unsigned stream, std::string bytes,
                  const std::string &of) {
    TraceTable traced;
    if (!TraceTable::read(bytes, traced)) {
      memory.table = machine.allocateConstant(bytes.data(), bytes.size(),
                                              "the table" + of);
      return;
    }
    RankRecord &record = memory.record;
    if (request.recorded != 0) {
      record.memory.resize(request.recorded * traced.launchBytes());
      record.place = machine.allocate(record.memory.size(), "the records" + of);
      traced.record(record.place, request.recorded);
      bytes = traced.bytes();
    }
    memory.table = machine.allocate(bytes.size(), "the table" + of);
    record.table = bytes;
    machine.write(stream, memory.table, std::move(bytes));
  }

  void readRecords() {
    for (unsigned rank = 0; rank < ranks.size(); ++rank) {
      RankMemory &memory = ranks[rank];
      RankRecord &record = memory.record;
      machine.read(streamOf(rank), memory.table, record.table.size(),
                   [&](const std::string &bytes) { record.table = bytes; });
      machine.read(streamOf(rank), record.place, record.memory.size(),
                   [&](const std::string &bytes) { record.memory = bytes; });
    }
  }

  void allocate() {
    std::vector<uint64_t> entries;
    for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank) {
      allocateRank(rank);
      const RankMemory &memory = ranks.back();
      entries.insert(entries.end(), {memory.input, memory.output,
                                     memory.scratch, memory.control});
    }
    if (request.switchGroups.empty()) {
      uint64_t peers = tableOf(entries);
      for (RankMemory &memory : ranks)
        memory.peers = peers;
    }
    for (const std::vector<unsigned> &group : request.switchGroups) {
      std::vector<uint64_t> its = entries;
      its.insert(its.end(), {0, 0, atSwitch(group), 0});
      for (unsigned rank : group)
        ranks[rank].peers = tableOf(its);
    }
    abort = machine.allocate(8, "the abort word");
  }

  uint64_t tableOf(const std::vector<uint64_t> &entries) {
    return machine.allocateConstant(entries.data(), 8 * entries.size(),
                                    "the table of peers");
  }

  /// The scratch of a group's ranks.
  uint64_t atSwitch(const std::vector<unsigned> &group) {
    std::vector<std::pair<uint64_t, uint64_t>> members;
    for (unsigned rank : group)
      members.emplace_back(ranks[rank].scratch, ranks[rank].scratchBytes);
    return machine.allocateMulticast(
        members, "the switch of rank " + std::to_string(group.front()));
  }

  /// The arguments of all ranks, as the kernel of one GPU reads them: ranks
  /// that are elsewhere have no control memory, and any table.
  uint64_t recordsOf(unsigned gpu) {
    std::vector<uint64_t> records;
    for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank) {
      std::vector<uint64_t> arguments = argumentsOf(rank);
      if (streamOf(rank) != gpu)
        arguments[unsigned(Argument::Control)] = 0;
      records.insert(records.end(), arguments.begin(), arguments.end());
    }
    return machine.allocateConstant(records.data(), 8 * records.size(),
                                    "the arguments of all ranks");
  }

  /// As in KernelABI.h.
  std::vector<uint64_t> argumentsOf(unsigned rank) const {
    const RankMemory &memory = ranks[rank];
    return {memory.input,   memory.output,
            memory.scratch, memory.control,
            memory.peers,   abort,
            bytes,          bytes,
            memory.table,   request.reduction,
            blocks};
  }

  unsigned streamOf(unsigned rank) const {
    return request.sharedGPUs != 0
               ? rank * request.sharedGPUs / plan.manifest.ranks
               : rank;
  }

  void fill(unsigned rank, unsigned launch) {
    std::string input(plan.manifest.layout[rank].inputSegments * bytes, 0);
    data.fill(rank, launch, input.data());
    machine.write(streamOf(rank), ranks[rank].input, std::move(input));
  }

  void compare(unsigned rank, unsigned launch) {
    machine.read(streamOf(rank), ranks[rank].output,
                 plan.manifest.layout[rank].outputSegments * bytes,
                 [this, rank, launch](const std::string &output) {
                   data.compare(rank, launch, output.data());
                 });
  }

  /// Hosts meet before and after every step of a program with steps.
  void launchEach(unsigned step) {
    if (program.steps != 0)
      machine.meet();
    for (unsigned rank = 0; rank < plan.manifest.ranks; ++rank) {
      std::string symbol = kernel.symbolOf(rank);
      if (program.steps != 0)
        symbol += "_step" + std::to_string(step);
      if (unsigned channels = program.ranks[rank].channels)
        machine.launch(rank, symbol, channels * blocks, argumentsOf(rank));
    }
    if (program.steps != 0)
      machine.meet();
  }

  void launchShared() {
    for (unsigned gpu = 0; gpu < request.sharedGPUs; ++gpu)
      machine.launch(gpu, kernel.virtualSymbol, channelsOfAll() * blocks,
                     {recordsOf(gpu)});
  }

  const plan::Plan &plan;
  const KernelInfo &kernel;
  const ProgramEntry &program;
  const RunRequest &request;
  const RunData &data;
  Machine machine;
  std::vector<RankMemory> ranks;
  uint64_t abort = 0;
  // In the launch that is laid out:
  uint64_t bytes = 0;  ///< of a segment
  unsigned blocks = 1; ///< of each channel
};
} // namespace

/// Whether each rank is in one group.
static bool areGroups(const std::vector<std::vector<unsigned>> &groups,
                      unsigned ranks) {
  std::vector<bool> isIn(ranks);
  for (const std::vector<unsigned> &group : groups)
    for (unsigned rank : group) {
      if (rank >= ranks || isIn[rank])
        return false;
      isIn[rank] = true;
    }
  return !llvm::is_contained(groups, std::vector<unsigned>()) &&
         llvm::all_of(isIn, [](bool is) { return is; });
}

Result<RunReport> emulate::runPlan(const Code &code, const plan::Plan &plan,
                                   const KernelInfo &kernel,
                                   const RunRequest &request,
                                   const RunData &data) {
  const ProgramEntry &program = plan.manifest.programs[kernel.program];
  for (const std::vector<EngineCopy> &copies : program.copies)
    if (!copies.empty())
      return Error{"hosts copy in this program"};
  if (request.segmentBytes.empty() ||
      (request.inPlace && request.segmentBytes.size() > 1))
    return Error{"in place, launches have one size"};
  for (unsigned blocks : request.blocks)
    if (blocks == 0 || blocks > program.blocks)
      return Error{std::to_string(blocks) +
                   " blocks for each channel, and the program is for 1 to " +
                   std::to_string(program.blocks)};
  if (request.sharedGPUs != 0 && kernel.virtualSymbol.empty())
    return Error{"no kernel for ranks that share a GPU"};
  if (!request.switchGroups.empty() &&
      (request.sharedGPUs != 0 ||
       !areGroups(request.switchGroups, plan.manifest.ranks)))
    return Error{"behind switches, each rank is in one group and has its GPU"};
  return PlanRun(code, plan, kernel, request, data).run();
}
