//===- MscclStructure.cpp - What files of MSCCL must be like --------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclStructure.h"

#include "CallLayout.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Dialects
//===----------------------------------------------------------------------===//

namespace {
/// What the interpreters have room for. None of them checks all of it.
struct MscclLimits {
  std::string_view name;
  size_t stepsPerBlock, blocksPerRank;
  int mostAwaited; ///< the largest number of a block that can be waited for
  size_t blocksPerChannel; ///< and direction, of one rank
  int mostCount;
  int channels;
  bool needsWindow; ///< minBytes, maxBytes and outofplace
};
} // namespace

static const MscclLimits &limitsOf(MscclDialect dialect) {
  static const MscclLimits original = {
      "the original MSCCL", 256, 216, 215, 32, 71, 32, false};
  static const MscclLimits nccl = {
      "msccl-executor-nccl", 64, 1024, 127, 32, 71, 32, true};
  static const MscclLimits rccl = {"RCCL", 64, 64, 63, 32, 71, 128, true};
  return dialect == MscclDialect::Original ? original
         : dialect == MscclDialect::Nccl   ? nccl
                                           : rccl;
}

size_t exchange::stepsPerBlock(MscclDialect dialect) {
  return limitsOf(dialect).stepsPerBlock;
}

std::string_view exchange::mscclDialectName(MscclDialect dialect) {
  return limitsOf(dialect).name;
}

MscclDialect exchange::guessDialect(const MscclAlgorithm &algorithm) {
  bool isOriginal = !algorithm.outOfPlace || !algorithm.minBytes ||
                    !algorithm.maxBytes || algorithm.collective == "custom" ||
                    algorithm.collective.find('_') != std::string::npos;
  return isOriginal ? MscclDialect::Original : MscclDialect::Nccl;
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

namespace {
/// Compares what a file has with what an interpreter has room for.
class LimitCheck {
public:
  LimitCheck(MscclDialect dialect, Findings &findings)
      : limits(limitsOf(dialect)), findings(findings) {}
  void check(const MscclGpu &gpu) const;
  void checkWindow(const MscclAlgorithm &algorithm) const;
  void checkChannels(const MscclAlgorithm &algorithm) const {
    expect(algorithm.place, uint64_t(algorithm.numChannels),
           uint64_t(limits.channels), "channels");
  }

private:
  void expect(Place place, uint64_t count, uint64_t most,
              std::string_view what) const {
    if (count > most)
      findings.add(place, std::to_string(count) + " " + std::string(what) +
                              ", " + std::string(limits.name) + " has room " +
                              "for " + std::to_string(most));
  }
  void check(const MscclBlock &block) const;
  void checkJoined(const MscclBlock &block) const;
  void checkBuffers(const MscclGpu &gpu, const MscclStep &step) const;

  const MscclLimits &limits;
  Findings &findings;
};
} // namespace

/// Interpreters join a reduction to the one before if both add from one buffer
/// to one place and no wait is between them. The joined one has the count of
/// the last.
void LimitCheck::checkJoined(const MscclBlock &block) const {
  // As they number them, the 16th reduction of a block ends what is joined.
  constexpr unsigned last = 16;
  unsigned reductions = 0;
  const MscclStep *before = nullptr;
  for (const MscclStep &step : block.steps) {
    if (step.type == MscclType::Nop)
      continue;
    if (step.type != MscclType::Reduce) {
      before = nullptr;
      continue;
    }
    bool isJoined = before && before->dstBuffer == step.dstBuffer &&
                    before->dst == step.dst &&
                    before->srcBuffer == step.srcBuffer &&
                    step.waitsForBlock < 0;
    if (isJoined && before->count != step.count)
      findings.add(step.place,
                   "adds " + std::to_string(step.count) + " chunks after the " +
                       std::to_string(before->count) + " of line " +
                       before->place.str() + ": " + std::string(limits.name) +
                       " joins both, and takes this count for "
                       "both");
    bool isEnd = ++reductions == last || step.isAwaited;
    before = isEnd ? nullptr : &step;
  }
}

void LimitCheck::check(const MscclBlock &block) const {
  expect(block.place, block.steps.size(), limits.stepsPerBlock,
         "steps in a thread block");
  checkJoined(block);
  for (size_t i = 0; i < block.steps.size(); ++i) {
    const MscclStep &step = block.steps[i];
    expect(step.place, uint64_t(step.count), uint64_t(limits.mostCount),
           "chunks in a step");
    if (step.waitsForBlock > limits.mostAwaited)
      findings.add(step.place, "waits for thread block " +
                                   std::to_string(step.waitsForBlock) + ", " +
                                   std::string(limits.name) +
                                   " can wait for 0 to " +
                                   std::to_string(limits.mostAwaited));
    // The interpreter collects waits until a step that waits itself.
    bool isChained = step.type == MscclType::Nop && step.waitsForBlock >= 0;
    if (isChained &&
        (i + 1 == block.steps.size() || block.steps[i + 1].waitsForBlock < 0))
      findings.add(step.place, "a nop that waits must be before a step that "
                               "waits, too");
  }
}

/// Where interpreters look whether a chunk is one of the buffer that the file
/// says there is. They look at no other step, and at its first chunk alone.
void LimitCheck::checkBuffers(const MscclGpu &gpu,
                              const MscclStep &step) const {
  using enum MscclType;
  auto check = [&](const char *does, Buffer buffer, int chunk) {
    bool isInput = buffer == Buffer::Input;
    int count = isInput ? gpu.inputChunks : gpu.outputChunks;
    if (buffer != Buffer::Scratch && chunk >= count)
      findings.add(step.place, std::string(does) + " chunk " +
                                   std::to_string(chunk) + " of the " +
                                   (isInput ? "input" : "output") + ", and '" +
                                   (isInput ? "i" : "o") + "_chunks' is " +
                                   std::to_string(count));
  };
  if (readsSource(step.type) && step.type != ReceiveReduceCopy)
    check("reads", step.srcBuffer, step.src);
  if (writesDestination(step.type) && step.type != ReceiveReduceCopy)
    check("writes", step.dstBuffer, step.dst);
}

void LimitCheck::check(const MscclGpu &gpu) const {
  expect(gpu.place, gpu.blocks.size(), limits.blocksPerRank,
         "thread blocks of a rank");
  std::map<std::pair<int, bool>, size_t> ofChannel;
  for (const MscclBlock &block : gpu.blocks) {
    check(block);
    for (const MscclStep &step : block.steps)
      checkBuffers(gpu, step);
    for (bool isSend : {false, true})
      if ((isSend ? block.sendPeer : block.receivePeer) >= 0)
        expect(block.place, ++ofChannel[{block.channel, isSend}],
               limits.blocksPerChannel,
               isSend ? "thread blocks of a channel that send"
                      : "thread blocks of a channel that receive");
  }
}

void LimitCheck::checkWindow(const MscclAlgorithm &algorithm) const {
  const auto &[least, most] =
      std::pair(algorithm.minBytes.value_or(0), algorithm.maxBytes.value_or(0));
  if (most != 0 && least > most)
    findings.add(algorithm.place, "'minBytes' is more than 'maxBytes'");
  if (limits.needsWindow)
    for (auto [name, isThere] :
         {std::pair{"minBytes", algorithm.minBytes.has_value()},
          std::pair{"maxBytes", algorithm.maxBytes.has_value()},
          std::pair{"outofplace", algorithm.outOfPlace.has_value()}})
      if (!isThere)
        findings.add(algorithm.place, "<algo> has no attribute '" +
                                          std::string(name) + "', which " +
                                          std::string(limits.name) + " needs");
}

void exchange::checkMscclLimits(const MscclAlgorithm &algorithm,
                                MscclDialect dialect, Findings &findings) {
  LimitCheck check(dialect, findings);
  check.checkWindow(algorithm);
  check.checkChannels(algorithm);
  const std::string &protocol = algorithm.protocol;
  if (protocol != "Simple" && protocol != "LL" && protocol != "LL128")
    findings.add(algorithm.place, "'proto' is '" + protocol.substr(0, 20) +
                                      "', expected Simple, LL or LL128");
  if (algorithm.inPlace == false && algorithm.outOfPlace == false)
    findings.add(algorithm.place,
                 "neither in place nor out of place: no call would take it");
  for (const MscclGpu &gpu : algorithm.gpus)
    check.check(gpu);
}

std::optional<CollectiveKind>
exchange::mscclCollective(const MscclAlgorithm &algorithm, Findings &findings) {
  using enum CollectiveKind;
  std::string name = algorithm.collective;
  std::erase(name, '_');
  for (CollectiveKind kind : {AllReduce, AllGather, ReduceScatter, AllToAll,
                              Broadcast, Reduce, Gather, Scatter}) {
    std::string known(collectiveName(kind));
    std::erase(known, '_');
    if (known == name)
      return kind;
  }
  findings.add(algorithm.place,
               "what '" + algorithm.collective.substr(0, 40) +
                   "' is to do is not known; say which collective it is");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

namespace {
/// What blocks and steps refer to.
class ReferenceCheck {
public:
  ReferenceCheck(const MscclAlgorithm &algorithm, Findings &findings)
      : algorithm(algorithm), findings(findings) {}
  void check(uint32_t rank, const MscclBlock &block);

private:
  void checkPeer(uint32_t rank, const MscclBlock &block, bool isSend);
  void checkStep(uint32_t rank, const MscclBlock &block, const MscclStep &step);
  void checkWait(uint32_t rank, const MscclStep &step);

  const MscclAlgorithm &algorithm;
  Findings &findings;
  /// The block of a rank that sends to, or receives from, a peer on a channel.
  std::map<std::tuple<uint32_t, bool, int, int>, Place> owners;
};
} // namespace

void ReferenceCheck::checkPeer(uint32_t rank, const MscclBlock &block,
                               bool isSend) {
  int peer = isSend ? block.sendPeer : block.receivePeer;
  if (peer < 0)
    return;
  std::string what = isSend ? "sends to" : "receives from";
  if (peer == int(rank) || peer >= int(algorithm.gpus.size())) {
    findings.add(block.place, "a thread block of rank " + std::to_string(rank) +
                                  " " + what + " rank " + std::to_string(peer));
    return;
  }
  auto [at, isNew] =
      owners.try_emplace({rank, isSend, peer, block.channel}, block.place);
  if (!isNew)
    findings.add(block.place,
                 "two thread blocks, the other in line " + at->second.str() +
                     ", " + (isSend ? "send to" : "receive from") + " rank " +
                     std::to_string(peer) + " on channel " +
                     std::to_string(block.channel));
}

void ReferenceCheck::checkStep(uint32_t rank, const MscclBlock &block,
                               const MscclStep &step) {
  if (sends(step.type) && block.sendPeer < 0)
    findings.add(step.place, "sends, and its thread block has no peer for it");
  if (receives(step.type) && block.receivePeer < 0)
    findings.add(step.place,
                 "receives, and its thread block has no peer for it");
  if (step.type != MscclType::Nop && step.count == 0)
    findings.add(step.place, "moves no chunk");
  if (step.waitsForBlock >= 0)
    checkWait(rank, step);
}

void ReferenceCheck::checkWait(uint32_t rank, const MscclStep &step) {
  const std::vector<MscclBlock> &blocks = algorithm.gpus[rank].blocks;
  std::string what = "waits for step " + std::to_string(step.waitsForStep) +
                     " of thread block " + std::to_string(step.waitsForBlock);
  if (step.waitsForBlock >= int(blocks.size()) || step.waitsForStep < 0 ||
      step.waitsForStep >= int(blocks[step.waitsForBlock].steps.size()))
    return findings.add(step.place, what + ", which is not there");
  const std::vector<MscclStep> &steps = blocks[step.waitsForBlock].steps;
  const MscclStep &awaited = steps[step.waitsForStep];
  if (!awaited.isAwaited)
    return findings.add(step.place,
                        what + ", which tells nobody: 'hasdep' is 0");
  // Interpreters have no nops, only steps with several waits, and number steps
  // by these.
  if (awaited.type == MscclType::Nop)
    return findings.add(step.place,
                        what + ", a nop, of which interpreters tell nobody");
  auto end = steps.begin() + step.waitsForStep;
  auto uncounted = std::find_if(steps.begin(), end, [](const MscclStep &each) {
    return each.type == MscclType::Nop && each.waitsForBlock < 0;
  });
  if (uncounted != end)
    findings.add(step.place, what +
                                 ", whose number interpreters do not reach: "
                                 "the nop of line " +
                                 uncounted->place.str() +
                                 " waits for nothing, so that it is not "
                                 "counted");
}

void ReferenceCheck::check(uint32_t rank, const MscclBlock &block) {
  checkPeer(rank, block, /*isSend=*/true);
  checkPeer(rank, block, /*isSend=*/false);
  if (block.channel >= algorithm.numChannels)
    findings.add(block.place, "channel " + std::to_string(block.channel) +
                                  " of " +
                                  std::to_string(algorithm.numChannels));
  for (const MscclStep &step : block.steps)
    checkStep(rank, block, step);
}

bool exchange::checkMscclStructure(const MscclAlgorithm &algorithm,
                                   CollectiveKind kind, unsigned root,
                                   Findings &findings) {
  size_t ranks = algorithm.gpus.size();
  bool isShared = Call{kind, uint32_t(ranks), 0, root, false}.isShared();
  if (isShared && algorithm.chunks % ranks != 0)
    findings.add(algorithm.place, std::to_string(algorithm.chunks) +
                                      " chunks are not " +
                                      std::to_string(ranks) + " equal parts");
  if (isRooted(kind) && root >= ranks)
    findings.add(algorithm.place, "root " + std::to_string(root) + " of " +
                                      std::to_string(ranks) + " ranks");
  ReferenceCheck check(algorithm, findings);
  for (uint32_t rank = 0; rank < ranks; ++rank)
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      check.check(rank, block);
  return findings.empty();
}

//===----------------------------------------------------------------------===//
// Sends and receives
//===----------------------------------------------------------------------===//

namespace {
/// The steps of one connection, in order.
struct Connection {
  std::vector<std::pair<uint32_t, const MscclStep *>> sends, receives;
};
using Connections = std::map<std::tuple<int, int, int>, Connection>;
} // namespace

static Connections collectConnections(const MscclAlgorithm &algorithm) {
  Connections connections;
  uint32_t number = 0;
  for (int rank = 0; rank < int(algorithm.gpus.size()); ++rank)
    for (const MscclBlock &block : algorithm.gpus[rank].blocks)
      for (const MscclStep &step : block.steps) {
        if (sends(step.type))
          connections[{rank, block.sendPeer, block.channel}].sends.emplace_back(
              number, &step);
        if (receives(step.type))
          connections[{block.receivePeer, rank, block.channel}]
              .receives.emplace_back(number, &step);
        ++number;
      }
  return connections;
}

std::vector<std::pair<uint32_t, uint32_t>>
exchange::matchMsccl(const MscclAlgorithm &algorithm, Findings &findings) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (const auto &[ends, steps] : collectConnections(algorithm)) {
    auto [src, dst, channel] = ends;
    std::string where = " from rank " + std::to_string(src) + " to rank " +
                        std::to_string(dst) + " on channel " +
                        std::to_string(channel);
    size_t both = std::min(steps.sends.size(), steps.receives.size());
    for (size_t i = 0; i < both; ++i) {
      const MscclStep &send = *steps.sends[i].second;
      const MscclStep &receive = *steps.receives[i].second;
      if (send.count != receive.count)
        findings.add(receive.place,
                     "receives " + std::to_string(receive.count) +
                         " chunks of the " + std::to_string(send.count) +
                         " that line " + send.place.str() + " sends" + where);
      pairs.emplace_back(steps.sends[i].first, steps.receives[i].first);
    }
    if (steps.sends.size() > both)
      findings.add(steps.sends[both].second->place,
                   "nobody receives this send" + where);
    if (steps.receives.size() > both)
      findings.add(steps.receives[both].second->place,
                   "nobody sends what this receives" + where);
  }
  return pairs;
}
