//===- ExchangeRounds.cpp - A program in rounds of messages ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeRounds.h"

#include "sccl/ABI/AverageWord.h"

#include <algorithm>
#include <unordered_map>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// When something happens: messages of round k at 2k, what a rank does after
/// them at 2k + 1.
using RoundTime = uint32_t;

/// A slot of a rank's memory.
struct SlotState {
  RoundTime written = 0, read = 0;
  uint32_t contributions = 1;
};

class RoundMaker {
public:
  RoundMaker(const Collective &collective, const Schedule &schedule,
             const Program &program);
  ExchangeRounds make();

private:
  void add(const ProgramTransfer &transfer);
  void addMessage(const ProgramTransfer &transfer, const ProgramSlots &from,
                  const ProgramSlots &to);
  void addLocal(const ProgramTransfer &transfer,
                const std::vector<ProgramSlots> &reads,
                const ProgramSlots &write);
  /// Of a sum, for the `i`-th chunk.
  RoundAction weigh(const ProgramTransfer &transfer,
                    const std::vector<ProgramSlots> &reads, uint32_t i);
  /// New scratch memory of `rank`.
  ProgramSlots allot(uint32_t rank, uint32_t size);
  SlotState &stateOf(const ProgramSlots &slots, uint32_t i);
  /// What the order within a link knows a message by.
  uint64_t turnOf(const ProgramTransfer &transfer, uint32_t src,
                  uint32_t dst) const;
  uint64_t linkOf(uint64_t src, uint64_t dst) const {
    return src * collective.numRanks() + dst;
  }
  ExchangeRound &roundAt(uint32_t rank, RoundTime time);
  /// Appends `action`, or makes it a part of the last one if that ends where it
  /// begins.
  void append(std::vector<RoundAction> &actions, RoundAction action) const;

  struct LinkState {
    RoundTime time;
    uint64_t turn;
  };

  const Collective &collective;
  const Program &program;
  const uint32_t pieces;
  ExchangeRounds result;
  std::vector<std::vector<SlotState>> states; ///< by rank: i, o and s in a row
  std::unordered_map<uint64_t, uint32_t> steps; ///< by link and chunk
  std::unordered_map<uint64_t, LinkState> links;
  std::vector<uint32_t> contributors; ///< by chunk
};
} // namespace

RoundMaker::RoundMaker(const Collective &collective, const Schedule &schedule,
                       const Program &program)
    : collective(collective), program(program),
      pieces(program.chunks / collective.chunks()),
      result{collective.chunksPerSegment() * pieces, program.scratch, {}},
      states(collective.numRanks()), contributors(collective.numChunks()) {
  result.ranks.resize(collective.numRanks());
  for (uint32_t rank = 0; rank < collective.numRanks(); ++rank) {
    size_t slots = collective.inputSlots(rank) + collective.outputSlots(rank);
    states[rank].resize(slots * pieces + program.scratch[rank]);
    if (collective.combining())
      for (unsigned chunk : collective.pre().chunksOf(rank))
        ++contributors[chunk];
  }
  for (uint32_t step = 0; step < schedule.steps.size(); ++step)
    for (const Send &send : schedule.steps[step].sends)
      steps.try_emplace(linkOf(send.src, send.dst) * collective.numChunks() +
                            send.chunk,
                        step);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SlotState &RoundMaker::stateOf(const ProgramSlots &slots, uint32_t i) {
  size_t at = slots[i];
  if (slots.buffer != Buffer::Input)
    at += size_t(collective.inputSlots(slots.rank)) * pieces;
  if (slots.buffer == Buffer::Scratch)
    at += size_t(collective.outputSlots(slots.rank)) * pieces;
  return states[slots.rank][at];
}

ProgramSlots RoundMaker::allot(uint32_t rank, uint32_t size) {
  uint32_t first = result.scratch[rank];
  result.scratch[rank] += size;
  states[rank].resize(states[rank].size() + size);
  return {rank, Buffer::Scratch, first, size, 0};
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

uint64_t RoundMaker::turnOf(const ProgramTransfer &transfer, uint32_t src,
                            uint32_t dst) const {
  uint32_t chunk = transfer.chunks.front();
  auto step =
      steps.find(linkOf(src, dst) * collective.numChunks() + chunk / pieces);
  uint64_t number = step == steps.end() ? 0 : step->second;
  return number * pieces + chunk % pieces;
}

ExchangeRound &RoundMaker::roundAt(uint32_t rank, RoundTime time) {
  std::vector<ExchangeRound> &rounds = result.ranks[rank];
  auto at = std::ranges::lower_bound(rounds, time / 2, std::less<>(),
                                     &ExchangeRound::number);
  if (at == rounds.end() || at->number != time / 2)
    at = rounds.insert(at, ExchangeRound{time / 2, {}, {}});
  return *at;
}

void RoundMaker::append(std::vector<RoundAction> &actions,
                        RoundAction action) const {
  if (!actions.empty()) {
    RoundAction &last = actions.back();
    uint32_t end = last.position + last.count;
    auto key = [](const RoundAction &a) {
      return std::tuple(a.kind, a.peer, a.leftShift, a.rightShift, a.divisor,
                        a.places.size());
    };
    bool joins = key(last) == key(action) &&
                 end % result.chunksPerSegment == action.position;
    // A segment of scratch memory is longer than one of the caller's.
    for (size_t i = 0; joins && i < action.places.size(); ++i)
      joins =
          last.places[i].buffer == action.places[i].buffer &&
          last.places[i].slot + last.count == action.places[i].slot &&
          (action.position != 0 || action.places[i].buffer != Buffer::Scratch);
    if (joins) {
      last.count += action.count;
      return;
    }
  }
  actions.push_back(std::move(action));
}

void RoundMaker::addMessage(const ProgramTransfer &transfer,
                            const ProgramSlots &from, const ProgramSlots &to) {
  uint64_t turn = turnOf(transfer, from.rank, to.rank);
  auto [link, isNew] =
      links.try_emplace(linkOf(from.rank, to.rank), LinkState{0, turn});
  RoundTime time = link->second.time;
  if (link->second.turn != turn)
    ++time;
  for (uint32_t i = 0; i < transfer.size(); ++i) {
    const SlotState &target = stateOf(to, i);
    time = std::max({time, stateOf(from, i).written + 1, target.written + 1,
                     target.read + 1});
  }
  time += time % 2;
  link->second = {time, turn};
  std::vector<RoundAction> &sends = roundAt(from.rank, time).messages;
  std::vector<RoundAction> &receives = roundAt(to.rank, time).messages;
  // Ends of a link do not see where the other one has to cut.
  bool isScratch =
      from.buffer == Buffer::Scratch || to.buffer == Buffer::Scratch;
  for (uint32_t i = 0, end; i < transfer.size(); i = end) {
    uint32_t position = transfer.chunks[i] % result.chunksPerSegment;
    for (end = i + 1; end < transfer.size(); ++end) {
      uint32_t next = transfer.chunks[end] % result.chunksPerSegment;
      if (next != (position + end - i) % result.chunksPerSegment ||
          (next == 0 && isScratch) || from[end] != from[end - 1] + 1 ||
          to[end] != to[end - 1] + 1)
        break;
    }
    sends.push_back({RoundAction::Send,
                     position,
                     end - i,
                     {{from.buffer, from[i]}},
                     to.rank});
    receives.push_back({RoundAction::Receive,
                        position,
                        end - i,
                        {{to.buffer, to[i]}},
                        from.rank});
  }
  for (uint32_t i = 0; i < transfer.size(); ++i) {
    SlotState &source = stateOf(from, i), &target = stateOf(to, i);
    source.read = std::max(source.read, time);
    target = {time, target.read, source.contributions};
  }
}

RoundAction RoundMaker::weigh(const ProgramTransfer &transfer,
                              const std::vector<ProgramSlots> &reads,
                              uint32_t i) {
  RoundAction action{
      RoundAction::Local, transfer.chunks[i] % result.chunksPerSegment, 1, {}};
  if (reads.size() == 1)
    return action;
  uint32_t total = 0;
  for (const ProgramSlots &read : reads)
    total += stateOf(read, i).contributions;
  bool isAll = total == contributors[transfer.chunks[i] / pieces];
  uint32_t word = averageWord(stateOf(reads[0], i).contributions,
                              stateOf(reads[1], i).contributions, total, isAll);
  action.leftShift = word >> AverageWord::leftBit & AverageWord::shiftMask;
  action.rightShift = word >> AverageWord::rightBit & AverageWord::shiftMask;
  action.divisor = word & AverageWord::divisorMask;
  return action;
}

void RoundMaker::addLocal(const ProgramTransfer &transfer,
                          const std::vector<ProgramSlots> &reads,
                          const ProgramSlots &write) {
  RoundTime time = 1;
  for (uint32_t i = 0; i < transfer.size(); ++i) {
    const SlotState &target = stateOf(write, i);
    time = std::max({time, target.written, target.read});
    for (const ProgramSlots &read : reads)
      time = std::max(time, stateOf(read, i).written);
  }
  time |= 1;
  std::vector<RoundAction> &locals = roundAt(write.rank, time).locals;
  for (uint32_t i = 0; i < transfer.size(); ++i) {
    RoundAction action = weigh(transfer, reads, i);
    action.places.push_back({write.buffer, write[i]});
    uint32_t contributions = 0;
    for (const ProgramSlots &read : reads) {
      action.places.push_back({read.buffer, read[i]});
      SlotState &source = stateOf(read, i);
      source.read = std::max(source.read, time);
      contributions += source.contributions;
    }
    SlotState &target = stateOf(write, i);
    target = {time, target.read, contributions};
    append(locals, std::move(action));
  }
}

void RoundMaker::add(const ProgramTransfer &transfer) {
  if (transfer.reads.size() == 1) {
    if (transfer.reads[0].rank == transfer.write.rank)
      addLocal(transfer, transfer.reads, transfer.write);
    else
      addMessage(transfer, transfer.reads[0], transfer.write);
    return;
  }
  // A sum is made where it is executed, of what is there.
  std::vector<ProgramSlots> reads = transfer.reads;
  for (ProgramSlots &read : reads)
    if (read.rank != transfer.rank) {
      ProgramSlots arrival = allot(transfer.rank, transfer.size());
      addMessage(transfer, read, arrival);
      read = arrival;
    }
  if (transfer.write.rank == transfer.rank) {
    addLocal(transfer, reads, transfer.write);
    return;
  }
  ProgramSlots sum = allot(transfer.rank, transfer.size());
  addLocal(transfer, reads, sum);
  addMessage(transfer, sum, transfer.write);
}

ExchangeRounds RoundMaker::make() {
  for (const ProgramTransfer &transfer : program.transfers)
    add(transfer);
  return std::move(result);
}

ExchangeRounds exchange::toRounds(const Collective &collective,
                                  const Schedule &schedule,
                                  const Program &program) {
  return RoundMaker(collective, schedule, program).make();
}
