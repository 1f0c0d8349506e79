//===- MessageEngine.h - Executing rows when they can be --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank has its rows for several pieces of the segments under way at once.
// Receives are posted as soon as the memory is free. What arrives lets the rows
// that need it begin: reductions at once, sends when there is room on the way
// to their peer. Of the sends to a peer that can begin the most urgent one
// goes: that of the earliest piece, where a piece counts as three chunks, and
// then the one that has most behind it. A few at a time: what is handed over
// cannot be overtaken any more.
//
// Through a transport, messages of the first piece carry the mark of the call:
// in front of their data as long as they are short, else in a message before.
// What such a peer sends for other pieces is received once one of its marks has
// come, so that what belongs to another call only gets into memory for marks.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_MESSAGEENGINE_H
#define SCCL_LIB_RUNTIME_MESSAGES_MESSAGEENGINE_H

#include "MessageProgram.h"
#include "MessageSender.h"
#include "RoundCarrier.h"

#include "Runtime/TimeLimit.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sccl {

/// What a launch works on.
struct MessageLaunch {
  const MessageProgram *program;
  const DeviceFunction *function; ///< reduces
  uint64_t reduction;             ///< see reductionNumber()
  const char *input;
  char *output;
  uint64_t segment;      ///< bytes
  uint64_t distance;     ///< from one to the next, bytes
  uint64_t piece;        ///< of each segment, bytes
  unsigned window;       ///< pieces under way
  char *scratch;         ///< for `window` pieces
  uint64_t scratchPiece; ///< bytes for each
  /// Where the input of a piece is copied before it begins, at the end of its
  /// scratch; or null, to read it in place.
  bool stagesInput;
  unsigned inputSegments;
};

/// Executes launches, one after the other. Launches allocate nothing.
class MessageEngine {
public:
  explicit MessageEngine(MessageGroup &group)
      : group(group), sender(group), limit(group.config.timeoutSeconds) {}
  ~MessageEngine();

  /// Makes room for launches of `rows` rows in `window` pieces, each with tags
  /// below `tags`.
  Status reserve(unsigned rows, unsigned tags, unsigned window);

  /// Makes room for what ranks gather. The group is connected.
  Status prepare();
  /// An scclAllGatherFn of ranks that are connected; the context is the engine.
  static int allGather(void *engine, const void *mine, void *all, size_t bytes);
  /// How it has failed.
  static Status explain(void *engine);

  /// Executes the call that the group has begun.
  Status run(const MessageLaunch &launch);

  // The call that the group has begun, as rounds of messages between GPUs. The
  // caller enqueues what comes between; `isDone` tells whether all of it is.
  using IsDone = llvm::function_ref<Status(bool &done)>;
  /// Begins it, with messages of `peers` alone, when what was enqueued before
  /// is done; for that there is no limit of time.
  Status beginRounds(llvm::ArrayRef<unsigned> peers, IsDone isDone);
  /// Exchanges messages when what is enqueued is done. They go by the
  /// transport, also within a host.
  Status runRound(llvm::ArrayRef<RoundMessage> messages, IsDone isDone);
  /// Returns when all is done.
  Status endRounds(IsDone isDone);

  /// Messages of a call that has failed may still be under way, to and from
  /// memory of this rank.
  bool leavesMessages() const { return isUnderWay; }
  /// Reads what others have told.
  Status look() {
    group.hurry();
    return takeEnded();
  }
  /// All that earlier launches have sent is taken.
  bool hasSettled() const { return sender.hasEndedOwn(); }
  /// Waits until it is. The last call.
  Status settle();

private:
  using Clock = std::chrono::steady_clock;

  /// One piece under way.
  struct Slot {
    uint64_t number = 0; ///< of the piece
    uint64_t at = 0, bytes = 0, stride = 0;
    unsigned rowsLeft = 0;
  };
  /// A send that can begin.
  struct Ready {
    uint64_t rank; ///< the least goes first
    uint32_t slot, row;
    bool operator<(const Ready &other) const { return rank > other.rank; }
  };
  /// Sends to a peer that can begin, a heap.
  using Way = std::vector<Ready>;

  Status runPieces();
  void beginPieces();
  void begin(unsigned slot, uint64_t piece);
  void makeReady(unsigned slot, unsigned row);
  void finish(unsigned slot, unsigned row);
  Status startReady();
  Status startRow(unsigned slot, unsigned row);
  Status startReceive(unsigned slot, unsigned row);
  Status receiveData(unsigned slot, unsigned row);
  Status startSends(bool insists);
  Status startSend(unsigned peer);
  Status mark(unsigned row, const char *&data, uint64_t &bytes);
  Status takeEnded();
  Status end(const scclCompletion &ended);
  Status endReceive(unsigned slot, unsigned row, uint64_t bytes);
  Status endMarked(unsigned slot, unsigned row, const scclCompletion &message);
  Status endSlice(unsigned at, const scclCompletion &message);
  Status awaitDevice(IsDone isDone);
  Status startRound();
  Status endOfRound(unsigned at, const scclCompletion &message);
  Status badLength(unsigned peer, uint64_t bytes, uint64_t expected) const;
  void startLate(unsigned peer);
  Status startSlices(llvm::ArrayRef<unsigned> peers);
  Status gatherSlice(const char *mine, char *all, size_t stride, size_t bytes);
  Status awaitMore();
  Status wait();
  unsigned firstAwaited(bool &isReceive) const;
  void tellOfCall(Clock::duration waited);
  void askAround();
  Status giveUp();
  void reduce(const Slot &slot, unsigned slotNumber, unsigned row);
  void noteBegin(unsigned slot, unsigned row);
  void noteEnd(unsigned slot, unsigned row);

  /// Messages with at most so many bytes have the mark in front of them.
  static constexpr uint64_t mostMarked = 8 << 10;
  static constexpr uint64_t markedBytes = sizeof(CallMark) + mostMarked;
  /// Where a marked message of a row is received, or sent from.
  char *markedRoom(unsigned row) const {
    return marked.get() + row * markedBytes;
  }
  bool isMarked(unsigned slot, unsigned peer) const {
    return slots[slot].number == 0 && !group.sharesMemory(peer);
  }
  /// Numbers of messages that are a mark and nothing else.
  unsigned markNumber(unsigned row) const {
    return sender.firstNumber() + unsigned(needs.size()) + row;
  }
  uint64_t bytesOf(const Slot &slot, const MessageRow &row) const;
  char *address(const Slot &slot, unsigned slotNumber,
                const MessageSlot &place) const;
  uint32_t &left(unsigned slot, unsigned row) {
    return needs[slot * rowsOf() + row];
  }
  unsigned rowsOf() const { return launch->program->header().rows; }
  unsigned numberOf(unsigned slot, unsigned row) const {
    return sender.firstNumber() + slot * rowsOf() + row;
  }
  unsigned tagOf(unsigned slot, const MessageRow &row) const {
    return slot * launch->program->header().tags + row.tag;
  }

  MessageGroup &group;
  MessageSender sender;
  const MessageLaunch *launch = nullptr;
  std::vector<Slot> slots;
  std::vector<uint32_t> needs;    ///< by slot and row
  std::vector<uint64_t> begun;    ///< likewise: when, if that is recorded
  std::vector<uint64_t> pending;  ///< rows that can begin, but for sends
  std::vector<Way> ways;          ///< by peer
  std::vector<unsigned> awaited;  ///< by peer: receives under way
  std::vector<unsigned> untaken;  ///< by peer: sends of this launch under way
  std::unique_ptr<char[]> marked; ///< see markedRoom()
  size_t markedRows = 0;
  std::vector<char> awaitsMark; ///< by row of the first piece
  std::vector<char> isKnown;    ///< by peer: makes the same call
  std::vector<uint64_t> late;   ///< receives that begin when it does
  unsigned marksUnderWay = 0;   ///< that are messages of their own
  /// Gathered in slices, a mark before each; first the own one, then by rank.
  static constexpr size_t sliceBytes = 256;
  struct Slice {
    CallMark mark;
    char data[sliceBytes];
  };
  std::unique_ptr<Slice[]> slices;
  unsigned slicesLeft = 0; ///< under way; 0 unless ranks gather or begin rounds
  std::vector<unsigned> others;        ///< all ranks but this one
  llvm::ArrayRef<unsigned> roundPeers; ///< of a call in rounds
  llvm::ArrayRef<RoundMessage> round;  ///< the last one
  unsigned roundLeft = 0;              ///< its messages under way
  Status gatherFailure;
  std::vector<scclCompletion> ended;
  uint64_t control[ControlLayout{1, 0, 1}.controlBytes() / 8] = {};
  uint64_t nextPiece = 0, pieces = 0, piecesDone = 0;
  uint64_t launches = 0;
  bool isUnderWay = false;               ///< a call, or it has failed
  bool hasMoved = false;                 ///< something has come or gone
  Clock::time_point lastMove, lastExtra; ///< for how long to rest
  bool hasTold = false;                  ///< others of the call
  TimeLimit limit;                       ///< without a move
  double nextQuestion = 0;               ///< part of the limit
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_MESSAGEENGINE_H
