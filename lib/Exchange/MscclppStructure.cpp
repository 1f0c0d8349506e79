//===- MscclppStructure.cpp - What plans of MSCCL++ must be like ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclppStructure.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::exchange;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// A port copies memory, and makes no words of it.
static bool putsWords(const MscclppOperation &operation) {
  return operation.kind == MscclppKind::PutLL &&
         operation.channel == MscclppChannel::Port;
}

bool exchange::waitsForWords(const MscclppOperation &operation) {
  return !putsWords(operation);
}

MscclppShape exchange::shapeOf(const MscclppOperation &operation) {
  using enum MscclppKind;
  using enum MscclppRole;
  if (putsWords(operation))
    return {LocalLL, LocalLL, RemoteLL, RemoteLL, RemoteLL, true};
  switch (operation.kind) {
  case Put:
  case PutSignal:
  case PutSignalFlush:
    return {Local, Local, Remote, Remote, Remote, true};
  case Get:
    return {Remote, Remote, Local, Local, Local, true};
  case Copy:
    return {Local, None, Local, None, None, false};
  case Reduce:
    return {Local, Local, Local, None, None, false};
  case ReduceSend:
    return {Local, Local, Local, Remote, Remote, false};
  case ReadReduce:
    return {Local, Remote, Local, None, None, false};
  case ReadReduceSend:
    return {Local, Remote, Local, Remote, Remote, false};
  case PutLL:
    return {Local, Local, RemoteLL, RemoteLL, RemoteLL, true};
  case ReadPutLL:
    return {LocalLL, None, RemoteLL, RemoteLL, RemoteLL, false};
  case CopyLL:
    return {Local, None, LocalLL, None, None, false};
  case UnpackLL:
    return {LocalLL, None, Local, None, None, false};
  case ReduceLL:
    return {Local, LocalLL, Local, None, None, false};
  case ReduceSendLL:
    return {Local, LocalLL, Local, RemoteLL, RemoteLL, false};
  case ReduceCopyLL:
    return {Local, LocalLL, Local, LocalLL, None, false};
  case ReduceCopySendLL:
    return {Local, LocalLL, Local, LocalLL, RemoteLL, false};
  default:
    return {None, None, None, None, None, false};
  }
}

std::optional<uint32_t> exchange::peerChannel(const MscclppPlan &plan,
                                              uint32_t rank,
                                              MscclppChannel type,
                                              uint32_t channel) {
  // The executor connects the n-th channel to a peer with the peer's n-th back.
  const std::vector<uint32_t> &peers = plan.gpus[rank].peers[type];
  auto number =
      std::count(peers.begin(), peers.begin() + channel, peers[channel]);
  const std::vector<uint32_t> &back = plan.gpus[peers[channel]].peers[type];
  for (uint32_t i = 0; i < back.size(); ++i)
    if (back[i] == rank && number-- == 0)
      return i;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// References and limits
//===----------------------------------------------------------------------===//

namespace {
/// Compares a plan with itself and with what the executor has room for.
class StructureCheck {
public:
  StructureCheck(const MscclppPlan &plan, Findings &findings)
      : plan(plan), findings(findings) {}
  void checkPlan(CollectiveKind kind, unsigned root);
  void checkGpu(uint32_t rank);

private:
  void complain(std::string message) {
    findings.add(place, std::move(message));
  }
  void expect(uint64_t count, uint64_t most, const char *what) {
    if (count > most)
      complain(std::to_string(count) + " " + what +
               ", the executor has room for " + std::to_string(most));
  }
  void expectBelow(uint64_t number, uint64_t count, const char *what) {
    if (number >= count)
      complain(std::string(what) + " " + std::to_string(number) + " of " +
               std::to_string(count));
  }
  void checkBlock(const MscclppBlock &block);
  void checkOperation(const MscclppOperation &operation);
  void checkMoves(const MscclppOperation &operation);
  void checkChunks(const MscclppOperation &operation,
                   const MscclppChunks &chunks, MscclppRole role);
  void checkPort(const MscclppOperation &operation);
  void checkPairs(const MscclppOperation &operation);
  void checkSynchronization(const MscclppOperation &operation);
  /// Notes that chunks of scratch memory hold data, or LL words.
  void noteScratch(uint32_t of, const MscclppChunks &chunks, bool isLL);

  const MscclppPlan &plan;
  Findings &findings;
  uint32_t rank = 0;
  const MscclppBlock *block = nullptr;
  Place place;
  /// What each half of an LL chunk is used for, by rank.
  std::vector<std::vector<uint8_t>> scratchUses;
};
} // namespace

void StructureCheck::checkPlan(CollectiveKind kind, unsigned root) {
  place = plan.place;
  auto ranks = uint32_t(plan.gpus.size());
  if (ranks == 0)
    return complain("there are no gpus");
  if (plan.protocol != "Simple" && plan.protocol != "LL")
    complain("\"protocol\" is '" + plan.protocol.substr(0, 20) +
             "', expected Simple or LL");
  if (plan.alignment == 0 || plan.alignment % 16 != 0)
    complain("\"buffer_alignment\" is " + std::to_string(plan.alignment) +
             ", expected a multiple of 16");
  expect(plan.threads, MscclppLimits::threadsPerBlock, "threads in a block");
  if (plan.threads == 0)
    complain("no threads in a block");
  if (plan.minBytes > plan.maxBytes)
    complain("\"min_message_size\" is more than \"max_message_size\"");
  if (isRooted(kind) && root >= ranks)
    complain("root " + std::to_string(root) + " of " + std::to_string(ranks) +
             " ranks");
  uint32_t inputs = plan.gpus[0].inputChunks;
  Call call{kind, ranks, 0, root, false};
  call.chunks = call.gathers() ? inputs * ranks : inputs;
  if (call.isShared() && call.chunks % ranks != 0)
    complain(std::to_string(call.chunks) + " chunks are not " +
             std::to_string(ranks) + " equal parts");
  for (const MscclppGpu &gpu : plan.gpus) {
    place = gpu.place;
    if (gpu.inputChunks == 0 || gpu.outputChunks == 0)
      complain("no chunks of the input or the output, by which the executor "
               "divides");
    else if (gpu.inputChunks != inputs || gpu.outputChunks != call.outputs())
      complain(std::to_string(gpu.inputChunks) + " chunks of input and " +
               std::to_string(gpu.outputChunks) + " of output, for " +
               std::string(collectiveName(kind)) + " of rank 0's " +
               std::to_string(inputs) + " they are " + std::to_string(inputs) +
               " and " + std::to_string(call.outputs()));
    scratchUses.emplace_back(size_t(gpu.scratchChunks) * 2);
  }
}

void StructureCheck::checkGpu(uint32_t number) {
  rank = number;
  const MscclppGpu &gpu = plan.gpus[rank];
  place = gpu.place;
  for (auto type : {MscclppChannel::Memory, MscclppChannel::Port})
    for (uint32_t peer : gpu.peers[type])
      if (peer == rank || peer >= plan.gpus.size())
        complain("a channel of rank " + std::to_string(rank) + " to rank " +
                 std::to_string(peer));
  for (const MscclppRemote &remote : gpu.remotes) {
    place = remote.place;
    if (remote.rank == rank || remote.rank >= plan.gpus.size())
      complain("a remote buffer of rank " + std::to_string(remote.rank));
  }
  if (findings.empty())
    for (const MscclppBlock &each : gpu.blocks)
      checkBlock(each);
}

void StructureCheck::checkBlock(const MscclppBlock &each) {
  block = &each;
  place = block->place;
  const MscclppGpu &gpu = plan.gpus[rank];
  expect(block->operations.size(), MscclppLimits::operationsPerBlock,
         "operations in a thread block");
  bool isRight = true;
  for (auto type : {MscclppChannel::Memory, MscclppChannel::Port}) {
    expect(block->channels[type].size(), MscclppLimits::channelsPerBlock,
           "channels of a type in a thread block");
    expect(block->remotes[type].size(), MscclppLimits::remotesPerBlock,
           "remote buffers of a type in a thread block");
    for (uint32_t channel : block->channels[type]) {
      expectBelow(channel, gpu.peers[type].size(), "channel");
      isRight &= channel < gpu.peers[type].size();
    }
    for (uint32_t remote : block->remotes[type]) {
      expectBelow(remote, gpu.remotes.size(), "remote buffer");
      isRight &= remote < gpu.remotes.size();
      if (remote < gpu.remotes.size() &&
          !(type == MscclppChannel::Port ? gpu.remotes[remote].byPort
                                         : gpu.remotes[remote].byMemory))
        complain("remote buffer " + std::to_string(remote) +
                 " is not there for channels of this type");
    }
  }
  if (!isRight)
    return;
  for (const MscclppOperation &operation : block->operations) {
    place = operation.place;
    checkOperation(operation);
  }
}

void StructureCheck::checkOperation(const MscclppOperation &operation) {
  using enum MscclppKind;
  if (operation.kind == SwitchReduce || operation.kind == SwitchStore)
    return complain("not known: what a switch does is not checked");
  expect(operation.channels.size(), MscclppLimits::channelsPerOperation,
         "channels in an operation");
  expect(operation.sources.size(), MscclppLimits::buffersPerOperation,
         "sources in an operation");
  expect(operation.destinations.size(), MscclppLimits::buffersPerOperation,
         "destinations in an operation");
  expect(operation.semaphores.size(), MscclppLimits::semaphoresPerOperation,
         "semaphores in an operation");
  for (uint32_t channel : operation.channels)
    expectBelow(channel, block->channels[operation.channel].size(),
                "of the block's channels number");
  for (uint32_t semaphore : operation.semaphores)
    expectBelow(semaphore, plan.gpus[rank].semaphores.size(), "semaphore");
  // Each has a thread of its own, but for memory that all threads copy.
  bool isMove = shapeOf(operation).source != MscclppRole::None;
  size_t served =
      isMove && operation.channel != MscclppChannel::Port
          ? 0
          : std::max(operation.channels.size(), operation.semaphores.size());
  if (served > plan.threads)
    complain(std::to_string(served) +
             " channels or semaphores in an operation, "
             "and a block has " +
             std::to_string(plan.threads) + " threads");
  if (!findings.empty())
    return;
  if (shapeOf(operation).source == MscclppRole::None)
    checkSynchronization(operation);
  else
    checkMoves(operation);
}

void StructureCheck::checkSynchronization(const MscclppOperation &operation) {
  using enum MscclppKind;
  switch (operation.kind) {
  case Signal:
  case Wait:
  case RelaxedSignal:
  case RelaxedWait:
  case Flush:
    if (operation.channel != MscclppChannel::Port &&
        (operation.channel != MscclppChannel::Memory ||
         operation.kind == Flush))
      complain("has no channel of a type that it can use");
    if (operation.channels.empty())
      complain("names no channel");
    break;
  case Barrier:
    expectBelow(operation.barrier, MscclppLimits::barriers, "barrier");
    break;
  case Acquire:
  case Release:
    if (operation.semaphores.empty())
      complain("names no semaphore");
    break;
  default:
    break;
  }
}

void StructureCheck::noteScratch(uint32_t of, const MscclppChunks &chunks,
                                 bool isLL) {
  uint32_t width = isLL ? 2 : 1;
  for (uint32_t i = chunks.first * width;
       i < (chunks.first + chunks.count) * width; ++i) {
    uint8_t &use = scratchUses[of][i];
    if ((use | (isLL ? 2 : 1)) == 3 && use != 3)
      complain("scratch memory of rank " + std::to_string(of) +
               " holds both data and LL words, which take twice the room");
    use |= isLL ? 2 : 1;
  }
}

void StructureCheck::checkChunks(const MscclppOperation &operation,
                                 const MscclppChunks &chunks,
                                 MscclppRole role) {
  if (chunks.isRemote != isRemote(role))
    return complain(chunks.isRemote ? "has a remote buffer where a local one "
                                      "must be"
                                    : "has a local buffer where a remote one "
                                      "must be");
  const std::vector<uint32_t> &remotes = block->remotes[operation.channel];
  if (chunks.isRemote && chunks.remote >= remotes.size())
    return expectBelow(chunks.remote, remotes.size(),
                       "of the block's remote buffers number");
  uint32_t of = rank;
  Buffer buffer = chunks.buffer;
  if (chunks.isRemote) {
    const MscclppRemote &remote =
        plan.gpus[rank].remotes[remotes[chunks.remote]];
    of = remote.rank;
    buffer = remote.buffer;
  }
  const MscclppGpu &gpu = plan.gpus[of];
  bool isScratch = buffer == Buffer::Scratch;
  if (isLL(role) && !isScratch)
    return complain(putsWords(operation)
                        ? "a port makes no LL words: what a ppkt sends through "
                          "it must be LL words in scratch memory already"
                        : "LL words must be in scratch memory");
  // Only LL plans get twice the room.
  uint32_t scratch = gpu.scratchChunks * (plan.protocol == "LL" ? 2 : 1) /
                     (isLL(role) ? 2 : 1);
  uint32_t size = isScratch                 ? scratch
                  : buffer == Buffer::Input ? gpu.inputChunks
                                            : gpu.outputChunks;
  if (chunks.count == 0)
    return complain("moves no chunk");
  if (uint64_t(chunks.first) + chunks.count > size)
    return complain("chunks " + std::to_string(chunks.first) + " to " +
                    std::to_string(chunks.first + chunks.count - 1) +
                    " of a buffer of " + std::to_string(size));
  if (isScratch)
    noteScratch(of, chunks, isLL(role));
}

void StructureCheck::checkPort(const MscclppOperation &operation) {
  using enum MscclppKind;
  if (operation.kind == PutSignalFlush)
    return complain("not known: the executor of version 0.9 takes the offset "
                    "of a pwsf from the wrong place");
  if (operation.kind != Put && operation.kind != PutSignal &&
      operation.kind != PutLL && operation.kind != ReadPutLL)
    return complain("cannot go through a port");
  if (operation.channels.size() != operation.destinations.size())
    return complain("names " + std::to_string(operation.channels.size()) +
                    " channels for " +
                    std::to_string(operation.destinations.size()) +
                    " destinations");
  for (size_t i = 0; i < operation.channels.size(); ++i) {
    const MscclppGpu &gpu = plan.gpus[rank];
    uint32_t channel = block->channels.port[operation.channels[i]];
    uint32_t remote = block->remotes.port[operation.destinations[i].remote];
    if (gpu.peers.port[channel] != gpu.remotes[remote].rank)
      complain("puts into a buffer of rank " +
               std::to_string(gpu.remotes[remote].rank) +
               " through a port to rank " +
               std::to_string(gpu.peers.port[channel]));
  }
}

void StructureCheck::checkPairs(const MscclppOperation &operation) {
  if (operation.sources.size() != operation.destinations.size())
    return complain(
        "has " + std::to_string(operation.sources.size()) + " sources and " +
        std::to_string(operation.destinations.size()) + " destinations");
  for (size_t i = 0; i < operation.sources.size(); ++i)
    if (operation.kind == MscclppKind::Get &&
        operation.sources[i].first != operation.destinations[i].first)
      complain("not known: the executor of version 0.9 confuses both offsets "
               "of a get, so that they must be the same");
    else if (operation.kind != MscclppKind::Get &&
             operation.sources[i].buffer != operation.sources[0].buffer)
      complain("has sources in several buffers, and the executor takes all "
               "from the first one's");
}

void StructureCheck::checkMoves(const MscclppOperation &operation) {
  MscclppShape shape = shapeOf(operation);
  if (operation.sources.empty() || operation.destinations.empty())
    return complain("has no source or no destination");
  bool needsChannel = false;
  auto check = [&](const std::vector<MscclppChunks> &all, auto roleOf,
                   const char *what) {
    for (size_t i = 0; i < all.size(); ++i) {
      MscclppRole role = roleOf(i);
      if (role == MscclppRole::None)
        return complain(std::string("has too many ") + what);
      needsChannel |= isRemote(role);
      checkChunks(operation, all[i], role);
      if (all[i].count != operation.sources[0].count)
        complain("moves " + std::to_string(operation.sources[0].count) +
                 " chunks and " + std::to_string(all[i].count) + " chunks");
    }
  };
  check(
      operation.sources, [&](size_t i) { return shape.ofSource(i); },
      "sources");
  check(
      operation.destinations, [&](size_t i) { return shape.ofDestination(i); },
      "destinations");
  if (shape.second == MscclppRole::LocalLL && operation.destinations.size() < 2)
    complain("has no second destination");
  if (!findings.empty())
    return;
  if (shape.isPaired)
    checkPairs(operation);
  if (!needsChannel)
    return;
  if (operation.channel == MscclppChannel::Port)
    checkPort(operation);
  else if (operation.channel != MscclppChannel::Memory)
    complain("has no channel of a type that it can use");
  else if (operation.kind == MscclppKind::PutSignal ||
           operation.kind == MscclppKind::PutSignalFlush)
    complain("signals only through a port");
}

bool exchange::checkMscclppStructure(const MscclppPlan &plan,
                                     CollectiveKind kind, unsigned root,
                                     Findings &findings) {
  StructureCheck check(plan, findings);
  check.checkPlan(kind, root);
  if (findings.empty())
    for (uint32_t rank = 0; rank < plan.gpus.size(); ++rank)
      check.checkGpu(rank);
  return findings.empty();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

std::optional<CollectiveKind>
exchange::mscclppCollective(const MscclppPlan &plan, Findings &findings) {
  auto kind = parseCollectiveName(plan.collective);
  if (kind && *kind != CollectiveKind::Custom)
    return kind;
  findings.add(plan.place,
               "what '" + plan.collective.substr(0, 40) +
                   "' is to do is not known; say which collective it is");
  return std::nullopt;
}

uint64_t exchange::mscclppMostBytes(const MscclppPlan &plan,
                                    CollectiveKind kind) {
  uint64_t most = 1;
  uint64_t scratch =
      (plan.protocol == "LL" ? 2 : 1) * (plan.doublesScratch ? 2 : 1);
  for (const MscclppGpu &gpu : plan.gpus)
    most = std::max({most, uint64_t(gpu.inputChunks),
                     uint64_t(gpu.outputChunks), scratch * gpu.scratchChunks});
  uint64_t chunk =
      ((uint64_t(1) << 32) - 1) / most / plan.alignment * plan.alignment;
  const MscclppGpu &gpu = plan.gpus[0];
  return std::min(plan.maxBytes, chunk * (kind == CollectiveKind::AllGather
                                              ? gpu.outputChunks
                                              : gpu.inputChunks));
}
