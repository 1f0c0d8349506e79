//===- MscclCheck.cpp - What a file of MSCCL does -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclStructure.h"
#include "MscclTrace.h"

#include "Contributions.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

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

static Memory initialMemory(const MscclLayout &layout, uint32_t ranks,
                            Sums &sums) {
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

static void checkResults(const MscclAlgorithm &algorithm,
                         const MscclLayout &layout, CollectiveKind kind,
                         uint32_t root, const Sums &sums, const Memory &memory,
                         const Trace &trace, Findings &findings) {
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
  MscclLayout layout(algorithm, kind, inPlace);
  Trace trace = makeMscclTrace(algorithm, layout, inPlace, findings);
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
