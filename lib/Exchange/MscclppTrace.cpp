//===- MscclppTrace.cpp - What a plan of MSCCL++ does ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MscclppTrace.h"

#include "Lanes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace sccl;
using namespace sccl::exchange;

uint32_t exchange::mscclppCells(const MscclppPlan &plan) {
  constexpr uint32_t most = 240;
  uint32_t cells = 1;
  for (const MscclppGpu &gpu : plan.gpus)
    for (const MscclppBlock &block : gpu.blocks)
      for (const MscclppOperation &operation : block.operations)
        if (cells != 0) {
          cells = std::lcm(cells, operation.parts);
          cells = cells > most ? 0 : cells;
        }
  return cells;
}

CallLayout exchange::layoutOf(const MscclppPlan &plan, CollectiveKind kind,
                              uint32_t root, uint32_t cellsPerChunk) {
  auto ranks = uint32_t(plan.gpus.size());
  Call call{kind, ranks, 0, root, plan.inPlace};
  uint32_t inputs = plan.gpus[0].inputChunks;
  call.chunks = (call.gathers() ? inputs * ranks : inputs) * cellsPerChunk;
  std::vector<uint32_t> scratch;
  // Data may take all of what is there for LL words, which are half as many.
  for (const MscclppGpu &gpu : plan.gpus)
    scratch.push_back(gpu.scratchChunks * cellsPerChunk * 3);
  return {call, std::move(scratch)};
}

namespace {
/// A buffer's part: cells of a rank, of data or of LL words.
struct Spot {
  uint32_t rank, first;
  bool isLL;
  bool operator==(const Spot &) const = default;
};

class TraceMaker {
public:
  TraceMaker(const MscclppPlan &plan, const CallLayout &layout,
             uint32_t cellsPerChunk, Findings &findings)
      : plan(plan), layout(layout), cellsPerChunk(cellsPerChunk),
        findings(findings) {}
  MscclppTrace make();

private:
  /// A barrier of a rank: of each block that comes to it, where it does.
  struct Arrivals {
    std::map<uint32_t, std::vector<uint32_t>> ofBlock;
    std::vector<std::pair<Place, uint32_t>> expected; ///< numbers of blocks
  };

  void addBlock(const MscclppBlock &block);
  void addOperation(const MscclppOperation &operation);
  void addNop(const MscclppOperation &operation);
  void addBarrier(const MscclppOperation &operation);
  void addSignals(const MscclppOperation &operation);
  void addWaits(const MscclppOperation &operation);
  void addSemaphores(const MscclppOperation &operation);
  void addFlush(const MscclppOperation &operation);
  void addMove(const MscclppOperation &operation, uint32_t from,
               uint32_t count);
  void sumUp(const MscclppOperation &operation, uint32_t from, uint32_t count);

  Spot spotOf(const MscclppOperation &operation, const MscclppChunks &chunks,
              MscclppRole role, uint32_t from) const;
  /// Adds an event of this block to a lane.
  uint32_t add(uint32_t lane, Event event);
  Event eventOf(const MscclppOperation &operation) const;
  /// What is at `source` goes to `destination`, and is added to what is there.
  void pass(const MscclppOperation &operation, Spot source, Spot destination,
            uint32_t count, bool adds);
  uint32_t laneAt(uint32_t atRank);
  uint32_t portLane(uint32_t atRank) const;
  void matchWords();
  void joinBarriers();

  const MscclppPlan &plan;
  const CallLayout &layout;
  const uint32_t cellsPerChunk;
  Findings &findings;
  Lanes lanes;
  MscclppTrace result;

  // Of the block at hand.
  const MscclppBlock *block = nullptr;
  uint32_t rank = 0, number = 0;
  uint32_t start = 0;           ///< the event that all of this phase come after
  std::vector<uint32_t> phase;  ///< events since then
  uint32_t last = 0;            ///< event of this block
  uint32_t slot = 0;            ///< of the operation among those of the phase
  std::optional<uint32_t> port; ///< the channel that the operation goes through
  /// By the distance from an operation's first cell: the threads that have the
  /// words there, in all operations of the phase.
  std::map<uint32_t, uint32_t> threads;
  uint32_t words = 0, numWords = 0; ///< of the event at hand, and used up
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> slots; ///< rank, slot: lane
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> ports; ///< rank, port: lane

  std::map<std::tuple<uint32_t, MscclppChannel, uint32_t>, Counter> channels;
  std::map<std::pair<uint32_t, uint32_t>, Counter> semaphores;
  std::map<std::pair<uint32_t, uint32_t>, Arrivals> barriers;
  std::vector<std::pair<uint32_t, Cells>> wordReads, wordWrites;
};
} // namespace

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

Event TraceMaker::eventOf(const MscclppOperation &operation) const {
  Event event{};
  event.place = operation.place;
  event.words = words;
  return event;
}

uint32_t TraceMaker::add(uint32_t lane, Event event) {
  event.after.push_back(start);
  if (!port)
    event.follows.push_back(last);
  uint32_t added = lanes.add(lane, std::move(event));
  if (!port) {
    last = added;
    phase.push_back(added);
  }
  return added;
}

/// The lane of the operation at hand on a rank. What goes through a port is in
/// the order of the port, whatever the block does meanwhile.
uint32_t TraceMaker::laneAt(uint32_t atRank) {
  auto [at, isNew] = port ? ports.try_emplace({atRank, *port})
                          : slots.try_emplace({atRank, slot});
  if (isNew)
    at->second = lanes.addLane(atRank);
  return at->second;
}

Spot TraceMaker::spotOf(const MscclppOperation &operation,
                        const MscclppChunks &chunks, MscclppRole role,
                        uint32_t from) const {
  uint32_t of = rank;
  Buffer buffer = chunks.buffer;
  if (chunks.isRemote) {
    const MscclppRemote &remote =
        plan.gpus[rank]
            .remotes[block->remotes[operation.channel][chunks.remote]];
    of = remote.rank;
    buffer = remote.buffer;
  }
  uint32_t cell = chunks.first * cellsPerChunk + from;
  if (isLL(role))
    return {
        of,
        layout.scratch(plan.gpus[of].scratchChunks * 2 * cellsPerChunk + cell),
        true};
  return {of,
          buffer == Buffer::Input    ? layout.input(of, cell)
          : buffer == Buffer::Output ? layout.output(of, cell)
                                     : layout.scratch(cell),
          false};
}

void TraceMaker::pass(const MscclppOperation &operation, Spot source,
                      Spot destination, uint32_t count, bool adds) {
  Cells from{source.first, count}, to{destination.first, count};
  Event event = eventOf(operation);
  event.reads = from;
  bool isOneEvent = source.rank == destination.rank;
  if (isOneEvent) {
    event.writes = to;
    event.addsToWritten = adds;
  }
  uint32_t read = add(laneAt(source.rank), event), written = read;
  if (!isOneEvent) {
    Event arrival = eventOf(operation);
    arrival.from = read;
    arrival.writes = to;
    arrival.addsToWritten = adds;
    written = add(laneAt(destination.rank), arrival);
  }
  if (source.isLL && waitsForWords(operation))
    wordReads.emplace_back(read, from);
  if (destination.isLL)
    wordWrites.emplace_back(written, to);
  for (auto [at, of] :
       {std::pair{read, source.rank}, std::pair{written, destination.rank}})
    if (of != rank)
      result.foreign.push_back({at, rank, destination.isLL});
}

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

void TraceMaker::sumUp(const MscclppOperation &operation, uint32_t from,
                       uint32_t count) {
  MscclppShape shape = shapeOf(operation);
  Spot sum =
      spotOf(operation, operation.destinations[0], shape.destination, from);
  std::vector<Spot> sources;
  for (size_t i = 0; i < operation.sources.size(); ++i)
    sources.push_back(
        spotOf(operation, operation.sources[i], shape.ofSource(i), from));
  // The threads read all sources before they write the sum.
  auto inPlace = std::ranges::find(sources, sum);
  bool isThere = inPlace != sources.end();
  if (isThere)
    sources.erase(inPlace);
  for (const Spot &source : sources) {
    pass(operation, source, sum, count, isThere);
    isThere = true;
  }
  for (size_t i = 1; i < operation.destinations.size(); ++i)
    pass(operation, sum,
         spotOf(operation, operation.destinations[i], shape.ofDestination(i),
                from),
         count, false);
}

void TraceMaker::addMove(const MscclppOperation &operation, uint32_t from,
                         uint32_t count) {
  MscclppShape shape = shapeOf(operation);
  bool isSum = !shape.isPaired && !isRemote(shape.destination);
  if (isSum)
    return sumUp(operation, from, count);
  for (size_t i = 0; i < operation.destinations.size(); ++i) {
    if (operation.channel == MscclppChannel::Port)
      port = block->channels.port[operation.channels[i]];
    size_t source = shape.isPaired ? i : 0;
    pass(operation,
         spotOf(operation, operation.sources[source], shape.ofSource(source),
                from),
         spotOf(operation, operation.destinations[i], shape.ofDestination(i),
                from),
         count, false);
    port.reset();
  }
}

//===----------------------------------------------------------------------===//
// Synchronization
//===----------------------------------------------------------------------===//

void TraceMaker::addNop(const MscclppOperation &operation) {
  Event event = eventOf(operation);
  event.after = phase;
  slot = 0;
  start = add(laneAt(rank), std::move(event));
  phase.clear();
  threads.clear();
}

void TraceMaker::addBarrier(const MscclppOperation &operation) {
  addNop(operation);
  Arrivals &arrivals = barriers[{rank, operation.barrier}];
  arrivals.ofBlock[number].push_back(start);
  arrivals.expected.emplace_back(operation.place, operation.blocks);
  // What the block does next comes after the others have come, too.
  addNop(operation);
}

void TraceMaker::addSignals(const MscclppOperation &operation) {
  for (uint32_t index : operation.channels) {
    uint32_t channel = block->channels[operation.channel][index];
    if (operation.channel == MscclppChannel::Port)
      port = channel;
    Event event = eventOf(operation);
    // The signal is on its way after what has gone through the port.
    uint32_t peer = plan.gpus[rank].peers[operation.channel][channel];
    if (port)
      if (auto before = lanes.last(laneAt(peer)))
        event.after.push_back(*before);
    uint32_t added = add(laneAt(rank), std::move(event));
    port.reset();
    std::optional<uint32_t> back =
        peerChannel(plan, rank, operation.channel, channel);
    channels[{peer, operation.channel, back.value_or(~channel)}]
        .signals.push_back(
            {added, number, operation.kind == MscclppKind::RelaxedSignal});
  }
}

void TraceMaker::addWaits(const MscclppOperation &operation) {
  for (uint32_t index : operation.channels) {
    uint32_t channel = block->channels[operation.channel][index];
    uint32_t added = add(laneAt(rank), eventOf(operation));
    channels[{rank, operation.channel, channel}].waits.push_back(
        {added, number, operation.kind == MscclppKind::RelaxedWait});
  }
}

void TraceMaker::addSemaphores(const MscclppOperation &operation) {
  for (uint32_t semaphore : operation.semaphores) {
    uint32_t added = add(laneAt(rank), eventOf(operation));
    Counter &counter = semaphores[{rank, semaphore}];
    (operation.kind == MscclppKind::Release ? counter.signals : counter.waits)
        .push_back({added, number});
  }
}

void TraceMaker::addFlush(const MscclppOperation &operation) {
  Event event = eventOf(operation);
  for (uint32_t index : operation.channels) {
    uint32_t channel = block->channels.port[index];
    for (uint32_t at : {rank, plan.gpus[rank].peers.port[channel]})
      if (auto lane = ports.find({at, channel}); lane != ports.end())
        if (auto before = lanes.last(lane->second))
          event.after.push_back(*before);
  }
  add(laneAt(rank), std::move(event));
}

void TraceMaker::addOperation(const MscclppOperation &operation) {
  using enum MscclppKind;
  switch (operation.kind) {
  case Nop:
    return addNop(operation);
  case Barrier:
    return addBarrier(operation);
  case Signal:
  case RelaxedSignal:
    return addSignals(operation);
  case Wait:
  case RelaxedWait:
    return addWaits(operation);
  case Acquire:
  case Release:
    return addSemaphores(operation);
  case Flush:
    return addFlush(operation);
  default:
    break;
  }
  uint32_t cells = operation.sources[0].count * cellsPerChunk;
  uint32_t first = cells / operation.parts * operation.part;
  uint32_t end = first + cells / operation.parts;
  // Words are waited for one by one, data as a whole.
  MscclppShape shape = shapeOf(operation);
  bool hasWords =
      isLL(shape.source) || isLL(shape.moreSources) || isLL(shape.destination);
  uint32_t piece = hasWords ? cellsPerChunk : std::max(cells, 1u);
  // A thread takes every so-manieth word from the first on, in each operation.
  bool hasOwnWords = hasWords && operation.channel != MscclppChannel::Port &&
                     operation.parts == 1;
  for (uint32_t from = first; from < end; from += piece) {
    if (hasOwnWords) {
      auto [at, isNew] = threads.try_emplace(from, numWords + 1);
      numWords += isNew;
      words = at->second;
    }
    addMove(operation, from, std::min(piece, end - from));
    words = 0;
    slot += hasWords;
  }
  if (operation.kind == PutSignal)
    addSignals(operation);
}

void TraceMaker::addBlock(const MscclppBlock &each) {
  block = &each;
  start = last = result.begins[rank];
  phase.clear();
  threads.clear();
  slots.clear();
  ports.clear();
  slot = 0;
  for (const MscclppOperation &operation : block->operations) {
    addOperation(operation);
    if (operation.kind != MscclppKind::Nop &&
        operation.kind != MscclppKind::Barrier)
      ++slot;
  }
  Event &end = lanes.events[result.ends[rank]];
  end.after.insert(end.after.end(), phase.begin(), phase.end());
  end.after.push_back(start);
  ++number;
}

//===----------------------------------------------------------------------===//
// Counterparts
//===----------------------------------------------------------------------===//

void TraceMaker::joinBarriers() {
  for (const auto &[which, arrivals] : barriers) {
    const auto &ofBlock = arrivals.ofBlock;
    std::string name = "barrier " + std::to_string(which.second);
    for (auto [place, count] : arrivals.expected)
      if (count != ofBlock.size())
        return findings.add(place, "deadlock: " + name + " waits for " +
                                       std::to_string(count) + " blocks, and " +
                                       std::to_string(ofBlock.size()) +
                                       " come to it");
    size_t times = ofBlock.begin()->second.size();
    for (const auto &[who, events] : ofBlock)
      if (events.size() != times)
        return findings.add(lanes.events[events.back()].place,
                            "deadlock: blocks come to " + name +
                                " another number of times");
    for (size_t i = 0; i < times; ++i) {
      Event join{};
      join.place = lanes.events[ofBlock.begin()->second[i]].place;
      for (const auto &[who, events] : ofBlock)
        join.after.push_back(events[i]);
      uint32_t joined = lanes.add(lanes.addLane(which.first), std::move(join));
      // The second nop of a barrier is the event after the first.
      for (const auto &[who, events] : ofBlock)
        lanes.events[events[i] + 1].after.push_back(joined);
    }
  }
}

/// Puts each LL word's only write before its reads.
void TraceMaker::matchWords() {
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> writers;
  for (const auto &[event, cells] : wordWrites)
    for (uint32_t i = 0; i < cells.count; ++i) {
      auto [at, isNew] = writers.try_emplace(
          {lanes.events[event].rank, cells.first + i}, event);
      if (!isNew)
        findings.add(lanes.events[event].place,
                     "writes LL words that line " +
                         lanes.events[at->second].place.str() +
                         " writes in the same call, so that readers cannot "
                         "tell them apart");
    }
  for (const auto &[event, cells] : wordReads)
    for (uint32_t i = 0; i < cells.count; ++i) {
      auto at = writers.find({lanes.events[event].rank, cells.first + i});
      if (at == writers.end()) {
        findings.add(lanes.events[event].place,
                     "deadlock: waits for LL words that nobody writes");
        break;
      }
      std::vector<uint32_t> &after = lanes.events[event].after;
      if (after.empty() || after.back() != at->second)
        after.push_back(at->second);
    }
}

MscclppTrace TraceMaker::make() {
  auto ranks = uint32_t(plan.gpus.size());
  for (rank = 0; rank < ranks; ++rank) {
    Event begin{}, end{};
    begin.place = end.place = plan.gpus[rank].place;
    begin.role = EventRole::Begin;
    end.role = EventRole::End;
    end.writes = Cells{0, layout.callerCells()};
    result.begins.push_back(lanes.add(lanes.addLane(rank), begin));
    end.after.push_back(result.begins.back());
    result.ends.push_back(lanes.add(lanes.addLane(rank), end));
  }
  for (rank = 0; rank < ranks; ++rank)
    for (const MscclppBlock &each : plan.gpus[rank].blocks)
      addBlock(each);
  for (const auto &[where, counter] : channels)
    matchCounter(counter, lanes.events, result.relaxed, findings);
  for (auto &[where, counter] : semaphores) {
    counter.initial = plan.gpus[where.first].semaphores[where.second];
    matchCounter(counter, lanes.events, result.relaxed, findings);
  }
  joinBarriers();
  matchWords();
  auto [trace, numbers] = std::move(lanes).finish(ranks);
  result.trace = std::move(trace);
  for (std::vector<uint32_t> *events : {&result.begins, &result.ends})
    for (uint32_t &event : *events)
      event = numbers[event];
  for (auto &[signal, wait] : result.relaxed) {
    signal = numbers[signal];
    wait = numbers[wait];
  }
  for (ForeignEvent &foreign : result.foreign)
    foreign.event = numbers[foreign.event];
  return std::move(result);
}

MscclppTrace exchange::makeMscclppTrace(const MscclppPlan &plan,
                                        const CallLayout &layout,
                                        uint32_t cellsPerChunk,
                                        Findings &findings) {
  return TraceMaker(plan, layout, cellsPerChunk, findings).make();
}
