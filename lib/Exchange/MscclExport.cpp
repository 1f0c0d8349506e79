//===- MscclExport.cpp - From programs to algorithms of MSCCL -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each end of a link is a thread block of its own, or several if there are more
// steps than a block has room for, each with a channel of its own. Steps of
// blocks wait for each other where they touch the same chunk; a wait that
// another one implies is left out.
//
//===----------------------------------------------------------------------===//

#include "sccl/Exchange/Msccl.h"

#include "CallLayout.h"
#include "ConnectedMoves.h"
#include "MscclExport.h"
#include "MscclStructure.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// A block that is being filled, with numbers of moves.
struct OpenBlock {
  int sendPeer, receivePeer, channel;
  std::vector<uint32_t> moves;
};

class Exporter {
public:
  Exporter(const Program &program, size_t stepsPerBlock)
      : connected(connectMoves(program)), moves(connected.moves),
        mostSteps(stepsPerBlock), blocks(program.scratch.size()),
        blockOf(moves.size()), positionOf(moves.size()),
        receiverOf(moves.size()), waits(moves.size()), stepOf(moves.size()) {}
  /// Without what depends on the call.
  MscclAlgorithm write();

private:
  void add(uint32_t move);
  /// The blocks of a link's ends with room for one step more, made if there
  /// are none: numbers of blocks of the sender and the receiver.
  std::pair<size_t, size_t> openBlocks(unsigned src, unsigned dst);
  size_t localBlock(unsigned rank);
  void findWaits();
  MscclBlock writeBlock(const OpenBlock &open);

  const ConnectedMoves connected;
  const std::vector<Move> &moves;
  const size_t mostSteps;
  std::vector<std::vector<OpenBlock>> blocks; ///< by rank
  std::vector<size_t> blockOf, positionOf;    ///< by move
  std::vector<size_t> receiverOf;             ///< by send: a block of its peer
  std::vector<std::vector<uint32_t>> waits;   ///< by move, for moves
  std::vector<int> stepOf;                    ///< by move, with nops counted
  /// By sender and receiver, the last channel and the blocks of its ends.
  std::map<std::pair<unsigned, unsigned>, std::array<size_t, 3>> open;
  int numChannels = 1;
};
} // namespace

void Exporter::add(uint32_t number) {
  const Move &move = moves[number];
  size_t home;
  if (move.type == MscclType::Send)
    std::tie(home, receiverOf[number]) = openBlocks(move.rank, move.peer);
  else
    home = move.peer < 0 ? localBlock(move.rank) : receiverOf[move.send];
  OpenBlock &block = blocks[move.rank][home];
  blockOf[number] = home;
  positionOf[number] = block.moves.size();
  block.moves.push_back(number);
}

std::pair<size_t, size_t> Exporter::openBlocks(unsigned src, unsigned dst) {
  auto [at, isNew] = open.try_emplace({src, dst});
  auto &[channel, sender, receiver] = at->second;
  // A wait may take a nop, so that half of the steps are kept for them.
  bool isFull = !isNew && blocks[src][sender].moves.size() * 2 >= mostSteps;
  if (isNew || isFull) {
    // As many blocks of a rank and direction share a channel as may.
    constexpr size_t mostPerChannel = 32;
    auto count = [&](unsigned rank, bool isSend, size_t at) {
      return size_t(
          std::ranges::count_if(blocks[rank], [&](const OpenBlock &block) {
            return (isSend ? block.sendPeer : block.receivePeer) >= 0 &&
                   size_t(block.channel) == at;
          }));
    };
    channel = isNew ? 0 : channel + 1;
    while (count(src, true, channel) >= mostPerChannel ||
           count(dst, false, channel) >= mostPerChannel)
      ++channel;
    numChannels = std::max(numChannels, int(channel) + 1);
    sender = blocks[src].size();
    blocks[src].push_back({int(dst), -1, int(channel), {}});
    receiver = blocks[dst].size();
    blocks[dst].push_back({-1, int(src), int(channel), {}});
  }
  return {sender, receiver};
}

size_t Exporter::localBlock(unsigned rank) {
  std::vector<OpenBlock> &all = blocks[rank];
  for (size_t number = all.size(); number-- > 0;)
    if (all[number].sendPeer < 0 && all[number].receivePeer < 0) {
      if (all[number].moves.size() * 2 < mostSteps)
        return number;
      break;
    }
  all.push_back({-1, -1, 0, {}});
  return all.size() - 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Of each other block the last move that one has to wait for, unless an
/// earlier one of its own block has waited for it.
void Exporter::findWaits() {
  for (const std::vector<OpenBlock> &ofRank : blocks)
    for (const OpenBlock &block : ofRank) {
      std::map<size_t, size_t> waited; ///< moves, by block
      for (uint32_t number : block.moves) {
        std::map<size_t, uint32_t> last;
        for (uint32_t other : moves[number].after) {
          size_t &count = waited[blockOf[other]];
          if (blockOf[other] == blockOf[number] || positionOf[other] < count)
            continue;
          count = positionOf[other] + 1;
          last[blockOf[other]] = other;
        }
        for (auto [home, other] : last)
          waits[number].push_back(other);
      }
    }
}

/// Several waits of a step take nops.
MscclBlock Exporter::writeBlock(const OpenBlock &open) {
  MscclBlock block{{}, open.sendPeer, open.receivePeer, open.channel, {}};
  for (uint32_t number : open.moves) {
    const Move &move = moves[number];
    MscclStep step{{},
                   MscclType::Nop,
                   move.src.buffer,
                   move.dst.buffer,
                   int(move.src.chunk),
                   int(move.dst.chunk),
                   int(move.count),
                   -1,
                   -1,
                   false};
    for (uint32_t other : waits[number]) {
      step.waitsForBlock = int(blockOf[other]);
      step.waitsForStep = int(other); // its step, when all have theirs
      if (other != waits[number].back())
        block.steps.push_back(step);
    }
    step.type = move.type;
    stepOf[number] = int(block.steps.size());
    block.steps.push_back(step);
  }
  return block;
}

MscclAlgorithm Exporter::write() {
  for (uint32_t number = 0; number < moves.size(); ++number)
    add(number);
  findWaits();
  MscclAlgorithm result{};
  for (unsigned rank = 0; rank < blocks.size(); ++rank) {
    MscclGpu gpu{{}, 0, 0, int(connected.scratch[rank]), {}};
    for (const OpenBlock &block : blocks[rank])
      gpu.blocks.push_back(writeBlock(block));
    for (MscclBlock &block : gpu.blocks)
      for (MscclStep &step : block.steps)
        if (step.waitsForBlock >= 0) {
          step.waitsForStep = stepOf[step.waitsForStep];
          gpu.blocks[step.waitsForBlock].steps[step.waitsForStep].isAwaited =
              true;
        }
    result.gpus.push_back(std::move(gpu));
  }
  result.numChannels = numChannels;
  result.inPlace = connected.keepsInputs;
  return result;
}

//===----------------------------------------------------------------------===//
// Algorithms
//===----------------------------------------------------------------------===//

/// As files spell it for `dialect`; empty if they have no word for it.
static std::string spelling(CollectiveKind kind, MscclDialect dialect) {
  using enum CollectiveKind;
  bool isOriginal = dialect == MscclDialect::Original;
  if (kind == Custom || (isOriginal && (kind == Gather || kind == Scatter)))
    return "";
  std::string name(collectiveName(kind));
  if (kind != ReduceScatter || !isOriginal)
    std::erase(name, '_');
  return name;
}

Call exchange::callOf(const Collective &collective, const Program &program,
                      bool inPlace) {
  Call call{collective.kind(), collective.numRanks(), program.chunks,
            collective.root(), inPlace};
  call.chunks *= call.gathers() ? call.ranks : 1;
  return call;
}

MscclAlgorithm exchange::makeMsccl(const Collective &collective,
                                   const Program &program,
                                   size_t stepsPerBlock) {
  MscclAlgorithm result = Exporter(program, stepsPerBlock).write();
  Call call = callOf(collective, program, /*inPlace=*/false);
  result.chunks = int(call.chunks);
  for (MscclGpu &gpu : result.gpus) {
    gpu.inputChunks = int(call.inputs());
    gpu.outputChunks = int(call.outputs());
  }
  if (collective.kind() == CollectiveKind::AllToAll)
    result.inPlace = false;
  result.outOfPlace = true;
  return result;
}

Result<MscclAlgorithm> exchange::toMsccl(const Collective &collective,
                                         const Program &program,
                                         const MscclExportOptions &options) {
  std::string name = spelling(collective.kind(), options.dialect);
  if (name.empty())
    return Error{std::string(mscclDialectName(options.dialect)) + " has no '" +
                 collective.name() + "'"};
  MscclAlgorithm result =
      makeMsccl(collective, program, stepsPerBlock(options.dialect));
  result.name = options.name;
  result.collective = name;
  result.protocol = options.protocol;
  result.minBytes = options.minBytes;
  result.maxBytes = options.maxBytes;
  Findings findings;
  MscclCheckOptions check;
  check.dialect = options.dialect;
  check.root = collective.root();
  if (!checkMsccl(result, check, findings))
    return Error{"as an algorithm of MSCCL it is refused: " +
                 findings.first().front().message};
  return result;
}
