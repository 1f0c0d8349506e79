//===- ConnectedMoves.cpp - A program over connections --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConnectedMoves.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// Some chunks of a transfer that are neighbours wherever they are.
struct Run {
  const ProgramTransfer &transfer;
  uint32_t first, count;
};

/// Who reads what a chunk of a transfer has written.
struct ChunkReader {
  uint32_t transfer, read, at;
  bool operator==(const ChunkReader &) const = default;
};

/// What has been sent, until it is received.
struct Arrival {
  Run run;
  uint32_t send;
  Location to;
  /// Of its first chunk, if it is all there is.
  std::optional<ChunkReader> reader;
  bool isReceived = false;
};

class Connector {
public:
  explicit Connector(const Program &program)
      : program(program), places(program.scratch.size()) {
    result.scratch = program.scratch;
  }
  ConnectedMoves connect();

private:
  /// Of a chunk in a rank's memory. An input and an output of the same chunk
  /// are one, as they are for calls in place.
  struct Place {
    std::optional<uint32_t> write;
    std::vector<uint32_t> reads;
    std::optional<uint32_t> arrival; ///< that is to be received there
    bool isOverwritten = false;      ///< by what is not the input
  };

  void findReaders();
  bool areNeighbours(const ProgramTransfer &transfer, uint32_t at) const;
  void add(uint32_t number);
  void send(uint32_t number, const ProgramSlots &from, const ProgramSlots &to);
  void sendRun(uint32_t number, Run run, const ProgramSlots &from,
               const ProgramSlots &to);
  void addUp(uint32_t number, const ProgramSlots &to);
  void addTerm(Run run, uint32_t number, size_t read, const ProgramSlots &to);
  bool sumGoesOn(uint32_t at) const;
  std::vector<size_t> orderOfReads(uint32_t number,
                                   const ProgramSlots &to) const;
  /// The arrival that is `transfer`'s alone to read.
  Arrival *arrivalFor(uint32_t number, size_t read, uint32_t at);
  ProgramSlots sumOf(uint32_t number);

  Place &placeOf(uint32_t rank, Location location, const Run &run, uint32_t i);
  uint32_t addMove(Move move, const Run &run, bool reads, bool writes);
  void noteRead(uint32_t move, Location from, const Run &run);
  void noteWrite(uint32_t move, Location to, const Run &run);
  /// Receives where `location` is going to be read, or written.
  void settle(uint32_t rank, Location location, const Run &run, bool isWrite,
              const Arrival *but = nullptr);
  void receive(Arrival &arrival) { receive(arrival, arrival.to, {}); }
  /// False if it has been received elsewhere.
  bool receive(Arrival &arrival, Location to, std::optional<Location> local);

  const Program &program;
  ConnectedMoves result;
  std::vector<std::vector<std::optional<ChunkReader>>> readers; ///< by chunk
  std::vector<std::map<uint32_t, Place>> places;                ///< by rank
  std::deque<Arrival> arrivals;
  std::map<uint32_t, uint32_t> arrivalOf; ///< by send
  /// By sender and receiver.
  std::map<std::pair<uint32_t, uint32_t>, std::deque<uint32_t>> connections;
  /// Of the transfer at hand: where the sum of each chunk is so far.
  std::vector<std::optional<Location>> sums;
};
} // namespace

/// Steps of MSCCL count chunks in few bits.
static constexpr uint32_t mostRunChunks = 64;

static Location locate(const ProgramSlots &slots, uint32_t at) {
  return {slots.buffer, slots[at]};
}
static Location after(Location location, uint32_t chunks) {
  return {location.buffer, location.chunk + chunks};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Connector::Place &Connector::placeOf(uint32_t rank, Location location,
                                     const Run &run, uint32_t i) {
  if (location.buffer == Buffer::Scratch)
    return places[rank][program.numChunks + location.chunk + i];
  return places[rank][run.transfer.chunks[run.first + i]];
}

void Connector::settle(uint32_t rank, Location location, const Run &run,
                       bool isWrite, const Arrival *but) {
  for (uint32_t i = 0; i < run.count; ++i) {
    Place &place = placeOf(rank, location, run, i);
    if (place.arrival && &arrivals[*place.arrival] != but)
      receive(arrivals[*place.arrival]);
    for (size_t k = 0; isWrite && k < place.reads.size(); ++k)
      if (auto sent = arrivalOf.find(place.reads[k]); sent != arrivalOf.end())
        receive(arrivals[sent->second]);
  }
}

void Connector::noteRead(uint32_t number, Location from, const Run &run) {
  Move &move = result.moves[number];
  for (uint32_t i = 0; i < run.count; ++i) {
    Place &place = placeOf(move.rank, from, run, i);
    if (place.write && *place.write != number)
      move.after.insert(*place.write);
    place.reads.push_back(number);
    if (from.buffer == Buffer::Input && place.isOverwritten)
      result.keepsInputs = false;
  }
}

void Connector::noteWrite(uint32_t number, Location to, const Run &run) {
  Move &move = result.moves[number];
  for (uint32_t i = 0; i < run.count; ++i) {
    Place &place = placeOf(move.rank, to, run, i);
    move.after.insert(place.reads.begin(), place.reads.end());
    if (place.write)
      move.after.insert(*place.write);
    place.reads.clear();
    place.write = number;
    place.isOverwritten |=
        move.type != MscclType::Copy || move.src.buffer != Buffer::Input;
  }
  move.after.erase(number);
}

uint32_t Connector::addMove(Move move, const Run &run, bool reads,
                            bool writes) {
  auto number = uint32_t(result.moves.size());
  result.moves.push_back(std::move(move));
  if (reads)
    noteRead(number, result.moves[number].src, run);
  if (writes)
    noteWrite(number, result.moves[number].dst, run);
  return number;
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

bool Connector::receive(Arrival &arrival, Location to,
                        std::optional<Location> local) {
  uint32_t src = result.moves[arrival.send].rank;
  auto dst = uint32_t(result.moves[arrival.send].peer);
  std::deque<uint32_t> &connection = connections[{src, dst}];
  if (!arrival.isReceived)
    settle(dst, to, arrival.run, /*isWrite=*/true, &arrival);
  while (!arrival.isReceived && &arrivals[connection.front()] != &arrival)
    receive(arrivals[connection.front()]);
  if (arrival.isReceived)
    return false;
  connection.pop_front();
  arrival.isReceived = true;
  arrivalOf.erase(arrival.send);
  for (uint32_t i = 0; i < arrival.run.count; ++i)
    placeOf(dst, arrival.to, arrival.run, i).arrival.reset();
  auto type = local ? MscclType::ReceiveReduceCopy : MscclType::Receive;
  addMove({type,
           dst,
           int(src),
           local.value_or(to),
           to,
           arrival.run.count,
           {},
           arrival.send},
          arrival.run, local.has_value(), /*writes=*/true);
  return true;
}

void Connector::sendRun(uint32_t number, Run run, const ProgramSlots &from,
                        const ProgramSlots &to) {
  Location source = locate(from, run.first), target = locate(to, run.first);
  settle(from.rank, source, run, /*isWrite=*/false);
  for (uint32_t i = 0; i < run.count; ++i)
    if (Place &place = placeOf(to.rank, target, run, i); place.arrival)
      receive(arrivals[*place.arrival]);
  uint32_t move = addMove(
      {MscclType::Send, from.rank, int(to.rank), source, target, run.count},
      run, /*reads=*/true, /*writes=*/false);
  auto arrival = uint32_t(arrivals.size());
  arrivals.push_back({run, move, target, readers[number][run.first]});
  arrivalOf[move] = arrival;
  connections[{from.rank, to.rank}].push_back(arrival);
  for (uint32_t i = 0; i < run.count; ++i)
    placeOf(to.rank, target, run, i).arrival = arrival;
}

/// Sends of neighbours are one, if those who read them can take them so.
void Connector::send(uint32_t number, const ProgramSlots &from,
                     const ProgramSlots &to) {
  const ProgramTransfer &transfer = program.transfers[number];
  auto goOnTogether = [&](uint32_t at) {
    const std::optional<ChunkReader> &last = readers[number][at - 1];
    const std::optional<ChunkReader> &next = readers[number][at];
    if (!last || !next)
      return !last && !next;
    return *next == ChunkReader{last->transfer, last->read, last->at + 1} &&
           areNeighbours(program.transfers[next->transfer], next->at);
  };
  for (uint32_t first = 0, end = 0; first < transfer.size(); first = end) {
    for (end = first + 1; end < transfer.size() &&
                          end - first < mostRunChunks &&
                          from[end] == from[end - 1] + 1 &&
                          to[end] == to[end - 1] + 1 && goOnTogether(end);)
      ++end;
    sendRun(number, {transfer, first, end - first}, from, to);
  }
}

//===----------------------------------------------------------------------===//
// Readers
//===----------------------------------------------------------------------===//

/// True if chunk `at` of `transfer` is beside the one before it in all memory.
bool Connector::areNeighbours(const ProgramTransfer &transfer,
                              uint32_t at) const {
  auto isNext = [at](const ProgramSlots &slots) {
    return slots[at] == slots[at - 1] + 1;
  };
  return isNext(transfer.write) && std::ranges::all_of(transfer.reads, isNext);
}

/// Notes who reads what others land in scratch memory, if that is one transfer
/// that does not send it on.
void Connector::findReaders() {
  struct Written {
    uint32_t transfer, at;
    bool isRead = false;
  };
  std::map<std::pair<uint32_t, uint32_t>, Written> written; ///< rank and slot
  for (uint32_t number = 0; number < program.transfers.size(); ++number) {
    const ProgramTransfer &transfer = program.transfers[number];
    for (uint32_t read = 0; read < transfer.reads.size(); ++read) {
      const ProgramSlots &slots = transfer.reads[read];
      bool isSent =
          slots.rank != transfer.rank ||
          (transfer.reads.size() == 1 && transfer.write.rank != slots.rank);
      for (uint32_t at = 0; at < transfer.size(); ++at) {
        auto it = written.find({slots.rank, slots[at]});
        if (slots.buffer != Buffer::Scratch || it == written.end())
          continue;
        std::optional<ChunkReader> &reader =
            readers[it->second.transfer][it->second.at];
        reader.reset();
        if (!isSent && !it->second.isRead)
          reader = {number, read, at};
        it->second.isRead = true;
      }
    }
    readers.emplace_back(transfer.size());
    if (transfer.write.buffer == Buffer::Scratch)
      for (uint32_t at = 0; at < transfer.size(); ++at)
        written[{transfer.write.rank, transfer.write[at]}] = {number, at};
  }
}

Arrival *Connector::arrivalFor(uint32_t number, size_t read, uint32_t at) {
  const ProgramTransfer &transfer = program.transfers[number];
  const ProgramSlots &slots = transfer.reads[read];
  Run one{transfer, at, 1};
  Place &place = placeOf(slots.rank, locate(slots, at), one, 0);
  if (!place.arrival)
    return nullptr;
  Arrival &arrival = arrivals[*place.arrival];
  return arrival.reader == ChunkReader{number, uint32_t(read), at} ? &arrival
                                                                   : nullptr;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// One term that is here begins the sum, without a move. Then comes what the
/// sum would overwrite.
std::vector<size_t> Connector::orderOfReads(uint32_t number,
                                            const ProgramSlots &to) const {
  const ProgramTransfer &transfer = program.transfers[number];
  auto isThere = [&](size_t read) {
    return transfer.reads[read].rank == to.rank &&
           locate(transfer.reads[read], 0) == locate(to, 0);
  };
  auto isHere = [&](size_t read) {
    const ProgramSlots &slots = transfer.reads[read];
    auto place = places[slots.rank].find(slots.buffer == Buffer::Scratch
                                             ? program.numChunks + slots[0]
                                             : transfer.chunks[0]);
    return slots.rank == transfer.rank &&
           (place == places[slots.rank].end() || !place->second.arrival);
  };
  std::vector<size_t> order;
  for (size_t read = 0; read < transfer.reads.size(); ++read)
    order.push_back(read);
  auto begin = std::ranges::find_if(
      order, [&](size_t read) { return isThere(read) && isHere(read); });
  if (begin == order.end())
    begin = std::ranges::find_if(order, isHere);
  if (begin != order.end())
    std::rotate(order.begin(), begin, begin + 1);
  auto second = order.begin() + (begin != order.end());
  if (auto there = std::find_if(second, order.end(), isThere);
      there != order.end())
    std::rotate(second, there, there + 1);
  return order;
}

/// Adds a term to the sums of a run, or makes it the sum.
void Connector::addTerm(Run run, uint32_t number, size_t read,
                        const ProgramSlots &to) {
  const ProgramSlots &slots = run.transfer.reads[read];
  Location from = locate(slots, run.first), target = locate(to, run.first);
  std::optional<Location> sum = sums[run.first];
  Arrival *arrival = arrivalFor(number, read, run.first);
  if (slots.rank != to.rank) {
    sendRun(number, run, slots, to);
    receive(arrivals.back(), target, sum);
  } else if (!arrival || !receive(*arrival, target, sum)) {
    settle(to.rank, from, run, /*isWrite=*/false);
    if (sum) {
      settle(to.rank, target, run, /*isWrite=*/true);
      if (*sum != target)
        addMove({MscclType::Copy, to.rank, -1, *sum, target, run.count}, run,
                true, true);
      addMove({MscclType::Reduce, to.rank, -1, from, target, run.count}, run,
              true, true);
    } else {
      target = from;
    }
  }
  for (uint32_t i = 0; i < run.count; ++i)
    sums[run.first + i] = after(target, i);
}

/// True if the sum of chunk `at` is where that of the one before it goes on.
bool Connector::sumGoesOn(uint32_t at) const {
  return sums[at].has_value() == sums[at - 1].has_value() &&
         (!sums[at] || *sums[at] == after(*sums[at - 1], 1));
}

void Connector::addUp(uint32_t number, const ProgramSlots &to) {
  const ProgramTransfer &transfer = program.transfers[number];
  sums.assign(transfer.size(), std::nullopt);
  for (size_t read : orderOfReads(number, to))
    for (uint32_t first = 0, end = 0; first < transfer.size(); first = end) {
      Arrival *arrival = arrivalFor(number, read, first);
      uint32_t most = arrival ? arrival->run.count : mostRunChunks;
      for (end = first + 1; end < transfer.size() && end - first < most &&
                            areNeighbours(transfer, end) && sumGoesOn(end) &&
                            (arrival || !arrivalFor(number, read, end));)
        ++end;
      // What comes as one for sums that are not beside each other.
      if (arrival && end - first < most)
        receive(*arrival);
      addTerm({transfer, first, end - first}, number, read, to);
    }
  for (uint32_t first = 0, end = 0; first < transfer.size(); first = end) {
    for (end = first + 1; end < transfer.size() &&
                          end - first < mostRunChunks &&
                          to[end] == to[end - 1] + 1 && sumGoesOn(end);)
      ++end;
    Run run{transfer, first, end - first};
    Location target = locate(to, first);
    if (*sums[first] == target)
      continue;
    settle(to.rank, target, run, /*isWrite=*/true);
    addMove({MscclType::Copy, to.rank, -1, *sums[first], target, run.count},
            run, true, true);
  }
}

/// Where a sum is that its rank sends and does not keep: in the place of the
/// one term that arrives for it, or in a new one.
ProgramSlots Connector::sumOf(uint32_t number) {
  const ProgramTransfer &transfer = program.transfers[number];
  size_t arriving = 0;
  for (size_t read = 0; read < transfer.reads.size(); ++read)
    if (arrivalFor(number, read, 0))
      arriving += read + 1;
  if (transfer.reads.size() == 2 && (arriving == 1 || arriving == 2))
    return transfer.reads[arriving - 1];
  uint32_t slot = result.scratch[transfer.rank];
  result.scratch[transfer.rank] += transfer.size();
  return {transfer.rank, Buffer::Scratch, slot, transfer.size(), 0};
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

void Connector::add(uint32_t number) {
  const ProgramTransfer &transfer = program.transfers[number];
  const auto &[rank, chunks, reads, write] = transfer;
  if (reads.size() == 1 && reads[0].rank != write.rank)
    return send(number, reads[0], write);
  if (write.rank == rank)
    return addUp(number, write);
  ProgramSlots sum = sumOf(number);
  addUp(number, sum);
  send(number, sum, write);
}

ConnectedMoves Connector::connect() {
  findReaders();
  for (uint32_t number = 0; number < program.transfers.size(); ++number)
    add(number);
  for (Arrival &arrival : arrivals)
    receive(arrival);
  return std::move(result);
}

ConnectedMoves exchange::connectMoves(const Program &program) {
  return Connector(program).connect();
}
