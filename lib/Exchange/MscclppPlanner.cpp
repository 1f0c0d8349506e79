//===- MscclppPlanner.cpp - From steps of MSCCL to operations -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A connection of MSCCL holds what is sent until it is received; a put of
// MSCCL++ lands in the receiver's memory at once. So what is to be summed up
// waits in scratch memory, in room of its own, and what is to be stored may
// land where it belongs if nothing there is still needed. A wait for a step of
// another block takes a semaphore of both blocks.
//
//===----------------------------------------------------------------------===//

#include "MscclppPlanner.h"

#include "MscclStructure.h"
#include "MscclppStructure.h"

#include <algorithm>
#include <map>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// Chunks in a rank's memory, or words.
struct Room {
  Buffer buffer;
  uint32_t first;
};

/// One end of a connection.
struct End {
  MscclppChannel type = MscclppChannel::None;
  uint32_t channel = 0; ///< in the rank's list
};

class Planner {
public:
  Planner(const MscclAlgorithm &algorithm, const Call &call,
          unsigned ranksPerBox, const MscclppManner &manner)
      : algorithm(algorithm), layout(call, {}), ranksPerBox(ranksPerBox),
        manner(manner) {}
  MscclppPlan plan();

private:
  void match();
  void reserveRoom();
  void connect();
  void addSemaphores(uint32_t rank);
  void addBlock(uint32_t rank, uint32_t number);
  void addStep(const MscclStep &step);
  void addSignalStep(const MscclStep &step);
  void addLLStep(const MscclStep &step);
  void addLocalStep(const MscclStep &step);
  void acquire();
  void release(uint32_t number, uint32_t index);

  void addOnSemaphores(MscclppKind kind,
                       const std::vector<uint32_t> &semaphores);

  /// Appends operations to the block at hand.
  void add(MscclppOperation operation);
  void addNop();
  void addOnChannel(MscclppKind kind, const End &end);
  void addMove(MscclppKind kind, const std::vector<Room> &sources,
               const std::vector<Room> &local, std::optional<Room> remote,
               const MscclStep &step);
  void addPut(Room source, const MscclStep &step);

  bool isDirect(const MscclStep &step) const {
    return !manner.usesLL && !manner.stages &&
           (step.type == MscclType::Receive ||
            step.type == MscclType::ReceiveCopySend);
  }
  Room roomOf(Buffer buffer, int chunk) const {
    uint32_t home = buffer == Buffer::Scratch ? firstData[rank] : 0;
    return {buffer, home + uint32_t(chunk)};
  }
  Room roomOfSlot(uint32_t receive) const {
    return {Buffer::Scratch, slots[receive]};
  }
  /// Where what the step at hand sends is to land.
  Room landing() const;
  uint32_t cellOf(Buffer buffer, int chunk) const;
  uint32_t remoteOf(uint32_t peer, Buffer buffer, MscclppChannel type);

  const MscclAlgorithm &algorithm;
  const CallLayout layout;
  const unsigned ranksPerBox;
  const MscclppManner manner;
  MscclppPlan result;

  std::vector<const MscclStep *> steps; ///< of all blocks
  std::vector<uint32_t> receiverOf;     ///< by step that sends
  std::vector<uint32_t> slots;          ///< first chunk in scratch memory
  std::vector<uint32_t> sums;           ///< likewise, of what is not stored
  std::vector<uint32_t> firstData;      ///< by rank, in its scratch memory
  std::map<std::tuple<uint32_t, int, int, bool>, End> ends;
  /// Of the rank at hand: by step, semaphores that it takes and gives.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<uint32_t>> takes, gives;

  // Of the block at hand.
  uint32_t rank = 0, at = 0; ///< `at` is the number of the step
  MscclppBlock block;
  End sender, receiver;
  int sendPeer = -1;
  std::vector<uint32_t> wanted; ///< semaphores that have not been taken yet
  bool hasMoved = false;        ///< or waited, since the last nop
};
} // namespace

//===----------------------------------------------------------------------===//
// Rooms
//===----------------------------------------------------------------------===//

void Planner::match() {
  for (const MscclGpu &gpu : algorithm.gpus)
    for (const MscclBlock &each : gpu.blocks)
      for (const MscclStep &step : each.steps)
        steps.push_back(&step);
  receiverOf.resize(steps.size());
  Findings none;
  for (auto [send, receive] : matchMsccl(algorithm, none))
    receiverOf[send] = receive;
}

/// Words come first, since they take twice the room of what is behind them.
void Planner::reserveRoom() {
  slots.resize(steps.size());
  sums.resize(steps.size());
  uint32_t number = 0;
  for (const MscclGpu &gpu : algorithm.gpus) {
    uint32_t first = number, words = 0;
    for (const MscclBlock &each : gpu.blocks)
      for (const MscclStep &step : each.steps) {
        if (manner.usesLL && receives(step.type)) {
          slots[number] = words;
          words += uint32_t(step.count);
        }
        ++number;
      }
    firstData.push_back(2 * words);
    uint32_t data = 2 * words + uint32_t(gpu.scratchChunks);
    for (uint32_t i = first; i < number; ++i) {
      auto count = uint32_t(steps[i]->count);
      if (!manner.usesLL && receives(steps[i]->type) && !isDirect(*steps[i])) {
        slots[i] = data;
        data += count;
      }
      if (manner.usesLL && steps[i]->type == MscclType::ReceiveReduceSend) {
        sums[i] = data;
        data += count;
      }
    }
    MscclppGpu made{};
    made.inputChunks = layout.call.inputs();
    made.outputChunks = layout.call.outputs();
    made.scratchChunks = manner.usesLL ? (data + 1) / 2 : data;
    result.gpus.push_back(std::move(made));
  }
}

uint32_t Planner::cellOf(Buffer buffer, int chunk) const {
  return buffer == Buffer::Input    ? layout.input(rank, uint32_t(chunk))
         : buffer == Buffer::Output ? layout.output(rank, uint32_t(chunk))
                                    : layout.scratch(uint32_t(chunk));
}

Room Planner::landing() const {
  uint32_t receive = receiverOf[at];
  const MscclStep &step = *steps[receive];
  if (!isDirect(step))
    return roomOfSlot(receive);
  uint32_t home =
      step.dstBuffer == Buffer::Scratch ? firstData[uint32_t(sendPeer)] : 0;
  return {step.dstBuffer, home + uint32_t(step.dst)};
}

//===----------------------------------------------------------------------===//
// Connections and semaphores
//===----------------------------------------------------------------------===//

void Planner::connect() {
  for (uint32_t src = 0; src < algorithm.gpus.size(); ++src)
    for (const MscclBlock &each : algorithm.gpus[src].blocks) {
      if (each.sendPeer < 0)
        continue;
      auto dst = uint32_t(each.sendPeer);
      bool isNear = ranksPerBox == 0 || src / ranksPerBox == dst / ranksPerBox;
      auto type = isNear ? MscclppChannel::Memory : MscclppChannel::Port;
      auto addEnd = [&](uint32_t from, uint32_t to, bool isSend) {
        std::vector<uint32_t> &peers = result.gpus[from].peers[type];
        ends[{from, int(to), each.channel, isSend}] = {type,
                                                       uint32_t(peers.size())};
        peers.push_back(to);
      };
      addEnd(src, dst, true);
      addEnd(dst, src, false);
    }
}

/// A block takes one for each step of another that it is the first to wait for
/// so late.
void Planner::addSemaphores(uint32_t of) {
  takes.clear();
  gives.clear();
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;
  const std::vector<MscclBlock> &blocks = algorithm.gpus[of].blocks;
  for (uint32_t taker = 0; taker < blocks.size(); ++taker) {
    std::map<uint32_t, uint32_t> latest; ///< by block, steps waited for
    for (uint32_t i = 0; i < blocks[taker].steps.size(); ++i) {
      const MscclStep &step = blocks[taker].steps[i];
      auto giver = uint32_t(step.waitsForBlock);
      auto until = uint32_t(step.waitsForStep) + 1;
      if (step.waitsForBlock < 0 || giver == taker || latest[giver] >= until)
        continue;
      latest[giver] = until;
      uint32_t semaphore =
          numbers.try_emplace({giver, taker}, uint32_t(numbers.size()))
              .first->second;
      takes[{taker, i}].push_back(semaphore);
      gives[{giver, until - 1}].push_back(semaphore);
    }
  }
  result.gpus[of].semaphores.assign(numbers.size(), 0);
}

uint32_t Planner::remoteOf(uint32_t peer, Buffer buffer, MscclppChannel type) {
  std::vector<MscclppRemote> &all = result.gpus[rank].remotes;
  uint32_t number = 0;
  while (number < all.size() &&
         (all[number].rank != peer || all[number].buffer != buffer))
    ++number;
  if (number == all.size())
    all.push_back({{}, peer, buffer, false, false});
  (type == MscclppChannel::Port ? all[number].byPort : all[number].byMemory) =
      true;
  std::vector<uint32_t> &mine = block.remotes[type];
  for (uint32_t i = 0; i < mine.size(); ++i)
    if (mine[i] == number)
      return i;
  mine.push_back(number);
  return uint32_t(mine.size() - 1);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Planner::add(MscclppOperation operation) {
  block.operations.push_back(std::move(operation));
  hasMoved = true;
}

void Planner::addNop() {
  if (hasMoved)
    add({});
  hasMoved = false;
}

/// A channel of the block has the number that it is added with.
void Planner::addOnChannel(MscclppKind kind, const End &end) {
  MscclppOperation operation;
  operation.kind = kind;
  operation.channel = end.type;
  std::vector<uint32_t> &mine = block.channels[end.type];
  uint32_t number = 0;
  while (number < mine.size() && mine[number] != end.channel)
    ++number;
  if (number == mine.size())
    mine.push_back(end.channel);
  operation.channels = {number};
  add(std::move(operation));
}

void Planner::addMove(MscclppKind kind, const std::vector<Room> &sources,
                      const std::vector<Room> &local,
                      std::optional<Room> remote, const MscclStep &step) {
  addNop();
  auto count = uint32_t(step.count);
  MscclppOperation operation;
  operation.kind = kind;
  for (const Room &room : sources)
    operation.sources.push_back({false, room.buffer, 0, room.first, count});
  for (const Room &room : local)
    operation.destinations.push_back(
        {false, room.buffer, 0, room.first, count});
  if (remote) {
    operation.channel = sender.type;
    operation.destinations.push_back(
        {true, Buffer::Input,
         remoteOf(uint32_t(sendPeer), remote->buffer, sender.type),
         remote->first, count});
  }
  add(std::move(operation));
}

void Planner::addPut(Room source, const MscclStep &step) {
  if (sender.type == MscclppChannel::Memory) {
    addMove(MscclppKind::Put, {source}, {}, landing(), step);
    addNop();
    return addOnChannel(MscclppKind::Signal, sender);
  }
  addMove(MscclppKind::PutSignal, {source}, {}, landing(), step);
  MscclppOperation put = std::move(block.operations.back());
  block.operations.pop_back();
  addOnChannel(MscclppKind::PutSignal, sender);
  put.channels = block.operations.back().channels;
  block.operations.back() = std::move(put);
  if (manner.flushes)
    addOnChannel(MscclppKind::Flush, sender);
}

void Planner::addLocalStep(const MscclStep &step) {
  Room src = roomOf(step.srcBuffer, step.src),
       dst = roomOf(step.dstBuffer, step.dst);
  bool isCopy = step.type == MscclType::Copy;
  // In place a chunk may be where it is to go.
  if (isCopy &&
      cellOf(step.srcBuffer, step.src) == cellOf(step.dstBuffer, step.dst))
    return;
  if (isCopy)
    addMove(MscclppKind::Copy, {src}, {dst}, {}, step);
  else
    addMove(MscclppKind::Reduce, {dst, src}, {dst}, {}, step);
}

void Planner::addSignalStep(const MscclStep &step) {
  using enum MscclType;
  Room src = roomOf(step.srcBuffer, step.src),
       dst = roomOf(step.dstBuffer, step.dst), slot = roomOfSlot(at);
  if (step.type == Send)
    return addPut(src, step);
  addOnChannel(MscclppKind::Wait, receiver);
  if (step.type == Receive || step.type == ReceiveCopySend) {
    if (!isDirect(step))
      addMove(MscclppKind::Copy, {slot}, {dst}, {}, step);
    if (step.type == ReceiveCopySend)
      addPut(dst, step);
    return;
  }
  Room sum = step.type == ReceiveReduceSend ? slot : dst;
  bool isOne = sends(step.type) && sender.type == MscclppChannel::Memory;
  if (!isOne) {
    addMove(MscclppKind::Reduce, {src, slot}, {sum}, {}, step);
    if (sends(step.type))
      addPut(sum, step);
    return;
  }
  addMove(MscclppKind::ReduceSend, {src, slot}, {sum}, landing(), step);
  addNop();
  addOnChannel(MscclppKind::Signal, sender);
}

void Planner::addLLStep(const MscclStep &step) {
  using enum MscclType;
  Room src = roomOf(step.srcBuffer, step.src),
       dst = roomOf(step.dstBuffer, step.dst), slot = roomOfSlot(at);
  switch (step.type) {
  case Send:
    return addMove(MscclppKind::PutLL, {src}, {}, landing(), step);
  case Receive:
    return addMove(MscclppKind::UnpackLL, {slot}, {dst}, {}, step);
  case ReceiveCopySend:
    addMove(MscclppKind::ReadPutLL, {slot}, {}, landing(), step);
    return addMove(MscclppKind::UnpackLL, {slot}, {dst}, {}, step);
  case ReceiveReduceCopy:
    return addMove(MscclppKind::ReduceLL, {src, slot}, {dst}, {}, step);
  case ReceiveReduceSend:
    return addMove(MscclppKind::ReduceSendLL, {src, slot},
                   {{Buffer::Scratch, sums[at]}}, landing(), step);
  default:
    return addMove(MscclppKind::ReduceSendLL, {src, slot}, {dst}, landing(),
                   step);
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void Planner::addOnSemaphores(MscclppKind kind,
                              const std::vector<uint32_t> &semaphores) {
  constexpr size_t most = MscclppLimits::semaphoresPerOperation;
  for (size_t first = 0; first < semaphores.size(); first += most) {
    MscclppOperation operation;
    operation.kind = kind;
    size_t end = std::min(first + most, semaphores.size());
    operation.semaphores.assign(semaphores.begin() + long(first),
                                semaphores.begin() + long(end));
    add(std::move(operation));
  }
}

void Planner::acquire() {
  addOnSemaphores(MscclppKind::Acquire, wanted);
  wanted.clear();
}

void Planner::release(uint32_t number, uint32_t index) {
  auto given = gives.find({number, index});
  if (given == gives.end())
    return;
  acquire();
  addNop();
  addOnSemaphores(MscclppKind::Release, given->second);
}

void Planner::addStep(const MscclStep &step) {
  if (step.type == MscclType::Nop)
    return;
  acquire();
  if (!sends(step.type) && !receives(step.type))
    addLocalStep(step);
  else if (manner.usesLL)
    addLLStep(step);
  else
    addSignalStep(step);
}

void Planner::addBlock(uint32_t of, uint32_t number) {
  const MscclBlock &from = algorithm.gpus[of].blocks[number];
  rank = of;
  block = {};
  hasMoved = false;
  sendPeer = from.sendPeer;
  sender = receiver = {};
  if (from.receivePeer >= 0)
    receiver = ends.at({of, from.receivePeer, from.channel, false});
  if (sendPeer >= 0)
    sender = ends.at({of, sendPeer, from.channel, true});
  if (manner.tellsBegin && from.receivePeer >= 0)
    addOnChannel(MscclppKind::RelaxedSignal, receiver);
  if (manner.tellsBegin && sendPeer >= 0)
    addOnChannel(MscclppKind::RelaxedWait, sender);
  uint32_t first = at;
  for (const MscclStep &step : from.steps) {
    uint32_t i = at - first;
    if (auto taken = takes.find({number, i}); taken != takes.end())
      wanted.insert(wanted.end(), taken->second.begin(), taken->second.end());
    addStep(step);
    release(number, i);
    ++at;
  }
  acquire();
  if (sender.type == MscclppChannel::Port && !manner.flushes)
    addOnChannel(MscclppKind::Flush, sender);
  result.gpus[of].blocks.push_back(std::move(block));
}

MscclppPlan Planner::plan() {
  match();
  reserveRoom();
  connect();
  for (uint32_t of = 0; of < algorithm.gpus.size(); ++of) {
    addSemaphores(of);
    for (uint32_t i = 0; i < algorithm.gpus[of].blocks.size(); ++i)
      addBlock(of, i);
  }
  result.protocol = manner.usesLL ? "LL" : "Simple";
  result.doublesScratch = manner.usesLL;
  result.inPlace = layout.call.inPlace;
  return std::move(result);
}

MscclppPlan exchange::planMscclpp(const MscclAlgorithm &algorithm,
                                  const Call &call, unsigned ranksPerBox,
                                  const MscclppManner &manner) {
  return Planner(algorithm, call, ranksPerBox, manner).plan();
}
