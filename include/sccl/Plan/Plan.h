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
// A file begins with its head, which every rank reads. What one rank alone
// needs is in the part of that rank: nobody reads the parts of others, so the
// time to load a plan does not grow with the code or the tables of all ranks.
//
// Needs LLVM's Support library only.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_PLAN_PLAN_H
#define SCCL_PLAN_PLAN_H

#include "sccl/ABI/ProgramInfo.h"
#include "sccl/Model/Result.h"
#include "sccl/Model/SizedTime.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace sccl::plan {

/// The version of the format that this code writes, and the only one it reads.
inline constexpr uint32_t formatVersion = 4;

/// What a reader accepts; a writer never exceeds it.
struct Limits {
  static constexpr uint64_t fileBytes = uint64_t(1) << 32;
  static constexpr uint64_t manifestBytes = uint64_t(1) << 24;
  static constexpr unsigned manifestDepth = 12;
  static constexpr unsigned manifestObjects = 1 << 15;
  static constexpr unsigned ranks = 1024;
  static constexpr unsigned entries = 1 << 14; ///< of any list
  static constexpr unsigned nameBytes = 512;
  static constexpr unsigned chunks = 1 << 28;
  static constexpr uint64_t pairs = uint64_t(1) << 28; ///< of ranks and chunks
  static constexpr unsigned blocks = mostBlocksPerChannel;
  static constexpr unsigned slots = 1 << 24;
  static constexpr uint64_t moves = uint64_t(1) << 40;
  static constexpr uint64_t controlBytes = uint64_t(1) << 32;
  static constexpr unsigned steps = 4096;         ///< of a program with copies
  static constexpr unsigned copies = 1 << 24;     ///< of a rank
  static constexpr unsigned rankTables = 1 << 10; ///< sets of them
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

/// What the ranks of a user-defined collective, or one in groups, have and what
/// they must get, with one chunk in each segment of a buffer.
struct Conditions {
  unsigned chunks = 1;   ///< the C of its cost
  unsigned distinct = 0; ///< G, the number of distinct chunks
  /// By rank, ascending. In a file, these are in the parts of the ranks.
  std::vector<std::vector<unsigned>> pre, post;
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

/// What a program was lowered from: a way of a coll.schedule in a module.
struct ProgramSource {
  unsigned blob = 0;    ///< the module, compressed (Sources.h)
  std::string schedule; ///< its symbol
  unsigned way = 0;     ///< index into its `ways`
  bool operator==(const ProgramSource &) const = default;
};

/// One way to lower a schedule. In a file, `copies` are in the parts of the
/// ranks that do them.
struct ProgramEntry : ProgramInfo {
  unsigned schedule = 0; ///< index into Manifest::schedules
  std::string variant;   ///< "push", ...
  /// Nothing if the program was given as such, or its schedule is too long to
  /// be kept.
  std::optional<ProgramSource> source;
  std::string codeShape; ///< "unrolled" or "table"
  bool operator==(const ProgramEntry &) const = default;
};

/// Machine code for a program.
struct KernelInfo {
  unsigned program = 0;
  std::string target;             ///< "x86-64-v3", "sm_90", "gfx942"
  std::string format;             ///< "elf", "ptx", "cubin", "hsaco"
  std::string element, reduction; ///< both empty if it only moves data
  unsigned blockSize = 1;
  /// One per rank, or one for all of them; that of step K of a program with
  /// steps ends in "_stepK".
  std::vector<std::string> symbols;
  unsigned blob = 0;
  std::string virtualSymbol; ///< of the kernel that runs all ranks; or empty
  /// What each rank passes to its function: a set of Plan::rankTables. Nothing
  /// if functions take none.
  std::optional<unsigned> rankTables;
  bool operator==(const KernelInfo &) const = default;

  const std::string &symbolOf(unsigned rank) const {
    return symbols.size() == 1 ? symbols.front() : symbols[rank];
  }
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
  /// What they take, in ascending order of size: estimated or measured, as the
  /// source says. Empty if nobody knows.
  std::vector<SizedTime> times = {};
  bool operator==(const SizeTable &) const = default;
};

struct Manifest {
  std::string generator;
  std::string collective;
  unsigned ranks = 0;
  unsigned root = 0;
  bool combining = false;
  /// In which its programs add up, as SumOrder prints it.
  std::string sumOrder = "any";
  /// Sums of floats of less than 32 bits are rounded to the type once.
  bool oneRounding = false;
  /// Beside that, that partial sums are kept and sent in f32.
  bool sumsInF32 = false;
  unsigned sendSegments = 1; ///< of a sending rank
  std::vector<RankLayout> layout;
  std::optional<Conditions> conditions; ///< if the collective is the user's
  std::string topology;                 ///< its name
  std::string fingerprint; ///< SHA-256 of its canonical text, in hexadecimal
  std::vector<ScheduleInfo> schedules;
  std::vector<ProgramEntry> programs;
  std::vector<KernelInfo> kernels;
  unsigned rankTables = 0; ///< sets of them, see Plan
  std::vector<SizeTable> tables;
  bool operator==(const Manifest &) const = default;
};

/// The name of `path` in a manifest, and back.
llvm::StringRef pathName(Path path);
std::optional<Path> parsePath(llvm::StringRef name);

/// What each rank passes to its function, by rank. Only the code it is for
/// knows what the bytes say; they begin at a multiple of 16 bytes there.
using RankTableSet = std::vector<std::string>;

/// A plan in memory.
struct Plan {
  Manifest manifest;
  std::vector<std::string> blobs;
  std::vector<RankTableSet> rankTables; ///< Manifest::rankTables of them
};

/// Where a blob is in the file.
struct BlobRange {
  uint64_t offset, bytes;
  std::string hash; ///< SHA-256 of the blob, in hexadecimal
  bool operator==(const BlobRange &) const = default;
};

/// Where the part of a rank is in the file.
struct PartRange {
  uint64_t offset, bytes;
  std::array<uint8_t, 32> hash; ///< SHA-256
  bool operator==(const PartRange &) const = default;
};

/// What one rank alone needs of a plan.
struct RankPart {
  /// By set; views of the bytes that the part was read from.
  std::vector<llvm::StringRef> rankTables;
  /// By program and step: the copies that this rank's host does.
  std::vector<std::vector<std::vector<EngineCopy>>> copies;
  std::vector<unsigned> pre, post; ///< of a user-defined collective
};

/// A plan whose head was read. `copies` of programs, and `pre` and `post` of
/// conditions, are empty until `parseWhole` fills them in.
struct PlanView {
  Manifest manifest;
  std::vector<BlobRange> ranges; ///< of the blobs
  std::vector<PartRange> parts;  ///< by rank
  /// SHA-256 of the head, which covers blobs and parts by their hashes; in
  /// hexadecimal.
  std::string hash;
  std::vector<llvm::StringRef> blobs; ///< views; none after `parseHead`
};

/// Writes `plan`; equal plans give equal bytes. Fails if it exceeds the limits
/// or is no valid plan, before anything is written.
std::optional<Error> write(const Plan &plan, llvm::raw_ostream &stream);
/// The same bytes in memory.
Result<std::string> serialize(const Plan &plan);

/// The first bytes of a file, of which `headBytes` tells the length of the
/// head.
inline constexpr uint64_t prefixBytes = 80;

/// How long the head of a file of `fileBytes` bytes is. Fails if its first
/// bytes are not those of a plan.
Result<uint64_t> headBytes(llvm::StringRef prefix, uint64_t fileBytes);

/// Reads the head of a plan, in a time that does not depend on the length of
/// blobs and parts. Fails on anything that is not one: every offset, size,
/// index and name is checked, and the hash of the head. Whoever uses a blob or
/// a part checks it.
Result<PlanView> parseHead(llvm::StringRef head, uint64_t fileBytes);
/// The same for a whole plan in memory; also fills in the blobs.
Result<PlanView> parse(llvm::StringRef bytes);

/// Compares a blob with its hash; returns the error if they differ.
std::optional<Error> checkBlob(const PlanView &view, unsigned index,
                               llvm::StringRef blob);
/// Reads the part of a rank from its bytes. Fails if these do not have their
/// hash, or are no such part.
Result<RankPart> readPart(const PlanView &view, unsigned rank,
                          llvm::StringRef bytes);

/// The same as `parse`, `checkBlob` of each blob and `readPart` of each rank.
Result<PlanView> parseWhole(llvm::StringRef bytes);
/// A copy of the plan in `bytes`; fails as `parseWhole` does.
Result<Plan> readPlan(llvm::StringRef bytes);

/// What a manifest says beyond what is stored as text.
enum class RankDetail { None, All };
/// The manifest as JSON. What is stored has no detail of ranks; for people,
/// `All` adds layouts, needs and copies.
std::string manifestText(const Manifest &manifest,
                         llvm::ArrayRef<BlobRange> blobs,
                         RankDetail detail = RankDetail::None);
/// Reads the text that is stored; fails as `parse` does. Ranges are not
/// compared with a file. `layout` and the needs of ranks stay empty.
Result<Manifest> parseManifest(llvm::StringRef text,
                               std::vector<BlobRange> &blobs);

} // namespace sccl::plan

#endif // SCCL_PLAN_PLAN_H
