//===- FlagHelpers.cpp - Flags, epochs and tables -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FlagHelpers.h"

#include "ProgramCode.h"

using namespace sccl;
using namespace sccl::coll;

std::string coll::replaceAll(std::string text, llvm::StringRef from,
                             llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

//===----------------------------------------------------------------------===//
// Epochs
//===----------------------------------------------------------------------===//

// A row of epoch words has no gaps: only the block itself touches its word.
static constexpr llvm::StringLiteral epochs = R"mlir(
  llvm.func internal @coll_begin(%control: PTR, %row: i32, %block: i32) -> i64
      attributes {no_inline} {
EPOCH_ADDRESS
    %one = arith.constant 1 : i64
    %finished = llvm.load %epoch {alignment = 8 : i64} : PTR -> i64
    %launch = arith.addi %finished, %one : i64
    llvm.return %launch : i64
  }

  llvm.func internal @coll_end(%control: PTR, %row: i32, %block: i32, %launch: i64)
      attributes {no_inline} {
EPOCH_ADDRESS
STORE
    llvm.return
  }
)mlir";

static constexpr llvm::StringLiteral epochAddress = R"mlir(
    %width = arith.constant WORD_BYTES : i32
    %skip = arith.muli %block, %width : i32
    %at32 = arith.addi %row, %skip : i32
    %at = arith.extui %at32 : i32 to i64
    %epoch = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
)mlir";

static constexpr llvm::StringLiteral hostEpochStore = R"mlir(
    llvm.store %launch, %epoch {alignment = 8 : i64} : i64, PTR
)mlir";

static constexpr llvm::StringLiteral deviceEpochStore = R"mlir(
    gpu.barrier
    %zero = arith.constant 0 : index
    %tid = gpu.thread_id x
    %leads = arith.cmpi eq, %tid, %zero : index
    scf.if %leads {
      llvm.store %launch, %epoch {alignment = 8 : i64} : i64, PTR
    }
)mlir";

//===----------------------------------------------------------------------===//
// Flags
//===----------------------------------------------------------------------===//

// Reads row %i of the table of flags, see FlagRow. The value that a flag shows
// is relative to the number of the launch.
static constexpr llvm::StringLiteral flagRow = R"mlir(
    %row_bytes = arith.constant ROW_BYTES : i32
    %row_at32 = arith.muli %i, %row_bytes : i32
    %row_at = arith.extui %row_at32 : i32 to i64
    %row = llvm.getelementptr %rows[%row_at] : (PTR, i64) -> PTR, i8
    %word0 = llvm.getelementptr %row[0] : (PTR) -> PTR, i8
    %word1 = llvm.getelementptr %row[4] : (PTR) -> PTR, i8
    %word2 = llvm.getelementptr %row[8] : (PTR) -> PTR, i8
    %word3 = llvm.getelementptr %row[12] : (PTR) -> PTR, i8
    %peer = llvm.load %word0 {alignment = 4 : i64} : PTR -> i32
    %offset = llvm.load %word1 {alignment = 4 : i64} : PTR -> i32
    %per_launch32 = llvm.load %word2 {alignment = 4 : i64} : PTR -> i32
    %step32 = llvm.load %word3 {alignment = 4 : i64} : PTR -> i32
    %per_launch = arith.extui %per_launch32 : i32 to i64
    %step = arith.extui %step32 : i32 to i64
    %before = arith.muli %launch, %per_launch : i64
    %value = arith.addi %before, %step : i64
    %line = arith.constant LINE_BYTES : i32
    %skip = arith.muli %block, %line : i32
    %at32 = arith.addi %offset, %skip : i32
    %at = arith.extui %at32 : i32 to i64
)mlir";

// The control memory of the flag's owner.
static constexpr llvm::StringLiteral peerControl = R"mlir(
    %entry = arith.constant ENTRY_BYTES : i64
    %field = arith.constant CONTROL_FIELD : i64
    %peer64 = arith.extui %peer : i32 to i64
    %entry_at = arith.muli %peer64, %entry : i64
    %field_at = arith.addi %entry_at, %field : i64
    %control_at = llvm.getelementptr %peers[%field_at] : (PTR, i64) -> PTR, i8
    %control = llvm.load %control_at {alignment = 8 : i64} : PTR -> PTR
)mlir";

// A thread for each flag. What does not depend on the data is read before the
// block joins. The abort word is looked at every 64 polls.
//
// The functions are not internal: LLVM would otherwise put the address of a
// table in place of an argument that always has the same value, and read it
// through a cache that is not coherent, which is harmless for tables but not to
// be told from other loads by the audit.
static constexpr llvm::StringLiteral deviceFlags = R"mlir(
  llvm.func hidden @coll_signal(%rows: PTR, %count: i32, %peers: PTR, %block: i32,
      %launch: i64) attributes {no_inline} {
    %one = arith.constant 1 : i32
    %tid_index = gpu.thread_id x
    %tid = arith.index_cast %tid_index : index to i32
    %mine = arith.cmpi ult, %tid, %count : i32
    %last = arith.subi %count, %one : i32
    %i = arith.minui %tid, %last : i32
FLAG_ROW
PEER_CONTROL
    %flag = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
    FENCE
    gpu.barrier
    scf.if %mine {
      llvm.store %value, %flag atomic release {alignment = 8 : i64} : i64, PTR
    }
    llvm.return
  }

  llvm.func hidden @coll_wait(%rows: PTR, %count: i32, %control: PTR, %block: i32,
      %launch: i64, %abort: PTR) attributes {no_inline} {
    %i_index = gpu.thread_id x
    %i = arith.index_cast %i_index : index to i32
    %mine = arith.cmpi ult, %i, %count : i32
    scf.if %mine {
FLAG_ROW
      %flag = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
      %none = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %often = arith.constant 63 : i64
      %true = arith.constant true
      scf.while (%polls = %none) : (i64) -> i64 {
        %now = llvm.load %flag atomic acquire {alignment = 8 : i64} : PTR -> i64
        %early = arith.cmpi ult, %now, %value : i64
        %phase = arith.andi %polls, %often : i64
        %look = arith.cmpi eq, %phase, %often : i64
        %alive = scf.if %look -> (i1) {
          %word = llvm.load %abort atomic monotonic {alignment = 8 : i64} : PTR -> i64
          %fine = arith.cmpi eq, %word, %none : i64
          scf.yield %fine : i1
        } else {
          scf.yield %true : i1
        }
        %again = arith.andi %early, %alive : i1
        scf.condition(%again) %polls : i64
      } do {
      ^bb0(%polls: i64):
        %more = arith.addi %polls, %one : i64
        scf.yield %more : i64
      }
    }
    gpu.barrier
    llvm.return
  }
)mlir";

// After some polls the waiting thread gives up its core: ranks may outnumber
// cores.
static constexpr llvm::StringLiteral hostFlags = R"mlir(
  llvm.func @sched_yield() -> i32

  llvm.func internal @coll_signal(%rows: PTR, %count: i32, %peers: PTR, %block: i32,
      %launch: i64) attributes {no_inline} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    scf.for %i = %c0 to %count step %c1 : i32 {
FLAG_ROW
PEER_CONTROL
      %flag = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
      llvm.store %value, %flag atomic release {alignment = 8 : i64} : i64, PTR
    }
    llvm.return
  }

  llvm.func internal @coll_wait(%rows: PTR, %count: i32, %control: PTR, %block: i32,
      %launch: i64, %abort: PTR) attributes {no_inline} {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %none = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %patience = arith.constant 200 : i64
    scf.for %i = %c0 to %count step %c1 : i32 {
FLAG_ROW
      %flag = llvm.getelementptr %control[%at] : (PTR, i64) -> PTR, i8
      scf.while (%polls = %none) : (i64) -> i64 {
        %now = llvm.load %flag atomic acquire {alignment = 8 : i64} : PTR -> i64
        %early = arith.cmpi ult, %now, %value : i64
        %word = llvm.load %abort atomic acquire {alignment = 8 : i64} : PTR -> i64
        %alive = arith.cmpi eq, %word, %none : i64
        %again = arith.andi %early, %alive : i1
        scf.condition(%again) %polls : i64
      } do {
      ^bb0(%polls: i64):
        %long = arith.cmpi ugt, %polls, %patience : i64
        scf.if %long {
          %ignored = llvm.call @sched_yield() : () -> i32
        }
        %more = arith.addi %polls, %one : i64
        scf.yield %more : i64
      }
    }
    llvm.return
  }
)mlir";

std::string coll::flagHelpersText(const HelperOptions &options) {
  bool isHost = options.target == HelperTarget::Host;
  std::string text = epochs.str() + (isHost ? hostFlags : deviceFlags).str();
  auto define = [&](llvm::StringRef name, llvm::StringRef body) {
    text = replaceAll(std::move(text), name, body);
  };
  define("STORE", isHost ? hostEpochStore : deviceEpochStore);
  define("EPOCH_ADDRESS", epochAddress);
  define("FLAG_ROW", flagRow);
  define("PEER_CONTROL", peerControl);
  // On gfx90a and gfx942, LLVM 22 joins a block without waiting for its stores,
  // and drops the wait after a cache write-back where no store of the same
  // function is pending: here always, because a function begins with a wait.
  // A fence and an explicit wait by every thread before the barrier restore
  // both. Remove them when LLVM PR 178316 is in the oldest LLVM supported.
  // 3952 is vmcnt(0), on all of gfx9.
  define("FENCE", options.target == HelperTarget::ROCDL
                      ? "llvm.fence release\n    rocdl.s.waitcnt 3952"
                      : "");
  define("LINE_BYTES", std::to_string(ControlLayout::lineBytes));
  define("WORD_BYTES", std::to_string(ControlLayout::wordBytes));
  define("ROW_BYTES", std::to_string(FlagRow::words * sizeof(int32_t)));
  define("ENTRY_BYTES", std::to_string(sizeof(PeerEntry)));
  define("CONTROL_FIELD", std::to_string(offsetof(PeerEntry, control)));
  return text;
}
