//===- FlagCode.cpp - Code of flags and epochs ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagCode.h"

#include "CodeBuilder.h"
#include "Helpers.h"
#include "WaveCode.h"
#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/RankTable.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static constexpr unsigned wordBytes = ControlLayout::wordBytes;

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

/// The address of a block's epoch word. A row of them has no gaps: only the
/// block itself touches its word.
static Value epochAddress(CodeBuilder &code, Value control, Value row,
                          Value block) {
  Value skip = code.mul(block, code.c32(wordBytes));
  Value bytes = code.zeroExtend(code.add(row, skip), code.i64);
  return code.at(control, bytes);
}

/// Internal functions lose arguments in which all calls agree, and the audit of
/// the assembly knows them only with all.
static CodeBuilder::Linkage linkageFor(bool isHost) {
  return isHost ? CodeBuilder::Linkage::Internal : CodeBuilder::Linkage::Hidden;
}

/// Control memory, row, block, parts, words. Returns the launch, which threads
/// but the first also store for blocks that are absent: thread t for the one
/// that is t times as many further as the channel has in this launch, which are
/// `parts` without doublings.
static void buildBegin(CodeBuilder &code, bool isHost) {
  code.function(
      helper::begin, {code.pointer, code.i32, code.i32, code.i32, code.i32},
      [&](ValueRange arguments) {
        Value control = arguments[0], row = arguments[1], block = arguments[2];
        Value epoch = epochAddress(code, control, row, block);
        Value finished = code.load(code.i64, epoch, wordBytes);
        Value launch = code.add(finished, code.c64(1));
        if (isHost)
          return code.give(launch);
        Value parts =
            code.bitAnd(arguments[3], code.c32((1 << doublingsShift) - 1));
        Value doublings =
            code.shiftRight(arguments[3], code.c32(doublingsShift));
        Value present = code.shiftRight(parts, doublings);
        Value further = code.mul(code.threadId(code.i32), present);
        Value absent = code.add(block, further);
        Value isOther = code.is(Compare::NotEqual, absent, block);
        Value isWord = code.is(Compare::Less, absent, arguments[4]);
        code.when(code.bitAnd(isOther, isWord), [&] {
          Value word = epochAddress(code, control, row, absent);
          code.store(launch, word, wordBytes);
        });
        code.give(launch);
      },
      linkageFor(isHost), code.i64);
}

static void buildEnd(CodeBuilder &code, bool isHost) {
  code.function(
      helper::end, {code.pointer, code.i32, code.i32, code.i64},
      [&](ValueRange arguments) {
        Value epoch =
            epochAddress(code, arguments[0], arguments[1], arguments[2]);
        auto store = [&] { code.store(arguments[3], epoch, wordBytes); };
        if (isHost)
          return store();
        code.barrier();
        Value thread = code.threadId(code.i32);
        code.when(code.is(Compare::Equal, thread, code.c32(0)), store);
      });
}

//===----------------------------------------------------------------------===//
// Polling
//===----------------------------------------------------------------------===//

/// False if the launch is aborted, as far as poll number `polls` looks.
static Value isAlive(CodeBuilder &code, const Poll &poll, Value polls) {
  auto isZero = [&] {
    // The host looks at it each time, in the order of the flag.
    Order order = poll.abortPeriod == 1 ? Order::Acquire : Order::Relaxed;
    Value word = code.load(code.i64, poll.abort, wordBytes, order);
    return code.is(Compare::Equal, word, code.c64(0));
  };
  if (poll.abortPeriod == 1)
    return isZero();
  Value last = code.c64(poll.abortPeriod - 1);
  Value phase = code.bitAnd(polls, last);
  Value looks = code.is(Compare::Equal, phase, last);
  return code.choose(looks, isZero, [&] { return code.yes(); });
}

/// After some polls a thread of the host gives up its core: ranks may outnumber
/// cores.
static void yieldCore(CodeBuilder &code, Value polls) {
  constexpr unsigned patience = 200;
  Value isLong = code.is(Compare::Greater, polls, code.c64(patience));
  code.when(isLong, [&] { code.call("sched_yield", {}, code.i32); });
}

Polled coll::buildPoll(CodeBuilder &code, const Poll &poll,
                       llvm::function_ref<Value(ValueRange)> isEarly) {
  SmallVector<Type> types(poll.words, code.i64);
  types.append({code.i1, code.i64});
  CodeBuilder::Values result = code.whileLoop(
      code.c64(0), types,
      [&](ValueRange polls) -> CodeBuilder::Decision {
        CodeBuilder::Values values = poll.read();
        Value early = isEarly(values);
        Value alive = isAlive(code, poll, polls[0]);
        values.append({early, polls[0]});
        return {code.bitAnd(early, alive), values};
      },
      [&](ValueRange last) -> CodeBuilder::Values {
        Value polls = last.back();
        if (poll.isHost)
          yieldCore(code, polls);
        return {code.add(polls, code.c64(1))};
      });
  result.pop_back();
  Value early = result.pop_back_val();
  return {result, early};
}

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

namespace {
/// Builds @coll_signal and @coll_wait. A thread handles each flag on a GPU, and
/// one all of them on the host. What does not depend on the data is read before
/// the block joins.
///
/// The functions are not internal on a GPU: LLVM would otherwise put the
/// address of a table in place of an argument that always has the same value,
/// and read it through a cache that is not coherent, which is harmless for
/// tables but not to be told from other loads by the audit.
class FlagBuilder {
public:
  FlagBuilder(CodeBuilder &code, const HelperOptions &options)
      : code(code), target(options.target), blockSize(options.blockSize) {}

  void buildSignal() {
    // Rows, how many, peers, block, launch.
    function(helper::signal,
             {code.pointer, code.i32, code.pointer, code.i32, code.i64},
             [&](ValueRange arguments) {
               peers = arguments[2];
               isHost() ? signalInTurn() : signalTogether();
             });
  }

  void buildWait() {
    // Rows, how many, own control memory, block, launch, abort word.
    function(helper::wait,
             {code.pointer, code.i32, code.pointer, code.i32, code.i64,
              code.pointer},
             [&](ValueRange arguments) {
               control = arguments[2];
               abort = arguments[5];
               isHost() ? waitInTurn() : waitTogether();
             });
  }

private:
  /// A row of the table of flags, see TableFlag.
  struct Row {
    Value peer;
    Value value; ///< that the flag shows
    Value bytes; ///< where it is in its owner's control memory
  };

  bool isHost() const { return target == HelperTarget::Host; }

  void function(StringRef name, ArrayRef<Type> types,
                llvm::function_ref<void(ValueRange)> body) {
    code.function(
        name, types,
        [&](ValueRange arguments) {
          rows = arguments[0];
          count = arguments[1];
          block = arguments[3];
          launch = arguments[4];
          body(arguments);
        },
        linkageFor(isHost()));
  }

  void forEachFlag(llvm::function_ref<void(Value)> body) {
    code.loop(code.c32(0), count, code.c32(1), body);
  }

  void signalInTurn() {
    forEachFlag([&](Value number) {
      Row row = readRow(number);
      Value flag = code.at(controlOf(row.peer), row.bytes);
      code.store(row.value, flag, wordBytes, Order::Release);
    });
  }

  void signalTogether() {
    Value thread = code.threadId(code.i32);
    Value hasFlag = code.is(Compare::Less, thread, count);
    Value last = code.sub(count, code.c32(1));
    Row row = readRow(code.min(thread, last));
    Value flag = code.at(controlOf(row.peer), row.bytes);
    if (target == HelperTarget::ROCDL)
      waitForStores();
    code.barrier();
    code.when(hasFlag,
              [&] { code.store(row.value, flag, wordBytes, Order::Release); });
  }

  void waitInTurn() {
    forEachFlag([&](Value number) { poll(number); });
  }

  /// The last threads poll: the first may still be waiting for a signal of
  /// theirs to leave.
  void waitTogether() {
    Value last = code.c32(int32_t(blockSize) - 1);
    Value thread = code.sub(last, code.threadId(code.i32));
    Value hasFlag = code.is(Compare::Less, thread, count);
    code.when(hasFlag, [&] { poll(thread); });
    code.barrier();
  }

  void poll(Value number) {
    Row row = readRow(number);
    Value flag = code.at(control, row.bytes);
    auto read = [&]() -> CodeBuilder::Values {
      return {code.load(code.i64, flag, wordBytes, Order::Acquire)};
    };
    Poll poll{read, abort, isHost()};
    if (isHost())
      poll.abortPeriod = 1;
    buildPoll(code, poll, [&](ValueRange now) {
      return code.is(Compare::Less, now[0], row.value);
    });
  }

  /// On gfx90a and gfx942, LLVM 22 joins a block without waiting for its
  /// stores, and drops the wait after a cache write-back where no store of the
  /// same function is pending: here always, because a function begins with a
  /// wait. A fence and an explicit wait by every thread before the barrier
  /// restore both. Remove them when LLVM PR 178316 is in the oldest LLVM
  /// supported.
  void waitForStores() {
    code.fence(Order::Release);
    buildWaitForMemory(code);
  }

  /// The value that a flag shows is relative to the number of the launch.
  Row readRow(Value number) {
    Value skip = code.mul(number, code.c32(sizeof(TableFlag)));
    Value row = code.at(rows, code.zeroExtend(skip, code.i64));
    static_assert(sizeof(TableFlag) == tableUnitBytes);
    Value fields = code.load(code.vector(4, code.i32), row, tableUnitBytes);
    auto field = [&](size_t offset) {
      return code.extract(fields, offset / sizeof(uint32_t));
    };
    Value peer = field(offsetof(TableFlag, peer));
    Value offset = field(offsetof(TableFlag, offset));
    Value perLaunch =
        code.zeroExtend(field(offsetof(TableFlag, perLaunch)), code.i64);
    Value step = code.zeroExtend(field(offsetof(TableFlag, value)), code.i64);
    Value before = code.mul(launch, perLaunch);
    Value value = code.add(before, step);
    Value bytes = code.zeroExtend(wordOf(offset), code.i64);
    return {peer, value, bytes};
  }

  /// The place of the block's word of a flag, see FlagOffset. A host has one
  /// thread, and no parts.
  Value wordOf(Value offset) {
    if (isHost())
      return offset;
    auto field = [&](unsigned shift) {
      Value low = code.shiftRight(offset, code.c32(shift));
      return code.bitAnd(low, code.c32(FlagOffset::fieldMask));
    };
    Value part = code.shiftRight(block, field(0));
    Value line = code.shiftLeft(part, field(FlagOffset::fieldBits));
    Value first = code.bitAnd(offset, code.c32(int32_t(~FlagOffset::lowMask)));
    return code.add(first, code.mul(line, code.c32(ControlLayout::lineBytes)));
  }

  Value controlOf(Value peer) {
    Value number = code.zeroExtend(peer, code.i64);
    Value entry = code.mul(number, code.c64(sizeof(PeerEntry)));
    Value field = code.add(entry, code.c64(offsetof(PeerEntry, control)));
    return code.load(code.pointer, code.at(peers, field), sizeof(void *));
  }

  CodeBuilder &code;
  const HelperTarget target;
  const unsigned blockSize;
  Value rows, count, peers, control, block, launch, abort;
};
} // namespace

void coll::buildFlagHelpers(CodeBuilder &code, const HelperOptions &options) {
  bool isHost = options.isHost();
  buildBegin(code, isHost);
  buildEnd(code, isHost);
  if (isHost)
    code.declare("sched_yield", code.i32);
  FlagBuilder builder(code, options);
  builder.buildSignal();
  builder.buildWait();
}
