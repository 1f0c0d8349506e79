//===- Mscclpp.h - Execution plans of MSCCL++ -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The JSON files that the executor of MSCCL++ 0.9 runs. For each rank thread
// blocks with lists of operations. The threads of a block go through the list
// without waiting for each other, except at a `nop`, which is a barrier of the
// block; so what an operation reads must have been written before a `nop`.
// Ranks wait for each other's signals on channels, blocks of a rank at barriers
// and semaphores. Operations on LL words ("packets" in the files) wait for the
// words that they read.
//
// The executor copies a plan into fixed arrays and believes it: it finds
// neither an overrun, nor a deadlock, a race, or a wrong result.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_MSCCLPP_H
#define SCCL_EXCHANGE_MSCCLPP_H

#include "sccl/Exchange/Buffer.h"
#include "sccl/Exchange/FoundSchedule.h"
#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Place.h"

#include <array>
#include <optional>

namespace sccl::exchange {

/// What an operation does; in parentheses as files say it.
enum class MscclppKind : uint8_t {
  Nop,              ///< (nop) barrier of the block
  Barrier,          ///< (barrier) of blocks of the rank
  Put,              ///< (put) local to remote
  PutSignal,        ///< (pws) and then a signal; ports only
  PutSignalFlush,   ///< (pwsf) and then a flush; ports only
  Get,              ///< (get) remote to local
  Copy,             ///< (copy) local to local
  Signal,           ///< (signal)
  Wait,             ///< (wait)
  RelaxedSignal,    ///< (rlxsignal) says nothing about memory
  RelaxedWait,      ///< (rlxwait)
  Flush,            ///< (flush) waits until the port has read what it puts
  Reduce,           ///< (re) sums up local chunks
  ReduceSend,       ///< (res) and puts the sum
  ReadReduce,       ///< (rre) sums up a local chunk and remote ones
  ReadReduceSend,   ///< (rres) and puts the sum
  PutLL,            ///< (ppkt) local to remote LL words
  ReadPutLL,        ///< (rppkt) LL words to remote LL words
  CopyLL,           ///< (cpkt) local to local LL words
  UnpackLL,         ///< (upkt) LL words to local
  ReduceLL,         ///< (repkt) sums up a local chunk and LL words
  ReduceSendLL,     ///< (respkt) and puts the sum as LL words
  ReduceCopyLL,     ///< (recpkt) and keeps the sum as LL words, too
  ReduceCopySendLL, ///< (recspkt) all of it
  SwitchReduce,     ///< (glres) sum of a group, by its switch, to the group
  SwitchStore,      ///< (gstore) local to a group, by its switch
  Acquire,          ///< (sem_acquire) semaphores of the rank
  Release,          ///< (sem_release)
  Pipeline,         ///< (pipeline) repeats operations, piece by piece
};
inline constexpr size_t numMscclppKinds = size_t(MscclppKind::Pipeline) + 1;

/// Chunks of a buffer of the rank, or of one of its block's remote buffers.
struct MscclppChunks {
  bool isRemote = false;
  Buffer buffer = Buffer::Input; ///< of the rank
  uint32_t remote = 0; ///< in the block's list of the operation's channel type
  uint32_t first = 0, count = 0;
};

enum class MscclppChannel : uint8_t { None, Memory, Port, Switch };

struct MscclppOperation {
  Place place;
  MscclppKind kind = MscclppKind::Nop;
  MscclppChannel channel = MscclppChannel::None;
  std::vector<uint32_t> channels; ///< in the block's list of that type
  std::vector<MscclppChunks> sources, destinations;
  uint32_t part = 0, parts = 1; ///< of what is moved, this block's share
  uint32_t barrier = 0, blocks = 0;
  std::vector<uint32_t> semaphores;
};

/// What a block or a rank has of memory channels, and of ports.
template <typename T> struct MscclppByChannel {
  std::vector<T> memory, port;
  const std::vector<T> &operator[](MscclppChannel channel) const {
    return channel == MscclppChannel::Port ? port : memory;
  }
  std::vector<T> &operator[](MscclppChannel channel) {
    return channel == MscclppChannel::Port ? port : memory;
  }
};

struct MscclppBlock {
  Place place;
  MscclppByChannel<uint32_t> channels; ///< in the rank's lists
  MscclppByChannel<uint32_t> remotes;  ///< in the rank's list
  std::vector<MscclppOperation> operations;
};

/// A buffer of another rank.
struct MscclppRemote {
  Place place;
  uint32_t rank;
  Buffer buffer;
  bool byMemory, byPort;
};

struct MscclppGpu {
  Place place;
  uint32_t inputChunks, outputChunks, scratchChunks;
  MscclppByChannel<uint32_t> peers; ///< by channel
  std::vector<MscclppRemote> remotes;
  std::vector<uint32_t> semaphores; ///< initial values
  std::vector<MscclppBlock> blocks; ///< by their ids
};

struct MscclppPlan {
  Place place;
  std::string name, collective, protocol;
  bool inPlace = false, reusesResources = false, doublesScratch = false;
  uint32_t alignment = 16, threads = 1024;
  uint64_t minBytes = 0, maxBytes = ~uint64_t(0);
  std::vector<MscclppGpu> gpus; ///< by their ids
};

/// Reads a file. Returns nothing, and says in `findings` why, if it is no JSON,
/// of another version, something that the executor needs is missing, is of the
/// wrong type or out of all bounds, or is not known.
std::optional<MscclppPlan> parseMscclpp(std::string_view text,
                                        Findings &findings);

struct MscclppCheckOptions {
  std::optional<CollectiveKind> as; ///< instead of what the file says it does
  unsigned root = 0;                ///< files do not say it
};

/// What has been checked.
struct MscclppVerdict {
  CollectiveKind kind;
  uint64_t operations = 0, blocks = 0;
  unsigned mostBlocks = 0, mostOperations = 0; ///< of one rank, of one block
  /// Of the larger buffer of a call; more would need offsets of over 32 bits.
  uint64_t mostBytes = 0;
  /// The executor takes only calls in which each rank's part of a buffer, or
  /// the buffer if it has none, is a multiple of so many bytes.
  uint64_t bytesMultiple = 1;
  std::vector<std::string> notes = {}; ///< what the plan leaves open
};

/// Checks that the executor takes `plan`, that signals meet waits and words
/// their readers, that it ends, that no two operations touch a chunk at once of
/// which one writes it, that no rank touches the buffers of another that has
/// not begun or has returned, that nothing is read that has not been written,
/// and that each output chunk holds what the collective asks for, each
/// contribution once. Returns nothing, and says in `findings` why, if not, or
/// if it is too large to tell. Pipelines and switches are refused as not known.
std::optional<MscclppVerdict> checkMscclpp(const MscclppPlan &plan,
                                           const MscclppCheckOptions &options,
                                           Findings &findings);

/// The schedule that `plan` follows, each send in the earliest step and each
/// step with the fewest rounds. Fails where checkMscclpp does, with the first
/// finding, and where a rank works on two values of a chunk at once.
Result<FoundSchedule> fromMscclpp(const MscclppPlan &plan,
                                  const MscclppCheckOptions &options);

struct MscclppExportOptions {
  std::string name = "sccl"; ///< to which a hash of the plan is added
  bool usesLL = false;       ///< LL words in place of signals
  bool inPlace = false;
  /// Ranks of a box, which reach each other's memory; between boxes there are
  /// ports. All ranks are in one box if it is 0.
  unsigned ranksPerBox = 0;
  uint64_t minBytes = 0, maxBytes = ~uint64_t(0); ///< of the call
};

/// `program`, of a schedule of `collective` with or without pieces, as a plan
/// that `checkMscclpp` accepts. Fails if it does not fit into what the executor
/// has room for, or LL words would go between boxes.
Result<MscclppPlan> toMscclpp(const Collective &collective,
                              const Program &program,
                              const MscclppExportOptions &options);

/// An algorithm of MSCCL as a plan. Fails where `checkMsccl` does, and as
/// above.
Result<MscclppPlan> toMscclpp(const MscclAlgorithm &algorithm,
                              const MscclCheckOptions &check,
                              const MscclppExportOptions &options);

/// Makes `plan` one for calls of `least` to `most` bytes of the larger buffer,
/// called `name` and a hash of the plan.
void limitSizes(MscclppPlan &plan, const std::string &name, uint64_t least,
                uint64_t most);

/// As a file.
std::string printMscclpp(const MscclppPlan &plan);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_MSCCLPP_H
