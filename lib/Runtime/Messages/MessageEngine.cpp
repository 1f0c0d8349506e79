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

MessageEngine::~MessageEngine() {
  if (!leavesMessages())
    return;
  (void)marked.release();
  (void)slices.release();
}

Status MessageEngine::reserve(unsigned rows, unsigned tags, unsigned window) {
  size_t count = std::max<size_t>(needs.size(), size_t(rows) * window);
  size_t marks = std::max<size_t>(markedRows, rows);
  if (Status status = sender.reserve(
          std::max<size_t>(count + marks, 2 * group.numRanks()), tags * window);
      !status.ok())
    return status;
  if (marks > markedRows && group.numRemote() != 0)
    marked.reset(new char[marks * markedBytes]);
  markedRows = marks;
  awaitsMark.resize(marks);
  late.reserve(count);
  needs.resize(count);
  begun.resize(count);
  slots.resize(std::max<size_t>(slots.size(), window));
  pending.reserve(count);
  ways.resize(group.numRanks());
  awaited.resize(group.numRanks());
  untaken.resize(group.numRanks());
  isKnown.resize(group.numRanks());
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
  uint64_t distance = isStaged ? slot.bytes : launch->distance;
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
          launch->input + i * launch->distance + slot.at, slot.bytes);
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
                               launch->reduction,
                               /*blocks=*/1};
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

Status MessageEngine::startReceive(unsigned slot, unsigned number) {
  const MessageRow &row = launch->program->rows()[number];
  ++awaited[row.peer];
  if (isMarked(slot, row.peer)) {
    // There is room for any message with a mark that may come in place.
    awaitsMark[number] = true;
    return group.receive(numberOf(slot, number), markedRoom(number),
                         markedBytes, row.peer, tagOf(slot, row));
  }
  if (isKnown[row.peer])
    return receiveData(slot, number);
  late.push_back(uint64_t(slot) << 32 | number);
  return {};
}

Status MessageEngine::receiveData(unsigned slot, unsigned number) {
  const MessageRow &row = launch->program->rows()[number];
  return group.receive(numberOf(slot, number),
                       address(slots[slot], slot, row.dst),
                       bytesOf(slots[slot], row), row.peer, tagOf(slot, row));
}

Status MessageEngine::startRow(unsigned slotNumber, unsigned number) {
  const Slot &slot = slots[slotNumber];
  const MessageRow &row = launch->program->rows()[number];
  uint64_t bytes = bytesOf(slot, row);
  noteBegin(slotNumber, number);
  if (bytes != 0 && row.kind == MessageRow::Receive)
    return startReceive(slotNumber, number);
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

/// Puts the mark of the call in front of what a row of the first piece sends,
/// or sends it before.
Status MessageEngine::mark(unsigned number, const char *&data,
                           uint64_t &bytes) {
  char *room = markedRoom(number);
  std::memcpy(room, &group.call(), sizeof(CallMark));
  if (bytes > mostMarked) {
    const MessageRow &row = launch->program->rows()[number];
    ++marksUnderWay;
    return group.send(markNumber(number), room, sizeof(CallMark), row.peer,
                      tagOf(/*slot=*/0, row), /*asks=*/false);
  }
  std::memcpy(room + sizeof(CallMark), data, bytes);
  data = room;
  bytes += sizeof(CallMark);
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
  const char *data = address(slot, next.slot, row.src);
  uint64_t bytes = bytesOf(slot, row);
  noteBegin(next.slot, next.row);
  if (isMarked(next.slot, peer))
    if (Status status = mark(next.row, data, bytes); !status.ok())
      return status;
  if (Status status = sender.send(numberOf(next.slot, next.row), data, bytes,
                                  peer, tagOf(next.slot, row), isDone);
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

Status MessageEngine::badLength(unsigned peer, uint64_t bytes,
                                uint64_t expected) const {
  std::string sent = std::to_string(bytes) + " bytes";
  if (bytes == SIZE_MAX)
    sent = "more bytes";
  return {scclErrorMismatch, group.nameOf(peer) + " sent " + sent + " where " +
                                 group.nameOf(group.rank()) + " expected " +
                                 std::to_string(expected) +
                                 ": they launched with another count, type or "
                                 "plan"};
}

/// A message of the first piece has come: with its data, or before them.
Status MessageEngine::endMarked(unsigned slot, unsigned number,
                                const scclCompletion &message) {
  const MessageRow &row = launch->program->rows()[number];
  const char *room = markedRoom(number);
  uint64_t expected = bytesOf(slots[slot], row);
  bool isBefore = expected > mostMarked;
  uint64_t whole = sizeof(CallMark) + (isBefore ? 0 : expected);
  CallMark mark;
  if (message.bytes < sizeof(mark) || message.bytes > markedBytes)
    return badLength(row.peer, message.bytes, whole);
  std::memcpy(&mark, room, sizeof(mark));
  group.compare(row.peer, mark);
  if (Status status = group.poison(); !status.ok())
    return status;
  if (message.bytes != whole)
    return badLength(row.peer, message.bytes, whole);
  awaitsMark[number] = false;
  startLate(row.peer);
  if (isBefore)
    return receiveData(slot, number);
  std::memcpy(address(slots[slot], slot, row.dst), room + sizeof(mark),
              expected);
  return endReceive(slot, number, expected);
}

/// `peer` makes the same call: what it sends beside may come.
void MessageEngine::startLate(unsigned peer) {
  if (isKnown[peer])
    return;
  isKnown[peer] = true;
  for (size_t i = 0; i < late.size();)
    if (launch->program->rows()[uint32_t(late[i])].peer == peer) {
      --awaited[peer];
      pending.push_back(late[i]);
      late[i] = late.back();
      late.pop_back();
    } else {
      ++i;
    }
}

/// The data of a message are where they should be.
Status MessageEngine::endReceive(unsigned slot, unsigned number,
                                 uint64_t bytes) {
  const MessageRow &row = launch->program->rows()[number];
  --awaited[row.peer];
  if (uint64_t expected = bytesOf(slots[slot], row); bytes != expected)
    return badLength(row.peer, bytes, expected);
  noteEnd(slot, number);
  finish(slot, number);
  return {};
}

Status MessageEngine::end(const scclCompletion &message) {
  if (unsigned(message.request) < sender.firstNumber()) {
    unsigned peer = sender.endOwn(message.request);
    return group.errorOf(message, peer);
  }
  unsigned at = message.request - sender.firstNumber();
  if (slicesLeft != 0)
    return endSlice(at, message);
  if (roundLeft != 0)
    return endOfRound(at, message);
  if (at >= needs.size()) {
    --marksUnderWay;
    at -= needs.size();
    return group.errorOf(message, launch->program->rows()[at].peer);
  }
  unsigned slot = at / rowsOf(), number = at % rowsOf();
  const MessageRow &row = launch->program->rows()[number];
  if (Status status = group.errorOf(message, row.peer); !status.ok())
    return status;
  if (row.kind == MessageRow::Receive)
    return isMarked(slot, row.peer) && awaitsMark[number]
               ? endMarked(slot, number, message)
               : endReceive(slot, number, message.bytes);
  --untaken[row.peer];
  sender.end(message.request, row.peer);
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
  while (piecesDone < pieces || marksUnderWay != 0) {
    beginPieces();
    if (Status status = startReady(); !status.ok())
      return status;
    if (Status status = startSends(/*insists=*/false); !status.ok())
      return status;
    if (!pending.empty() || (piecesDone == pieces && marksUnderWay == 0))
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
    isKnown[peer] = group.sharesMemory(peer);
  }
  late.clear();
  marksUnderWay = 0;
  hasTold = false;
  for (unsigned i = 0; i < what.window; ++i)
    slots[i].rowsLeft = 0;
  hasMoved = true;
  isUnderWay = true;
  Status status = runPieces();
  isUnderWay = !status.ok();
  launch = nullptr;
  return status;
}

Status MessageEngine::settle() {
  while (!hasSettled())
    if (Status status = awaitMore(); !status.ok())
      return status;
  return {};
}
