//===- MessageEngine.cpp - Executing rows when they can be ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageEngine.h"

#include "Runtime/Tracer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace sccl;

/// How urgent an earlier piece is, in chunks that are behind a row.
static constexpr unsigned chunksOfPiece = 3;

Status MessageEngine::reserve(unsigned rows, unsigned tags, unsigned window) {
  size_t count = std::max<size_t>(needs.size(), size_t(rows) * window);
  if (Status status = sender.reserve(count, tags * window); !status.ok())
    return status;
  needs.resize(count);
  begun.resize(count);
  slots.resize(std::max<size_t>(slots.size(), window));
  pending.reserve(count);
  ways.resize(group.numRanks());
  awaited.resize(group.numRanks());
  untaken.resize(group.numRanks());
  for (Way &way : ways)
    way.reserve(count);
  ended.resize(group.mostEnded());
  return {};
}

uint64_t MessageEngine::bytesOf(const Slot &slot, const MessageRow &row) const {
  uint64_t begin = row.position * slot.stride;
  uint64_t end = std::min(begin + row.count * slot.stride, slot.bytes);
  return end > begin ? end - begin : 0;
}

char *MessageEngine::address(const Slot &slot, unsigned slotNumber,
                             const MessageSlot &place) const {
  auto buffer = BufferField(place.buffer);
  char *scratch = launch->scratch + slotNumber * launch->scratchPiece;
  const MessageHeader &header = launch->program->header();
  bool isStaged = buffer == BufferField::Input && launch->stagesInput;
  uint64_t distance = isStaged ? slot.bytes : launch->segment;
  uint64_t offset = slotOffset(buffer, place.slot, header.chunksPerSegment,
                               slot.bytes, distance);
  if (buffer == BufferField::Scratch)
    return scratch + offset;
  if (buffer == BufferField::Output)
    return launch->output + slot.at + offset;
  if (!isStaged)
    return const_cast<char *>(launch->input) + slot.at + offset;
  return scratch + header.scratchSlots * slot.stride + offset;
}

/// Begins a piece.
void MessageEngine::begin(unsigned number, uint64_t piece) {
  Slot &slot = slots[number];
  const MessageHeader &header = launch->program->header();
  slot.number = piece;
  slot.at = piece * launch->piece;
  slot.bytes = std::min(launch->piece, launch->segment - slot.at);
  slot.stride = chunkStride(slot.bytes, header.chunksPerSegment);
  slot.rowsLeft = header.rows;
  if (launch->stagesInput)
    for (unsigned i = 0; i < launch->inputSegments; ++i)
      std::memcpy(
          address(slot, number,
                  {unsigned(BufferField::Input), i * header.chunksPerSegment}),
          launch->input + i * launch->segment + slot.at, slot.bytes);
  llvm::ArrayRef<MessageRow> rows = launch->program->rows();
  for (unsigned row = 0; row < rows.size(); ++row)
    left(number, row) = rows[row].needs;
  for (unsigned row = 0; row < rows.size(); ++row)
    if (rows[row].needs == 0)
      makeReady(number, row);
  if (rows.empty())
    ++piecesDone;
}

/// A row can begin.
void MessageEngine::makeReady(unsigned slot, unsigned number) {
  const MessageRow &row = launch->program->rows()[number];
  if (row.kind != MessageRow::Send || bytesOf(slots[slot], row) == 0) {
    pending.push_back(uint64_t(slot) << 32 | number);
    return;
  }
  uint64_t behind = launch->program->mostHeight() - row.height;
  uint64_t rank = slots[slot].number * chunksOfPiece + behind;
  Way &way = ways[row.peer];
  way.push_back({rank, slot, number});
  std::push_heap(way.begin(), way.end());
}

/// A row is done: those that need it may begin.
void MessageEngine::finish(unsigned slot, unsigned number) {
  const MessageRow &row = launch->program->rows()[number];
  hasMoved = true;
  for (uint32_t next : launch->program->next(row))
    if (--left(slot, next) == 0)
      makeReady(slot, next);
  if (--slots[slot].rowsLeft == 0)
    ++piecesDone;
}

void MessageEngine::reduce(const Slot &slot, unsigned slotNumber,
                           unsigned number) {
  const MessageRow &row = launch->program->rows()[number];
  uint64_t abort = 0;
  LaunchArguments arguments = {address(slot, slotNumber, row.src),
                               address(slot, slotNumber, row.dst),
                               address(slot, slotNumber, row.rhs),
                               control,
                               /*peers=*/nullptr,
                               &abort,
                               slot.bytes,
                               slot.bytes,
                               launch->program->reduction(number),
                               launch->reduction};
  (void)group.device->launch(*launch->function, arguments, /*stream=*/nullptr);
}

void MessageEngine::noteBegin(unsigned slot, unsigned row) {
  begun[slot * rowsOf() + row] = Tracer::begin(group.device->tracer());
}

/// Records a row, from when it began.
void MessageEngine::noteEnd(unsigned slotNumber, unsigned number) {
  Tracer *tracer = group.device->tracer();
  if (!tracer || !tracer->isOn())
    return;
  const Slot &slot = slots[slotNumber];
  const MessageRow &row = launch->program->rows()[number];
  uint64_t bytes = bytesOf(slot, row);
  if (bytes == 0)
    return;
  scclTraceEvent event = {};
  event.peer = -1;
  event.begin = begun[slotNumber * rowsOf() + number];
  event.end = traceClock();
  event.bytes = bytes;
  bool isReceive = row.kind == MessageRow::Receive;
  if (isReceive || row.kind == MessageRow::Send) {
    event.kind = isReceive ? scclTraceWait : scclTraceTransfer;
    event.peer = int(row.peer);
    event.isPull = isReceive;
    event.channel = 2 * event.peer + (isReceive ? 2 : 1);
    uint64_t from = isReceive ? row.peer : group.rank();
    uint64_t to = isReceive ? group.rank() : row.peer;
    event.flag = from << 48 | to << 32 | row.tag;
    event.value = launches << 32 | (slot.number + 1);
  } else {
    event.kind = row.kind == MessageRow::Copy ? scclTraceCopy : scclTraceReduce;
  }
  tracer->add(event);
}

Status MessageEngine::startRow(unsigned slotNumber, unsigned number) {
  const Slot &slot = slots[slotNumber];
  const MessageRow &row = launch->program->rows()[number];
  uint64_t bytes = bytesOf(slot, row);
  noteBegin(slotNumber, number);
  if (bytes != 0 && row.kind == MessageRow::Receive) {
    ++awaited[row.peer];
    return group.receive(numberOf(slotNumber, number),
                         address(slot, slotNumber, row.dst), bytes, row.peer,
                         tagOf(slotNumber, row));
  }
  if (bytes != 0 && row.kind == MessageRow::Copy) {
    char *to = address(slot, slotNumber, row.dst);
    const char *from = address(slot, slotNumber, row.src);
    if (to != from)
      std::memcpy(to, from, bytes);
  } else if (bytes != 0) {
    reduce(slot, slotNumber, number);
  }
  noteEnd(slotNumber, number);
  finish(slotNumber, number);
  return {};
}

/// Starts what is no send.
Status MessageEngine::startReady() {
  while (!pending.empty()) {
    uint64_t next = pending.back();
    pending.pop_back();
    if (Status status = startRow(next >> 32, uint32_t(next)); !status.ok())
      return status;
  }
  return {};
}

/// Starts the most urgent send to `peer`.
Status MessageEngine::startSend(unsigned peer) {
  Way &way = ways[peer];
  std::pop_heap(way.begin(), way.end());
  Ready next = way.back();
  way.pop_back();
  const Slot &slot = slots[next.slot];
  const MessageRow &row = launch->program->rows()[next.row];
  bool isDone = false;
  noteBegin(next.slot, next.row);
  if (Status status = sender.send(
          numberOf(next.slot, next.row), address(slot, next.slot, row.src),
          bytesOf(slot, row), peer, tagOf(next.slot, row), isDone);
      !status.ok())
    return status;
  if (isDone) {
    noteEnd(next.slot, next.row);
    finish(next.slot, next.row);
  } else {
    ++untaken[peer];
  }
  return {};
}

/// Starts sends as far as there is room on the ways to their peers; one more to
/// each if it `insists`.
Status MessageEngine::startSends(bool insists) {
  for (unsigned peer = 0; peer < ways.size(); ++peer) {
    bool isExtra = insists;
    while (!ways[peer].empty() && (sender.hasRoom(peer) || isExtra)) {
      isExtra = false;
      if (Status status = startSend(peer); !status.ok())
        return status;
    }
  }
  return {};
}

Status MessageEngine::end(const scclCompletion &message) {
  if (unsigned(message.request) < sender.firstNumber()) {
    unsigned peer = sender.endOwn(message.request);
    return group.errorOf(message, peer);
  }
  unsigned at = message.request - sender.firstNumber();
  unsigned slot = at / rowsOf(), number = at % rowsOf();
  const MessageRow &row = launch->program->rows()[number];
  if (Status status = group.errorOf(message, row.peer); !status.ok())
    return status;
  if (row.kind == MessageRow::Send) {
    --untaken[row.peer];
    sender.end(message.request, row.peer);
  } else {
    --awaited[row.peer];
    uint64_t expected = bytesOf(slots[slot], row);
    if (message.bytes != expected)
      return {scclErrorMismatch,
              "rank " + std::to_string(row.peer) + " sent " +
                  std::to_string(message.bytes) + " bytes where rank " +
                  std::to_string(group.rank()) + " expected " +
                  std::to_string(expected) +
                  ": they launched with another count, type or plan"};
  }
  noteEnd(slot, number);
  finish(slot, number);
  return {};
}

Status MessageEngine::takeEnded() {
  unsigned count = 0;
  if (Status status = group.poll(ended.data(), count); !status.ok())
    return status;
  hasMoved |= count != 0;
  for (unsigned i = 0; i < count; ++i)
    if (Status status = end(ended[i]); !status.ok())
      return status;
  return {};
}

/// The first rank that this one waits for; `isReceive` if it is for a message
/// from it, else it has to take one.
unsigned MessageEngine::firstAwaited(bool &isReceive) const {
  auto first = [](const std::vector<unsigned> &counts) {
    unsigned peer = 0;
    while (peer < counts.size() && counts[peer] == 0)
      ++peer;
    return peer;
  };
  unsigned peer = first(awaited);
  isReceive = peer < awaited.size();
  if (!isReceive)
    peer = first(untaken);
  return peer < awaited.size() ? peer : sender.lateRank();
}

/// Asks those that this rank waits for whether they are there.
void MessageEngine::askAround() {
  constexpr double first = 0.5, interval = 0.125;
  if (limit.share() < std::max(nextQuestion, first))
    return;
  nextQuestion = limit.share() + interval;
  bool isReceive;
  unsigned mainPeer = firstAwaited(isReceive);
  for (unsigned peer = 0; peer < awaited.size(); ++peer)
    if (awaited[peer] != 0 || untaken[peer] != 0 || peer == mainPeer)
      group.ask(peer, mainPeer);
}

/// Nothing has come or gone for the time limit. Who is to blame?
Status MessageEngine::giveUp() {
  bool isReceive;
  unsigned peer = firstAwaited(isReceive);
  if (unsigned suspect = group.inquiry().suspect();
      suspect != Inquiry::nobody) {
    peer = suspect;
    isReceive = awaited[peer] != 0;
  }
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%g s", group.config.timeoutSeconds);
  std::string text =
      group.nameOf(group.rank()) + " has waited " + seconds +
      (isReceive ? " for a message from " : " for a message to be taken by ") +
      group.nameOf(peer) + ", " + group.explainSilence(peer);
  group.raise({scclErrorTimeout, peer, group.rank()}, text);
  return group.poison();
}

/// Nothing was to be done.
Status MessageEngine::wait() {
  Clock::time_point now = Clock::now();
  // Whoever only waits for others that wait leaves it to them to say for whom.
  constexpr double grace = 1.25;
  if (limit.isOver() &&
      (group.inquiry().suspect() != Inquiry::nobody || limit.share() > grace))
    return giveUp();
  askAround();
  // Two ranks may each have the ways to the other full of what the other cannot
  // receive yet. What it needs before gets through then.
  constexpr std::chrono::milliseconds patience{100};
  if (now - std::max(lastMove, lastExtra) > patience) {
    lastExtra = now;
    if (Status status = startSends(/*insists=*/true); !status.ok())
      return status;
  }
  Patience::rest(now - lastMove);
  return {};
}

/// Takes what has ended, or waits.
Status MessageEngine::awaitMore() {
  if (Status status = takeEnded(); !status.ok())
    return status;
  if (!hasMoved)
    return wait();
  hasMoved = false;
  lastMove = Clock::now();
  limit.restart();
  nextQuestion = 0;
  group.restartInquiry();
  return {};
}

/// Begins what there is memory for. Piece N is in slot N modulo the window on
/// all ranks: tags say so.
void MessageEngine::beginPieces() {
  for (; nextPiece < pieces; ++nextPiece) {
    unsigned slot = nextPiece % launch->window;
    if (slots[slot].rowsLeft != 0)
      break;
    begin(slot, nextPiece);
  }
}

Status MessageEngine::runPieces() {
  while (piecesDone < pieces) {
    beginPieces();
    if (Status status = startReady(); !status.ok())
      return status;
    if (Status status = startSends(/*insists=*/false); !status.ok())
      return status;
    if (!pending.empty() || piecesDone == pieces)
      continue;
    if (Status status = awaitMore(); !status.ok())
      return status;
  }
  return {};
}

Status MessageEngine::run(const MessageLaunch &what) {
  launch = &what;
  ++launches;
  pieces = (what.segment + what.piece - 1) / what.piece;
  nextPiece = piecesDone = 0;
  pending.clear();
  for (unsigned peer = 0; peer < ways.size(); ++peer) {
    ways[peer].clear();
    awaited[peer] = untaken[peer] = 0;
  }
  for (unsigned i = 0; i < what.window; ++i)
    slots[i].rowsLeft = 0;
  hasMoved = true;
  return runPieces();
}

Status MessageEngine::settle() {
  while (!sender.hasEndedOwn())
    if (Status status = awaitMore(); !status.ok())
      return status;
  return {};
}
