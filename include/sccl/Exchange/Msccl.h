//===- Msccl.h - Algorithms of MSCCL ----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The XML files that the interpreters of MSCCL run: microsoft/msccl, its
// successor in NCCL's executor, and RCCL up to 7.2. For each rank thread
// blocks, each with at most one peer to send to and one to receive from, and a
// list of steps. The n-th send of a connection (sender, receiver, channel)
// meets the n-th receive; a step may wait for one step of another block of its
// rank.
//
// The interpreters believe what the file says. They find neither a send without
// a receive, nor a deadlock, nor a wrong result; the check here does, by
// running the file on names of chunks in place of data.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EXCHANGE_MSCCL_H
#define SCCL_EXCHANGE_MSCCL_H

#include "sccl/Exchange/Buffer.h"
#include "sccl/Exchange/FoundSchedule.h"
#include "sccl/Exchange/Place.h"

#include <optional>

namespace sccl::exchange {

/// What a step does; in parentheses as files say it.
enum class MscclType : uint8_t {
  Send,                  ///< (s) from src
  Receive,               ///< (r) into dst
  ReceiveCopySend,       ///< (rcs) into dst, and on to the next
  ReceiveReduceSend,     ///< (rrs) reduced with src, sent on, not stored
  ReceiveReduceCopy,     ///< (rrc) reduced with src, into dst
  ReceiveReduceCopySend, ///< (rrcs) all of it
  Copy,                  ///< (cpy) from src to dst
  Reduce,                ///< (re) src into dst
  Nop,                   ///< (nop) only waits
};
bool sends(MscclType type);
bool receives(MscclType type);
bool readsSource(MscclType type);
bool writesDestination(MscclType type);

struct MscclStep {
  Place place;
  MscclType type;
  Buffer srcBuffer, dstBuffer;
  int src, dst; ///< first chunks
  int count;    ///< chunks
  /// The thread block of the same rank to wait for, and its step; -1 for none.
  int waitsForBlock, waitsForStep;
  bool isAwaited; ///< it tells those that wait for it
};

struct MscclBlock {
  Place place;
  int sendPeer, receivePeer; ///< ranks, or -1
  int channel;
  std::vector<MscclStep> steps;
};

struct MscclGpu {
  Place place;
  int inputChunks, outputChunks, scratchChunks;
  std::vector<MscclBlock> blocks; ///< by their ids
};

struct MscclAlgorithm {
  Place place;
  std::string name, collective, protocol;
  int numChannels, chunks; ///< `chunks` is nchunksperloop
  std::optional<bool> inPlace, outOfPlace;
  std::optional<uint64_t> minBytes, maxBytes;
  std::vector<MscclGpu> gpus; ///< by their ids, as many as ngpus
};

/// Reads a file. Returns nothing, and says in `findings` why, if it is not XML,
/// an element or attribute that all interpreters need is missing, a number is
/// none or out of all bounds, or ids are not 0, 1, 2, ... Elements that no
/// interpreter knows are left out, as they do.
std::optional<MscclAlgorithm> parseMsccl(std::string_view text,
                                         Findings &findings);

/// Whose limits are to be kept.
enum class MscclDialect {
  Original, ///< microsoft/msccl
  Nccl,     ///< msccl-executor-nccl
  Rccl,     ///< RCCL 6.2 to 7.2
};
std::string_view mscclDialectName(MscclDialect dialect);
/// The dialect of a file that does not say it: the original one if it lacks
/// what the others need, or names collectives as only that one does.
MscclDialect guessDialect(const MscclAlgorithm &algorithm);

struct MscclCheckOptions {
  std::optional<MscclDialect> dialect; ///< as `guessDialect` says if not given
  std::optional<CollectiveKind> as; ///< instead of what the file says it does
  unsigned root = 0;                ///< files do not say it
  /// Sends that a connection holds until they are received; 0 for any number.
  unsigned inFlight = 0;
};

/// What has been checked.
struct MscclVerdict {
  MscclDialect dialect;
  CollectiveKind kind;
  uint64_t steps = 0, blocks = 0;
  unsigned mostBlocks = 0, mostSteps = 0; ///< of one rank, of one block
  bool inPlace = false, outOfPlace = false;
  /// The interpreter takes only calls whose count is a multiple of this, and
  /// whose whole buffer has a multiple of `MscclAlgorithm::chunks` elements;
  /// for others it runs what it has of its own.
  unsigned countMultiple = 1;
};

/// Checks that an interpreter of the dialect takes `algorithm`, that sends meet
/// receives of as many chunks, that it ends, that no two steps touch a chunk at
/// once of which one writes it, that nothing is read that has not been written,
/// and that each output chunk holds what the collective asks for, each
/// contribution once: in place, out of place, or both, as the file says.
/// Returns nothing, and says in `findings` why, if not, or if it is too large
/// to tell.
std::optional<MscclVerdict> checkMsccl(const MscclAlgorithm &algorithm,
                                       const MscclCheckOptions &options,
                                       Findings &findings);

struct MscclExportOptions {
  MscclDialect dialect = MscclDialect::Nccl;
  std::string name = "sccl";
  std::string protocol = "Simple";     ///< or "LL", "LL128"
  uint64_t minBytes = 0, maxBytes = 0; ///< of the call; 0 for no limit
};

/// `program`, of a schedule of `collective` with or without pieces, as an
/// algorithm that `checkMsccl` accepts: for calls out of place, and in place
/// too where that is the same. Connections take the place of flags and of
/// scratch memory. Fails if the dialect has no word for the collective or no
/// room for the program.
Result<MscclAlgorithm> toMsccl(const Collective &collective,
                               const Program &program,
                               const MscclExportOptions &options);

/// The schedule that `algorithm` follows, each send in the earliest step and
/// each step with the fewest rounds. Fails where checkMsccl does, with the
/// first finding, and where a rank works on two values of a chunk at once.
Result<FoundSchedule> fromMsccl(const MscclAlgorithm &algorithm,
                                const MscclCheckOptions &options);

/// As a file.
std::string printMsccl(const MscclAlgorithm &algorithm);

} // namespace sccl::exchange

#endif // SCCL_EXCHANGE_MSCCL_H
