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
  for (const plan::RankLayout &layout : manifest.layout)
    outputSegments = std::max<uint64_t>(outputSegments, layout.outputSegments);
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
    // In place a rank has its output anywhere in a longer input.
    reachOutputs[set] =
        llvm::any_of(host,
                     [&](const MessageProgram &program) {
                       return NearProgram::needs(program, ranks).slots > 0;
                     }) &&
        llvm::all_of(manifest.layout, [](const plan::RankLayout &layout) {
          return layout.outputSegments > 0 &&
                 layout.inputSegments <= layout.outputSegments;
        });
    const NearParts nearParts = NearProgram::divide(host, *layout);
    for (bool reachesOutput : {false, true}) {
      auto &programs = reachesOutput ? outputPrograms : nearPrograms;
      if (Status status =
              NearProgram::make(host, nearParts, set, epoch, *layout,
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

/// Gives `piece` a table of the addresses of peers, with those of their outputs
/// where this rank's is in `region`.
Status StreamPlan::findPeers(const NearRanks::Region *region, Piece &piece) {
  piece.reachesOutput = region != nullptr;
  piece.peers = reinterpret_cast<PeerEntry *>(constants->data() + peerTable);
  if (!region)
    return {};
  auto place = uint64_t(piece.output - region->begin);
  std::pair key(region->number, place);
  piece.peers = outputPeers.find(key);
  return piece.peers ? Status()
                     : outputPeers.keep(group.device(), key,
                                        peersAt(region, place), piece.peers);
}

/// What goes to ranks of the host and comes from them in some part that there
/// is of round number `round`. Both ends have as many blocks: all ranks know
/// the longest message, whatever the blocks of their kernels are.
Status StreamPlan::writeNear(const Piece &piece, size_t round, NearPart part) {
  const NearProgram &program =
      (piece.reachesOutput ? outputPrograms : nearPrograms)[piece.set];
  constexpr unsigned usualBlockSize = 256;
  uint64_t busy = llvm::divideCeil(
      blocksFor(piece, piece.messages->header().mostChunks, usualBlockSize),
      layout->groups());
  LaunchArguments arguments = argumentsFor(piece);
  arguments.control = memory->data();
  arguments.peers = piece.peers;
  arguments.abort = group.near()->abortWord();
  arguments.table = constants->data() +
                    (piece.reachesOutput ? firstOutput : firstNear)[piece.set] +
                    program.rounds[round][part];
  arguments.blocks = std::min<uint64_t>(busy, layout->blocksPerGroup());
  return group.device().launch(*nearFunction, arguments, piece.stream);
}

/// Where messages are long, what goes to ranks of the host does so beside what
/// leaves the host, and some of it beside what this rank computes.
Status StreamPlan::runRound(Piece piece, size_t round,
                            const RoundProgram::Round &begin,
                            const RoundProgram::Round &end) {
  const RoundProgram &program = rounds[piece.set];
  auto messages =
      llvm::ArrayRef(program.messages)
          .slice(begin.firstMessage, end.firstMessage - begin.firstMessage);
  const bool computes = begin.firstLaunch != end.firstLaunch;
  const bool isDivided = theNeeds.divides && isLong(piece);
  const NearPart last = isDivided ? NearPart::Late : NearPart::Whole;
  auto has = [&](NearPart part) {
    return layout && nearPrograms[piece.set].has(round, part);
  };
  const bool hasEarly = isDivided && has(NearPart::Early);
  const bool forks =
      isLong(piece) && ((hasEarly && (computes || !messages.empty())) ||
                        (has(last) && !messages.empty()));
  void *side = piece.stream;
  auto write = [&](NearPart part) -> Status {
    Piece beside = piece;
    if (Status status =
            forks ? group.device().fork(piece.stream, beside.stream) : Status();
        !status.ok())
      return status;
    side = beside.stream;
    return writeNear(beside, round, part);
  };
  Status status = hasEarly ? write(NearPart::Early) : Status();
  for (uint32_t i = begin.firstLaunch; status.ok() && i < end.firstLaunch; ++i)
    status = compute(piece, program.launches[i]);
  if (status.ok() && has(last))
    status = write(last);
  if (status.ok())
    status = exchange(piece, messages);
  // After an error, too: the caller waits for no other stream.
  Status joined =
      side != piece.stream ? group.device().join(piece.stream) : Status();
  return status.ok() ? joined : status;
}

Status StreamPlan::runPiece(const Piece &piece) {
  llvm::ArrayRef<RoundProgram::Round> all = rounds[piece.set].rounds;
  for (size_t i = 0; i + 1 < all.size(); ++i)
    if (Status status = runRound(piece, i, all[i], all[i + 1]); !status.ok())
      return status;
  return {};
}
