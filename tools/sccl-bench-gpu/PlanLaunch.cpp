//===- PlanLaunch.cpp - A plan's program on one GPU -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanLaunch.h"

#include "sccl/Model/ElementType.h"

#include <fstream>
#include <iterator>

using namespace sccl;
using namespace sccl::gpubench;

std::string gpubench::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Failure{"cannot read " + path};
  return {std::istreambuf_iterator<char>(file), {}};
}

PlanFile::PlanFile(const std::string &path) : bytes(readFile(path)) {
  Result<plan::PlanView> parsed = plan::parseWhole(bytes);
  if (!parsed)
    throw Failure{path + ": " + parsed.error()};
  view = std::move(*parsed);
}

/// The bytes of one rank's four buffers.
static std::vector<uint64_t> bufferBytes(const plan::Manifest &manifest,
                                         const plan::ProgramEntry &info,
                                         unsigned rank, uint64_t segment) {
  const plan::RankLayout &layout = manifest.layout[rank];
  const RankNeeds &needs = info.ranks[rank];
  unsigned perSegment = manifest.schedules[info.schedule].chunksPerSegment;
  return {layout.inputSegments * segment, layout.outputSegments * segment,
          needs.scratchSlots * chunkStride(segment, perSegment),
          needs.controlBytes};
}

uint64_t PlanLaunch::bytesFor(const PlanFile &plan, unsigned program,
                              uint64_t segmentBytes) {
  const plan::Manifest &manifest = plan.view.manifest;
  uint64_t sum = 0;
  for (unsigned rank = 0; rank < manifest.ranks; ++rank)
    for (uint64_t bytes :
         bufferBytes(manifest, manifest.programs[program], rank, segmentBytes))
      sum += bytes;
  return sum;
}

static const plan::KernelInfo &findKernel(const plan::Manifest &manifest,
                                          unsigned program,
                                          const std::string &element) {
  for (const plan::KernelInfo &kernel : manifest.kernels)
    if (kernel.program == program && kernel.element == element &&
        !kernel.virtualSymbol.empty())
      return kernel;
  throw Failure{"the plan has no virtual kernel for program " +
                std::to_string(program) + " " + element};
}

/// What a launch passes for the reduction of `kernel`.
static uint64_t numberOf(const plan::KernelInfo &kernel) {
  if (kernel.element.empty())
    return 0;
  Result<ElementType> type = findElementType(kernel.element);
  Result<Reduction> op = findReduction(kernel.reduction);
  if (!type || !op)
    throw Failure{!type ? type.error() : op.error()};
  return reductionNumber(type->number, unsigned(*op));
}

PlanLaunch::PlanLaunch(Cuda &cuda, const PlanFile &plan, unsigned program,
                       const std::string &element, uint64_t segmentBytes)
    : info(plan.view.manifest.programs[program]), cuda(cuda),
      segmentBytes(segmentBytes) {
  const plan::Manifest &manifest = plan.view.manifest;
  perSegment = manifest.schedules[info.schedule].chunksPerSegment;
  const plan::KernelInfo &code = findKernel(manifest, program, element);
  unsigned channels = 0;
  for (unsigned rank = 0; rank < manifest.ranks; ++rank) {
    channels += info.ranks[rank].channels;
    std::vector<void *> parts;
    for (uint64_t bytes : bufferBytes(manifest, info, rank, segmentBytes))
      parts.push_back(allocate(bytes));
    table.push_back({parts[0], parts[1], parts[2], parts[3]});
  }
  placeRankTables(plan, code);
  reduction = numberOf(code);
  arguments = passTable(table);
  nobody = passTable(std::vector<PeerEntry>(manifest.ranks));
  entry = cuda.find(cuda.load(plan.view.blobs[code.blob].str()),
                    code.virtualSymbol, channels * info.blocks, code.blockSize);
}

char *PlanLaunch::allocate(uint64_t bytes) {
  memory.push_back(std::make_unique<DeviceMemory>(cuda, bytes));
  return memory.back()->data();
}

/// Copies what ranks pass to the kernel beside addresses to the device.
void PlanLaunch::placeRankTables(const PlanFile &plan,
                                 const plan::KernelInfo &code) {
  rankTables.resize(table.size());
  if (!code.rankTables)
    return;
  for (unsigned rank = 0; rank < table.size(); ++rank) {
    const plan::PartRange &range = plan.view.parts[rank];
    Result<plan::RankPart> part = plan::readPart(
        plan.view, rank,
        llvm::StringRef(plan.bytes).substr(range.offset, range.bytes));
    if (!part)
      throw Failure{part.error()};
    llvm::StringRef bytes = part->rankTables[*code.rankTables];
    char *place = allocate(bytes.size());
    cuda.copy(place, bytes.data(), bytes.size());
    rankTables[rank] = place;
  }
  cuda.wait();
}

/// Copies what kernels read to the device.
RankArguments *PlanLaunch::passTable(const std::vector<PeerEntry> &entries) {
  char *peers = allocate(entries.size() * sizeof(PeerEntry));
  cuda.copy(peers, entries.data(), entries.size() * sizeof(PeerEntry));
  std::vector<RankArguments> records;
  for (size_t rank = 0; rank < entries.size(); ++rank) {
    const PeerEntry &own = entries[rank];
    records.push_back({own.input, own.output, own.scratch, own.control,
                       reinterpret_cast<PeerEntry *>(peers), cuda.abortWord(),
                       segmentBytes, segmentBytes, rankTables[rank], reduction,
                       info.blocks});
  }
  char *array = allocate(records.size() * sizeof(RankArguments));
  cuda.copy(array, records.data(), records.size() * sizeof(RankArguments));
  cuda.wait(); // the copies read memory of this function
  return reinterpret_cast<RankArguments *>(array);
}

RankArguments *PlanLaunch::otherArguments(uint64_t bytes) {
  std::vector<PeerEntry> entries = table;
  for (PeerEntry &entry : entries) {
    entry.scratch = allocate(bytes);
    entry.control = allocate(bytes);
  }
  return passTable(entries);
}

void PlanLaunch::enqueueWith(RankArguments *records) {
  void *parameters[] = {&records};
  cuda.launch(entry, parameters);
}

void PlanLaunch::enqueue() { enqueueWith(arguments); }

void PlanLaunch::enqueueIdle() { enqueueWith(nobody); }

double PlanLaunch::trafficBytes() const {
  return double(info.chunksMoved) * segmentBytes / perSegment;
}
