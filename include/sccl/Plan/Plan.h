//===- Plan.h - What a .sccl file holds -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan is one collective, compiled: several schedules, the programs they were
// lowered to, and code for several targets. `sccl compile` writes plans,
// libsccl loads them. docs/Plan.md describes the bytes.
//
// Needs LLVM's Support library only.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_PLAN_H
#define SCCL_PLAN_PLAN_H

#include "sccl/ABI/KernelABI.h"
#include "sccl/Model/Result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sccl::plan {

/// The version of the format that this code writes, and the only one it reads.
inline constexpr uint32_t formatVersion = 1;

/// What a reader accepts; a writer never exceeds it.
struct Limits {
  static constexpr uint64_t fileBytes = uint64_t(1) << 32;
  static constexpr uint64_t manifestBytes = uint64_t(1) << 24;
  static constexpr unsigned manifestDepth = 12;
  static constexpr unsigned ranks = 1024;
  static constexpr unsigned entries = 1 << 14; ///< of any list
  static constexpr unsigned nameBytes = 512;
  static constexpr unsigned chunks = 1 << 28;
  static constexpr uint64_t pairs = uint64_t(1) << 28; ///< of ranks and chunks
  static constexpr unsigned blocks = 64;               ///< per channel
  static constexpr unsigned slots = 1 << 24;
  static constexpr uint64_t moves = uint64_t(1) << 40;
  static constexpr uint64_t controlBytes = uint64_t(1) << 32;
  static constexpr unsigned steps = 4096; ///< of a program with copies
  static constexpr unsigned copies = 1 << 17;
};

/// The buffers of one rank, as rows of segments of `count` elements each.
struct RankLayout {
  unsigned inputSegments = 0;
  unsigned outputSegments = 0;
  /// In place, the send buffer begins this many segments after the receive
  /// buffer; negative if before. Nothing if the rank has no such form.
  std::optional<int> inPlaceOffset;
  bool operator==(const RankLayout &) const = default;
};

/// What the ranks of a user-defined collective have and what they must get.
struct Conditions {
  unsigned chunks = 1;   ///< the C of its cost
  unsigned distinct = 0; ///< G, the number of distinct chunks
  std::vector<std::vector<unsigned>> pre, post; ///< by rank, ascending
  bool operator==(const Conditions &) const = default;
};

struct ScheduleInfo {
  std::string name;
  unsigned chunks = 0;           ///< C
  unsigned chunksPerSegment = 0; ///< of each segment of a buffer
  unsigned steps = 0;            ///< S
  unsigned rounds = 0;           ///< R
  std::string cost;              ///< R/C, reduced, as "7/6"
  bool operator==(const ScheduleInfo &) const = default;
};

/// What one rank needs to run a program.
struct RankNeeds {
  unsigned channels = 0;     ///< the grid has this many times `blocks` blocks
  unsigned scratchSlots = 0; ///< slots of one chunk each, see KernelABI.h
  uint64_t controlBytes = 0;
  bool operator==(const RankNeeds &) const = default;
};

/// One way to lower a schedule.
struct ProgramInfo {
  unsigned schedule = 0; ///< index into Manifest::schedules
  std::string variant;   ///< "push", ...
  std::string codeShape; ///< "unrolled" or "table"
  unsigned blocks = 1;   ///< thread blocks per channel
  bool peersReadInput = false;
  bool peersTouchOutput = false;
  bool inPlace = false; ///< still right when the user's buffers are one
  /// Ranks tell their peers that a launch has begun, or their hosts do.
  /// Otherwise all must have finished a launch before one of another size or
  /// program may begin.
  bool announcesReady = true;
  /// Chunks that all ranks together read and write in a launch.
  uint64_t chunksMoved = 0;
  std::vector<RankNeeds> ranks;
  /// By step, what hosts copy beside the functions. If there are steps, a rank
  /// has a function for each, and functions access no memory of peers; a step
  /// begins when all ranks are done with the one before.
  std::vector<std::vector<EngineCopy>> copies;
  bool operator==(const ProgramInfo &) const = default;
};

/// Machine code for a program.
struct KernelInfo {
  unsigned program = 0;
  std::string target;             ///< "x86-64-v3", "sm_90", "gfx942"
  std::string format;             ///< "elf", "ptx", "cubin", "hsaco"
  std::string element, reduction; ///< both empty if it only moves data
  unsigned blockSize = 1;
  /// One per rank; that of step K of a program with steps ends in "_stepK".
  std::vector<std::string> symbols;
  unsigned blob = 0;
  std::string virtualSymbol; ///< of the kernel for all ranks; empty: none
  bool operator==(const KernelInfo &) const = default;
};

/// How the user's buffers reach a program.
enum class Path {
  Auto,    ///< decided at the launch
  Direct,  ///< peers access them
  Staging, ///< through buffers of the communicator
};

/// From `firstByte` bytes of a send buffer on, up to the next choice.
struct SizeChoice {
  uint64_t firstByte = 0;
  unsigned program = 0;
  Path path = Path::Auto;
  uint64_t pieceBytes = 0; ///< of a segment, per launch; 0: the default
  bool operator==(const SizeChoice &) const = default;
};

/// Choices in ascending order of size, the first from 0 bytes on.
struct SizeTable {
  std::string source;  ///< "model" or "measured"
  std::string target;  ///< where it was measured; empty for the model
  std::string ranksAs; ///< "threads" or "processes"; empty for the model
  std::vector<SizeChoice> choices;
  bool operator==(const SizeTable &) const = default;
};

struct Manifest {
  std::string generator;
  std::string collective;
  unsigned ranks = 0;
  unsigned root = 0;
  bool combining = false;
  unsigned sendSegments = 1; ///< of a sending rank
  std::vector<RankLayout> layout;
  std::optional<Conditions> conditions; ///< if the collective is the user's
  std::string topology;                 ///< its name
  std::string fingerprint; ///< SHA-256 of its canonical text, in hexadecimal
  std::vector<ScheduleInfo> schedules;
  std::vector<ProgramInfo> programs;
  std::vector<KernelInfo> kernels;
  std::vector<SizeTable> tables;
  bool operator==(const Manifest &) const = default;
};

/// The name of `path` in a manifest, and back.
llvm::StringRef pathName(Path path);
std::optional<Path> parsePath(llvm::StringRef name);

/// A plan in memory.
struct Plan {
  Manifest manifest;
  std::vector<std::string> blobs;
};

/// Where a blob is in the file.
struct BlobRange {
  uint64_t offset, bytes;
  std::string hash; ///< SHA-256 of the blob, in hexadecimal
  bool operator==(const BlobRange &) const = default;
};

/// A plan that was read. The blobs are views of the bytes it was read from.
struct PlanView {
  Manifest manifest;
  std::vector<llvm::StringRef> blobs;
  std::vector<BlobRange> ranges; ///< of the blobs
  /// SHA-256 of all but the blobs, which it covers by their hashes; in
  /// hexadecimal.
  std::string hash;
};

/// The bytes of `plan`; equal plans give equal bytes. Fails if it exceeds the
/// limits.
Result<std::string> serialize(const Plan &plan);

/// Reads a plan, in a time that does not depend on the length of its blobs.
/// Fails on anything that is not one: every offset, size, index and name is
/// checked, and the hash of all but the blobs. Whoever uses a blob checks it.
Result<PlanView> parse(llvm::StringRef bytes);

/// Compares a blob with its hash; returns the error if they differ.
std::optional<Error> checkBlob(const PlanView &view, unsigned index);

/// The same as `parse` and `checkBlob` of each blob.
Result<PlanView> parseWhole(llvm::StringRef bytes);

/// The manifest as text, as it is stored.
std::string manifestText(const Manifest &manifest,
                         llvm::ArrayRef<BlobRange> blobs);
/// Reads that text; fails as `parse` does. Ranges are not compared with a file.
Result<Manifest> parseManifest(llvm::StringRef text,
                               std::vector<BlobRange> &blobs);

} // namespace sccl::plan

#endif // SCCL_PLAN_PLAN_H
