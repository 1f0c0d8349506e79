//===- Programs.cpp - The programs of a plan on this device ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Programs.h"

#include "sccl/ABI/MessageTable.h"

#include <algorithm>
#include <climits>

using namespace sccl;

std::string sccl::listReductions(const plan::Manifest &manifest) {
  std::vector<std::string> names;
  for (const plan::KernelInfo &kernel : manifest.kernels) {
    std::string name = kernel.element + " " + kernel.reduction;
    if (std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  }
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// The slot of a kernel in LoadedProgram::functions; nothing if this version
/// does not know its type or reduction.
static std::optional<unsigned> functionIndex(const plan::KernelInfo &kernel) {
  if (kernel.element.empty())
    return 0;
  for (unsigned type = 0; type < numDataTypes; ++type)
    for (unsigned op = 0; op < numReductions; ++op)
      if (kernel.element == dataTypeName(scclDataType(type)) &&
          kernel.reduction == reductionName(scclRedOp(op)))
        return type * numReductions + op;
  return std::nullopt;
}

Status SharedFunctions::load(unsigned blob, const std::string &symbol,
                             const Grid &grid,
                             std::shared_ptr<DeviceFunction> &function) {
  std::shared_ptr<DeviceFunction> &entry =
      known[{blob, symbol, grid.blockSize}];
  if (!entry) {
    llvm::StringRef code;
    if (Status status = plan.findBlob(blob, code); !status.ok())
      return status;
    std::unique_ptr<DeviceFunction> made;
    if (Status status = device.load(code, symbol, grid, made); !status.ok())
      return status;
    entry = std::move(made);
  }
  function = entry;
  return {};
}

/// How well a kernel is for a purpose; 0 if it is not.
using Suitability = llvm::function_ref<unsigned(const plan::KernelInfo &)>;

/// Loads all kernels of one program, the best one for each type and reduction,
/// for launches of `grid`.
static Status loadProgram(const LoadedPlan &plan, unsigned rank, Device &device,
                          Suitability suitability, Grid grid,
                          LoadedProgram &program) {
  const plan::Manifest &manifest = plan.view.manifest;
  program.kernels.resize(manifest.combining ? numDataTypes * numReductions : 1);
  program.virtualKernels.resize(program.kernels.size());
  unsigned steps = program.functionsPerRank();
  program.functions.resize(program.kernels.size() * steps);
  for (const plan::KernelInfo &kernel : manifest.kernels) {
    std::optional<unsigned> index = functionIndex(kernel);
    if (kernel.program != program.index || !index ||
        kernel.element.empty() == manifest.combining)
      continue;
    const plan::KernelInfo *&entry = program.kernels[*index];
    unsigned suits = suitability(kernel);
    if (suits > (entry ? suitability(*entry) : 0))
      entry = &kernel;
  }
  SharedFunctions loaded(plan, device);
  for (size_t i = 0; i < program.functions.size(); ++i) {
    const plan::KernelInfo *kernel = program.kernels[i / steps];
    if (!kernel)
      continue;
    std::string symbol = kernel->symbolOf(rank);
    if (program.hasCopies())
      symbol += "_step" + std::to_string(i % steps);
    grid.blockSize = kernel->blockSize;
    if (Status status =
            loaded.load(kernel->blob, symbol, grid, program.functions[i]);
        !status.ok())
      return status;
  }
  return {};
}

unsigned LoadedProgram::blocksFor(const plan::KernelInfo &kernel,
                                  uint64_t segment) const {
  constexpr uint64_t accessBytes = 16;
  uint64_t bytes = llvm::SaturatingMultiply(
      info->largestTransfer, chunkStride(segment, chunksPerSegment));
  uint64_t busy = llvm::divideCeil(bytes, kernel.blockSize * accessBytes);
  busy = std::max<uint64_t>(busy, info->transfersAtOnce);
  return unsigned(std::clamp<uint64_t>(busy, 1, blocks));
}

/// Of the rank that has most.
static unsigned mostChannels(const plan::ProgramEntry &info) {
  unsigned most = 1;
  for (const RankNeeds &needs : info.ranks)
    most = std::max(most, needs.channels);
  return most;
}

/// See LoadedProgram::largestSegment: a power of two, and not so small that a
/// table that is a bit off costs much.
static uint64_t largestSegment(const plan::Manifest &manifest,
                               unsigned program) {
  constexpr uint64_t least = 64 << 10;
  uint64_t largest = 0;
  for (const plan::SizeTable &table : manifest.tables)
    for (size_t i = 0; i < table.choices.size(); ++i) {
      if (table.choices[i].program != program)
        continue;
      if (i + 1 == table.choices.size())
        return UINT64_MAX;
      largest = std::max(largest, table.choices[i + 1].firstByte);
    }
  return llvm::PowerOf2Ceil(std::max(largest / manifest.sendSegments, least));
}

/// What there is to say of program number `index` before code is loaded.
static void fillIn(const LoadedPlan &plan, unsigned index, unsigned number,
                   LoadedProgram &program) {
  const plan::Manifest &manifest = plan.view.manifest;
  program.index = index;
  program.info = &manifest.programs[index];
  if (!manifest.tables.empty())
    program.largestSegment = largestSegment(manifest, index);
  program.chunksPerSegment =
      manifest.schedules[program.info->schedule].chunksPerSegment;
  program.combines = manifest.combining;
  program.signature = uint64_t(number) * plan::Limits::entries + index + 1;
}

static bool hasCode(const LoadedProgram &program) {
  return std::any_of(program.functions.begin(), program.functions.end(),
                     [](const auto &function) { return function != nullptr; });
}

Status sccl::loadPrograms(const LoadedPlan &plan, unsigned rank,
                          unsigned number, Device &device, unsigned smBudget,
                          std::vector<LoadedProgram> &programs) {
  const plan::Manifest &manifest = plan.view.manifest;
  unsigned least = UINT_MAX; // of what is beyond the budget
  for (unsigned index = 0; index < manifest.programs.size(); ++index) {
    const plan::ProgramEntry &info = manifest.programs[index];
    unsigned channels = mostChannels(info);
    if (smBudget != 0 && channels > smBudget) {
      least = std::min(least, channels);
      continue;
    }
    LoadedProgram program;
    program.blocks =
        smBudget ? std::min(info.blocks, smBudget / channels) : info.blocks;
    fillIn(plan, index, number, program);
    Grid grid{info.ranks[rank].channels, program.blocks};
    auto suits = [&](const plan::KernelInfo &kernel) {
      return device.suitability(kernel);
    };
    if (Status status = loadProgram(plan, rank, device, suits, grid, program);
        !status.ok())
      return status;
    if (hasCode(program))
      programs.push_back(std::move(program));
  }
  if (!programs.empty())
    return {};
  if (least != UINT_MAX)
    return {scclErrorUnsupported,
            "the plan for " + manifest.collective + " needs at least " +
                std::to_string(least) +
                " multiprocessors, for a block of each channel of a rank, and "
                "smBudget is " +
                std::to_string(smBudget)};
  return {scclErrorUnsupported, "the plan has no code for " + device.target() +
                                    "; it has code for: " + plan.targets};
}

Status sccl::loadMessageCode(const LoadedPlan &plan, unsigned rank,
                             unsigned number, Device &device, unsigned blocks,
                             std::vector<LoadedProgram> &programs) {
  const plan::Manifest &manifest = plan.view.manifest;
  auto suits = [&](const plan::KernelInfo &kernel) {
    plan::KernelInfo code = kernel;
    llvm::StringRef chip = code.target;
    if (!chip.consume_front(messageChipPrefix))
      return 0u;
    code.target = chip.str();
    return device.suitability(code);
  };
  for (unsigned index = 0; index < manifest.programs.size(); ++index) {
    auto isForCPUs = [&](const plan::KernelInfo &kernel) {
      return kernel.program == index && kernel.target == messageTarget;
    };
    if (std::none_of(manifest.kernels.begin(), manifest.kernels.end(),
                     isForCPUs))
      continue;
    LoadedProgram program;
    program.blocks = blocks;
    fillIn(plan, index, number, program);
    if (Status status = loadProgram(plan, rank, device, suits,
                                    {/*channels=*/1, blocks}, program);
        !status.ok())
      return status;
    for (const plan::KernelInfo &kernel : manifest.kernels) {
      std::optional<unsigned> slot = functionIndex(kernel);
      if (isForCPUs(kernel) && slot && !program.functions[*slot])
        return {scclErrorUnsupported,
                std::string("the plan has no code for messages on ") +
                    device.target() + ", --target=" + messageChipPrefix +
                    device.target() + "; it has code for: " + plan.targets};
    }
    programs.push_back(std::move(program));
  }
  return {};
}

/// Bytes of scratch for a rank; at a switch, for the one that has most.
static uint64_t scratchOf(const LoadedProgram &program, unsigned rank,
                          uint64_t segment) {
  uint64_t most = program.scratchBytes(rank, segment);
  if (program.isAtSwitch())
    for (unsigned other = 0; other < program.info->ranks.size(); ++other)
      most = std::max(most, program.scratchBytes(other, segment));
  return most;
}

/// Places scratch of the programs that are at a switch, or of the others.
static void placeScratch(MemoryLayout &layout,
                         const std::vector<LoadedProgram> &programs,
                         unsigned rank, uint64_t pieceBytes, bool areAtSwitch,
                         llvm::function_ref<uint64_t(uint64_t)> place) {
  uint64_t shared = 0;
  for (const LoadedProgram &program : programs)
    if (program.info->announcesReady && program.isAtSwitch() == areAtSwitch)
      shared = std::max(shared, scratchOf(program, rank, pieceBytes));
  uint64_t scratch = place(shared);
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].isAtSwitch() == areAtSwitch)
      layout.scratches[i] =
          programs[i].info->announcesReady
              ? scratch
              : place(scratchOf(programs[i], rank,
                                programs[i].mostOf(pieceBytes)));
}

MemoryLayout::MemoryLayout(const plan::Manifest &manifest,
                           const std::vector<LoadedProgram> &programs,
                           unsigned rank, uint64_t pieceBytes,
                           bool isEnqueued) {
  constexpr uint64_t line = 256;
  uint64_t end = 0;
  auto place = [&](uint64_t size) {
    uint64_t begin = end;
    if (size != 0) {
      end = llvm::SaturatingAdd(begin, size, line) / line * line;
      gaps.push_back({begin + size, end});
    }
    return begin;
  };
  const plan::RankLayout &buffers = manifest.layout[rank];
  auto bytesOf = [](uint64_t segments, uint64_t segment) {
    return llvm::SaturatingMultiply(segments, segment);
  };
  scratches.resize(programs.size());
  separators.resize(programs.size());
  auto hasSeparator = [&](const LoadedProgram &program) {
    return isEnqueued && !program.info->announcesReady;
  };
  placeScratch(*this, programs, rank, pieceBytes, true, place);
  for (size_t i = 0; i < programs.size(); ++i)
    if (programs[i].isAtSwitch() && hasSeparator(programs[i]))
      separators[i].scratch =
          place(scratchOf(programs[i], rank, programs[i].separatorBytes()));
  atSwitch = end;
  bool stagesInput = buffers.inputSegments > 1;
  for (size_t i = 0; i < programs.size(); ++i) {
    const LoadedProgram &program = programs[i];
    controls.push_back(place(program.info->ranks[rank].controlBytes));
    stagesInput |= program.info->peersReadInput;
    Separator &separator = separators[i];
    if (!hasSeparator(program))
      continue;
    uint64_t segment = program.separatorBytes();
    separator.input = place(bytesOf(buffers.inputSegments, segment));
    separator.output = place(bytesOf(buffers.outputSegments, segment));
    if (!program.isAtSwitch())
      separator.scratch = place(program.scratchBytes(rank, segment));
    separator.control = place(program.info->ranks[rank].controlBytes);
  }
  placeScratch(*this, programs, rank, pieceBytes, false, place);
  input = place(stagesInput ? bytesOf(buffers.inputSegments, pieceBytes) : 0);
  output = place(bytesOf(buffers.outputSegments, pieceBytes));
  bytes = end;
}
