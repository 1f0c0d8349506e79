//===- NearLaunches.cpp - What a plan writes within its host --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>

using namespace sccl;

/// Makes the launches in place of messages within the host, from the tables of
/// all its ranks.
Status StreamPlan::addNear(const LoadedPlan &plan) {
  llvm::ArrayRef<unsigned> ranks = nearRanks();
  std::vector<LoadedPart> parts(ranks.size());
  for (unsigned i = 0; i < ranks.size(); ++i)
    if (Status status = plan.readPart(ranks[i], parts[i]); !status.ok())
      return status;
  nearPrograms.resize(tables.size());
  outputPrograms.resize(tables.size());
  reachOutputs.resize(tables.size());
  unsigned epoch = 0;
  for (unsigned set = 0; set < tables.size(); ++set) {
    if (rounds[set].rounds.empty())
      continue;
    std::vector<MessageProgram> host(ranks.size());
    for (unsigned i = 0; i < ranks.size(); ++i)
      if (Status status = MessageProgram::read(
              parts[i].part.rankTables[set], ranks[i], manifest.ranks, host[i]);
          !status.ok())
        return status;
    for (const MessageProgram &program : host)
      reachOutputs[set] =
          reachOutputs[set] || NearProgram::needs(program, ranks).slots > 0;
    for (bool reachesOutput : {false, true}) {
      auto &programs = reachesOutput ? outputPrograms : nearPrograms;
      if (Status status = NearProgram::make(host, set, epoch, *layout,
                                            reachesOutput, programs[set]);
          !status.ok())
        return status;
    }
    epoch += NearProgram::needs(tables[set], ranks).epochs;
  }
  return addNearCode(plan);
}

/// Whatever code for messages there is can copy, and knows flags.
Status StreamPlan::addNearCode(const LoadedPlan &plan) {
  for (const LoadedProgram &program : programs)
    for (const plan::KernelInfo *kernel : program.kernels) {
      if (!kernel)
        continue;
      llvm::StringRef code;
      if (Status status = plan.findBlob(kernel->blob, code); !status.ok())
        return status;
      nearBlockSize = kernel->blockSize;
      return group.device().load(
          code, kernel->symbolOf(rank),
          {layout->groups(), layout->blocksPerGroup(), nearBlockSize},
          nearFunction);
    }
  return {};
}

/// The addresses of peers, with those of outputs at `place` of `region` if
/// there is one.
std::vector<PeerEntry> StreamPlan::peersAt(const NearRanks::Region *region,
                                           uint64_t place) const {
  std::vector<PeerEntry> peers;
  for (unsigned i = 0; i < nearRanks().size(); ++i) {
    char *base = (others[i] ? others[i] : memory)->data();
    char *output = !region             ? nullptr
                   : region->others[i] ? region->others[i]->data() + place
                                       : region->begin + place;
    peers.push_back({nullptr, output, base + nearControl, base});
  }
  return peers;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

bool StreamPlan::hasNear(const Piece &piece, size_t round) const {
  if (!layout)
    return false;
  const std::vector<uint64_t> &tables = nearPrograms[piece.set].rounds;
  return round < tables.size() && tables[round] != NearProgram::noTable;
}

/// Null unless messages of the host go to outputs, and that of this rank is in
/// memory that the host has mapped: then it is at one place of the same
/// allocation on all ranks. So it is not where ranks that work in place have it
/// in a longer input.
const NearRanks::Region *StreamPlan::regionOf(const JoinedPlan::Flight &flight,
                                              unsigned set) const {
  auto isAtOnePlace = [](const plan::RankLayout &layout) {
    return layout.outputSegments > 0 &&
           layout.inputSegments <= layout.outputSegments;
  };
  if (!group.near() || !reachOutputs[set] ||
      !llvm::all_of(manifest.layout, isAtOnePlace))
    return nullptr;
  uint64_t most = 0;
  for (const plan::RankLayout &layout : manifest.layout)
    most = std::max<uint64_t>(most, layout.outputSegments);
  return group.near()->find(flight.request.recv, most * flight.segmentBytes);
}

/// The table of the addresses of peers, of which a new one is made for outputs
/// at a new place.
Status StreamPlan::findPeers(const Piece &piece, PeerEntry *&table) {
  if (!piece.region) {
    table = reinterpret_cast<PeerEntry *>(constants->data() + peerTable);
    return {};
  }
  auto place = uint64_t(piece.output - piece.region->begin);
  auto found = outputPeers.find({piece.region->number, place});
  if (found != outputPeers.end()) {
    table = found->second;
    return {};
  }
  // Drivers give no less.
  constexpr uint64_t blockBytes = 2 << 20;
  std::vector<PeerEntry> peers = peersAt(piece.region, place);
  uint64_t bytes = peers.size() * sizeof(PeerEntry);
  Device &device = group.device();
  if (bytes > leftOfBlock) {
    std::unique_ptr<DeviceBuffer> block;
    uint64_t size = std::max(blockBytes, bytes);
    if (Status status = device.allocate(size, block); !status.ok())
      return status;
    peerBlocks.push_back(std::move(block));
    leftOfBlock = size;
  }
  const DeviceBuffer &block = *peerBlocks.back();
  char *at = block.data() + block.size() - leftOfBlock;
  if (Status status = device.copyNow(at, peers.data(), bytes); !status.ok())
    return status;
  leftOfBlock -= bytes;
  table = reinterpret_cast<PeerEntry *>(at);
  outputPeers.emplace(std::pair(piece.region->number, place), table);
  return {};
}

/// What goes to ranks of the host and comes from them in round number `round`.
/// Both ends have as many blocks: all ranks know the longest message, whatever
/// the blocks of their kernels are.
Status StreamPlan::writeNear(const Piece &piece, size_t round) {
  if (!hasNear(piece, round))
    return {};
  constexpr unsigned usualBlockSize = 256;
  const NearProgram &program =
      (piece.region ? outputPrograms : nearPrograms)[piece.set];
  uint64_t busy = llvm::divideCeil(
      blocksFor(piece, piece.messages->header().mostChunks, usualBlockSize),
      layout->groups());
  LaunchArguments arguments = argumentsFor(piece);
  arguments.control = memory->data();
  if (Status status = findPeers(piece, arguments.peers); !status.ok())
    return status;
  arguments.abort = group.near()->abortWord();
  arguments.table = constants->data() +
                    (piece.region ? firstOutput : firstNear)[piece.set] +
                    program.rounds[round];
  arguments.blocks = std::min<uint64_t>(busy, layout->blocksPerGroup());
  return group.device().launch(*nearFunction, arguments, piece.stream);
}
