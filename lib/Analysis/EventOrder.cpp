//===- EventOrder.cpp - What has happened before what ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Analysis/EventOrder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

EventOrder::EventOrder(ProgramOp program, unsigned perSegment)
    : hasLL(program.getLl()), perSegment(perSegment) {
  for (RankOp rank : program.getBody().getOps<RankOp>()) {
    endParts.push_back(0);
    for (ChannelOp channel : rank.getBody().getOps<ChannelOp>()) {
      channels.try_emplace(channel, channels.size());
      rankOf.push_back(rank.getRank());
    }
  }
  times.assign(channels.size(), 0);
  parts.assign(channels.size(), 0);
}

Access EventOrder::last(ChannelOp channel) const {
  uint32_t self = index(channel);
  return {self, times[self], parts[self]};
}

//===----------------------------------------------------------------------===//
// Direct evidence
//===----------------------------------------------------------------------===//

void EventOrder::advance(ChannelOp channel, Operation *op) {
  uint32_t self = index(channel);
  if (isa<BarrierOp>(op)) {
    uint32_t &end = endParts[rankOf[self]];
    end = std::max(end, ++parts[self]);
    return;
  }
  bool isTransfer = isa<TransferOpInterface>(op);
  Event event{Event::Other, isTransfer || times[self] == 0, self, none, none};
  times[self] += event.ticks;
  if (auto signal = dyn_cast<SignalOp>(op)) {
    event.kind = Event::Signal;
    event.number = signals.size();
    signals.push_back({self, times[self]});
    signalNumbers[keyOf(getFlag(signal), signal.getValue())] = event.number;
  } else if (auto wait = dyn_cast<WaitOp>(op)) {
    event.kind = Event::Wait;
    event.number = signalNumbers.at(keyOf(getFlag(wait), wait.getValue()));
    note(self, event.number);
  } else if (isTransfer && hasLL) {
    event.transfer = transfers.size();
    transfers.push_back(*getTransfer(op));
  }
  events.push_back(event);
}

/// Notes what a channel learns by waiting for a signal.
void EventOrder::note(uint32_t channel, uint32_t signal) {
  auto [sender, time] = signals[signal];
  auto raise = [sender, time](auto &map, uint32_t who) {
    uint32_t &entry = map[key(who, sender)];
    entry = std::max(entry, time);
  };
  raise(known, channel);
  raise(knownAtEnd, rankOf[channel]);
  heard[key(channel, rankOf[sender])] = true;
  heardAtEnd[key(rankOf[channel], rankOf[sender])] = true;
}

EventOrder::Question EventOrder::isBefore(const Access &access) {
  uint32_t self = events.back().channel;
  if (access.channel == self || access.part < parts[self] ||
      known.lookup(key(self, access.channel)) >= access.time)
    return yes;
  return ask({Asked::During, none, none, {false, access.channel}, access.time});
}

EventOrder::Question EventOrder::knowsLaunch(unsigned rank) {
  uint32_t self = events.back().channel;
  if (rank == rankOf[self] || parts[self] > 0 || heard.lookup(key(self, rank)))
    return yes;
  return ask({Asked::Throughout, none, none, {true, rank}, 1});
}

EventOrder::Question EventOrder::isBeforeEnd(const Access &access,
                                             unsigned rank) {
  if (rankOf[access.channel] == rank || access.part < endParts[rank] ||
      knownAtEnd.lookup(key(rank, access.channel)) >= access.time)
    return yes;
  return ask({Asked::End, none, rank, {false, access.channel}, access.time});
}

EventOrder::Question EventOrder::hearsOf(unsigned rank, unsigned peer,
                                         unsigned position) {
  if (endParts[rank] > 0 || heardAtEnd.lookup(key(rank, peer)))
    return yes;
  return ask({hasLL ? Asked::Hears : Asked::End,
              none,
              rank,
              {true, peer},
              hasLL ? position : 1});
}

EventOrder::Question EventOrder::ask(Asked question) {
  question.event = events.size() - 1; // of no meaning for an end
  asked.push_back(question);
  return asked.size() - 1;
}

//===----------------------------------------------------------------------===//
// Vector clocks, a few components at a time
//===----------------------------------------------------------------------===//

/// Follows up to `width` components of all clocks through the program.
class EventOrder::Pass {
public:
  static constexpr unsigned width = 16;
  using Clock = std::array<uint32_t, width>;

  Pass(EventOrder &program, ArrayRef<Component> components)
      : program(program), components(components), clocks(program.times.size()),
        signals(program.signals.size()) {
    if (program.hasLL) {
      ends = clocks;
      words.resize(program.numWords);
    }
    for (auto [i, component] : llvm::enumerate(components))
      positions.try_emplace(component, i);
    for (uint32_t channel = 0; channel < clocks.size(); ++channel) {
      auto own = positions.find({false, channel});
      auto ofRank = positions.find({true, program.rankOf[channel]});
      ticks.push_back({own == positions.end() ? none : own->second,
                       ofRank == positions.end() ? none : ofRank->second});
    }
  }

  /// Answers `questions`, which are about the components and in the order of
  /// asking.
  void run(ArrayRef<Question> questions) {
    auto next = questions.begin();
    auto isAt = [&](uint32_t event) {
      const Asked &asked = program.asked[*next];
      return asked.event == event && asked.kind < Asked::End;
    };
    for (uint32_t event = 0; event < program.events.size(); ++event) {
      execute(program.events[event]);
      for (; next != questions.end() && isAt(event); ++next)
        answerHere(*next, program.events[event].channel);
    }
    for (; next != questions.end(); ++next)
      answerAtEnd(*next);
  }

private:
  struct Ticks {
    uint32_t own, ofRank; ///< positions, or none
  };

  static void join(Clock &clock, const Clock &other) {
    for (unsigned i = 0; i < width; ++i)
      clock[i] = std::max(clock[i], other[i]);
  }

  void execute(const Event &event) {
    Clock &clock = clocks[event.channel];
    const Ticks &tick = ticks[event.channel];
    if (event.ticks && tick.own != none)
      ++clock[tick.own];
    if (event.ticks && tick.ofRank != none)
      clock[tick.ofRank] = 1;
    if (event.kind == Event::Signal)
      signals[event.number] = clock;
    if (event.kind == Event::Wait)
      join(clock, signals[event.number]);
    if (program.hasLL)
      executeLL(event);
  }

  void executeLL(const Event &event) {
    const Clock &clock = clocks[event.channel];
    if (event.kind == Event::Wait)
      hear(event.channel, clock, /*position=*/0); // flags have no bytes
    during = throughout = clock;
    if (event.transfer != none)
      executeTransfer(event, program.transfers[event.transfer]);
    join(ends[event.channel], during);
  }

  void executeTransfer(const Event &event, const Transfer &transfer) {
    for (unsigned i = 0; i < transfer.size(); ++i) {
      Clock chunk = clocks[event.channel];
      for (const SlotRange &read : transfer.reads)
        if (read.buffer == Buffer::Scratch)
          join(chunk, words[program.wordNumbers[read.rank][read[i]]]);
      if (transfer.write.buffer == Buffer::Scratch)
        words[program.wordNumbers[transfer.write.rank][transfer.write[i]]] =
            chunk;
      hear(event.channel, chunk, transfer.chunkAt(i) % program.perSegment);
      join(during, chunk);
      if (i == 0)
        throughout = chunk;
      for (unsigned k = 0; k < width; ++k)
        throughout[k] = std::min(throughout[k], chunk[k]);
    }
  }

  /// Notes of whom the rank of a channel hears by a chunk at `position`.
  void hear(uint32_t channel, const Clock &clock, unsigned position) {
    auto [it, isNew] = heard.try_emplace(program.rankOf[channel]);
    if (isNew)
      it->second.fill(none);
    for (unsigned i = 0; i < width; ++i)
      if (clock[i] > 0)
        it->second[i] = std::min(it->second[i], position);
  }

  void answerHere(Question question, uint32_t channel) {
    const Asked &asked = program.asked[question];
    const Clock &clock = !program.hasLL                ? clocks[channel]
                         : asked.kind == Asked::During ? during
                                                       : throughout;
    program.answers[question] =
        clock[positions.at(asked.component)] >= asked.least;
  }

  void answerAtEnd(Question question) {
    const Asked &asked = program.asked[question];
    unsigned position = positions.at(asked.component);
    if (asked.kind == Asked::Hears) {
      auto it = heard.find(asked.rank);
      program.answers[question] = it != heard.end() &&
                                  it->second[position] <= asked.least &&
                                  it->second[position] != none;
      return;
    }
    const std::vector<Clock> &last = program.hasLL ? ends : clocks;
    auto [begin, end] = std::equal_range(program.rankOf.begin(),
                                         program.rankOf.end(), asked.rank);
    program.answers[question] = false;
    for (auto channel = begin; channel != end; ++channel)
      if (last[channel - program.rankOf.begin()][position] >= asked.least)
        program.answers[question] = true;
  }

  EventOrder &program;
  ArrayRef<Component> components;
  std::map<Component, unsigned> positions; ///< in a clock
  std::vector<Ticks> ticks;                ///< of each channel
  std::vector<Clock> clocks, ends;         ///< likewise
  std::vector<Clock> signals;              ///< by number
  /// What LL words tell, by their number.
  std::vector<Clock> words;
  /// By rank: the lowest position of a chunk that tells of a component.
  llvm::DenseMap<uint32_t, Clock> heard;
  Clock during, throughout; ///< of the op that is executed
};

/// Numbers the slots of scratch that hold LL words. What is between them costs
/// a number, and no clock.
void EventOrder::numberWords() {
  constexpr uint32_t none = ~0u;
  wordNumbers.assign(endParts.size(), {});
  numWords = 0;
  auto number = [&](const SlotRange &range) {
    std::vector<uint32_t> &slots = wordNumbers[range.rank];
    for (unsigned i = 0; range.buffer == Buffer::Scratch && i < range.size();
         ++i) {
      if (range[i] >= slots.size())
        slots.resize(size_t(range[i]) + 1, none);
      if (slots[range[i]] == none)
        slots[range[i]] = numWords++;
    }
  };
  for (const Transfer &transfer : transfers) {
    llvm::for_each(transfer.reads, number);
    number(transfer.write);
  }
}

void EventOrder::answer() {
  numberWords();
  std::map<Component, std::vector<Question>> open;
  for (Question question = answers.size(); question < asked.size(); ++question)
    open[asked[question].component].push_back(question);
  answers.resize(asked.size());
  for (auto it = open.begin(); it != open.end();) {
    std::vector<Component> components;
    std::vector<Question> questions;
    for (; it != open.end() && components.size() < Pass::width; ++it) {
      components.push_back(it->first);
      llvm::append_range(questions, it->second);
    }
    llvm::sort(questions);
    Pass(*this, components).run(questions);
  }
}
