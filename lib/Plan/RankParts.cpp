//===- RankParts.cpp - The part of each rank in a plan --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The index of ranks has 64 bytes per rank:
//
//   0   u32 segments of the send buffer
//   4   u32 segments of the receive buffer
//   8   i32 segments from the receive to the send buffer in place
//   12  u32 1 if there is such a form, else 0
//   16  u64 where the part of the rank is, and u64 its bytes
//   32  SHA-256 of the part
//
// then 16 bytes for each program and rank: u32 channels, u32 slots of scratch
// memory, u64 bytes of control memory.
//
// The part of a rank: for each set of tables u64 bytes and, at the next
// multiple of 16, the table; for each program with steps u32 number of copies
// and 32 bytes for each; of a user-defined collective u32 number of chunks and
// the chunks, first those it has, then those it must get.
//
//===----------------------------------------------------------------------===//

#include "RankParts.h"

#include "Bytes.h"

using namespace sccl;
using namespace sccl::plan;

static constexpr uint64_t rankBytes = 64, needsBytes = 16, tableAlignment = 16;

uint64_t plan::rankIndexBytes(const Manifest &manifest) {
  return manifest.ranks * (rankBytes + manifest.programs.size() * needsBytes);
}

std::string plan::rankIndex(const Manifest &manifest,
                            llvm::ArrayRef<PartRange> parts) {
  ByteWriter writer;
  for (unsigned rank = 0; rank < manifest.ranks; ++rank) {
    const RankLayout &layout = manifest.layout[rank];
    writer.u32(layout.inputSegments);
    writer.u32(layout.outputSegments);
    writer.u32(uint32_t(layout.inPlaceOffset.value_or(0)));
    writer.u32(layout.inPlaceOffset.has_value());
    writer.u64(parts[rank].offset);
    writer.u64(parts[rank].bytes);
    writer.text({reinterpret_cast<const char *>(parts[rank].hash.data()),
                 parts[rank].hash.size()});
  }
  for (const ProgramEntry &program : manifest.programs)
    for (const RankNeeds &needs : program.ranks) {
      writer.u32(needs.channels);
      writer.u32(needs.scratchSlots);
      writer.u64(needs.controlBytes);
    }
  return std::move(writer.bytes);
}

static Error brokenIndex(unsigned rank, const std::string &what) {
  return {"the plan is broken: rank " + std::to_string(rank) + " has " + what};
}

/// What is wrong with the layout of a rank; empty if nothing is.
static std::string checkLayout(const RankLayout &layout, uint32_t hasInPlace) {
  auto isBeyond = [](int64_t value) {
    return value < -int64_t(Limits::chunks) || value > int64_t(Limits::chunks);
  };
  if (isBeyond(layout.inputSegments) || isBeyond(layout.outputSegments))
    return "more segments than the limit, " + std::to_string(Limits::chunks);
  if (hasInPlace > 1 || isBeyond(layout.inPlaceOffset.value_or(0)))
    return "an offset in place that is no number of segments";
  return "";
}

std::optional<Error> plan::readRankIndex(llvm::StringRef bytes,
                                         Manifest &manifest,
                                         std::vector<PartRange> &parts) {
  ByteReader reader(bytes);
  for (unsigned rank = 0; rank < manifest.ranks; ++rank) {
    RankLayout layout;
    layout.inputSegments = reader.u32();
    layout.outputSegments = reader.u32();
    int32_t offset = int32_t(reader.u32());
    uint32_t hasInPlace = reader.u32();
    if (hasInPlace || offset != 0)
      layout.inPlaceOffset = offset;
    if (!hasInPlace && offset != 0)
      return brokenIndex(rank, "an offset in place, and no form in place");
    if (std::string error = checkLayout(layout, hasInPlace); !error.empty())
      return brokenIndex(rank, error);
    manifest.layout.push_back(layout);
    PartRange &part = parts.emplace_back();
    part.offset = reader.u64();
    part.bytes = reader.u64();
    if (part.offset > Limits::fileBytes || part.bytes > Limits::fileBytes)
      return brokenIndex(rank, "a part beyond the end of any file");
    llvm::StringRef hash = reader.take(part.hash.size());
    std::copy(hash.begin(), hash.end(), part.hash.begin());
  }
  for (ProgramEntry &program : manifest.programs)
    for (unsigned rank = 0; rank < manifest.ranks; ++rank) {
      RankNeeds &needs = program.ranks.emplace_back();
      needs.channels = reader.u32();
      needs.scratchSlots = reader.u32();
      needs.controlBytes = reader.u64();
      if (needs.channels > Limits::entries ||
          needs.scratchSlots > Limits::slots ||
          needs.controlBytes > Limits::controlBytes)
        return brokenIndex(rank, "more channels, slots or bytes of flags than "
                                 "the limit");
    }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

PartWriter::PartWriter(const Plan &plan)
    : plan(plan), copies(plan.manifest.ranks) {
  const std::vector<ProgramEntry> &programs = plan.manifest.programs;
  for (unsigned program = 0; program < programs.size(); ++program)
    for (unsigned step = 0; step < programs[program].copies.size(); ++step)
      for (const EngineCopy &copy : programs[program].copies[step]) {
        if (copy.executor != copy.srcRank || copy.executor >= copies.size()) {
          error = "a copy is done by another rank than that of its source";
          return;
        }
        copies[copy.executor].push_back({program, step, &copy});
      }
}

static void writeChunks(ByteWriter &writer, llvm::ArrayRef<unsigned> chunks) {
  writer.u32(chunks.size());
  for (unsigned chunk : chunks)
    writer.u32(chunk);
}

Result<std::string> PartWriter::part(unsigned rank) const {
  if (!error.empty())
    return Error{"the plan is broken: " + error};
  const Manifest &manifest = plan.manifest;
  ByteWriter writer;
  for (const RankTableSet &set : plan.rankTables) {
    writer.u64(set[rank].size());
    writer.align(tableAlignment);
    writer.text(set[rank]);
  }
  llvm::ArrayRef<Copy> rest = copies[rank];
  for (unsigned program = 0; program < manifest.programs.size(); ++program) {
    if (manifest.programs[program].steps == 0)
      continue;
    llvm::ArrayRef<Copy> mine = rest.take_while(
        [&](const Copy &copy) { return copy.program == program; });
    rest = rest.drop_front(mine.size());
    writer.u32(mine.size());
    for (const Copy &entry : mine) {
      const EngineCopy &copy = *entry.copy;
      for (unsigned value :
           {entry.step, copy.srcBuffer, copy.srcSlot, copy.dstRank,
            copy.dstBuffer, copy.dstSlot, copy.position, copy.count})
        writer.u32(value);
    }
  }
  if (manifest.conditions) {
    writeChunks(writer, manifest.conditions->pre[rank]);
    writeChunks(writer, manifest.conditions->post[rank]);
  }
  // A reader has the last word on what is valid.
  if (Result<RankPart> check = decodePart(manifest, rank, writer.bytes); !check)
    return Error{check.error()};
  return std::move(writer.bytes);
}

namespace {
/// Reads one part. The first thing that is wrong becomes the error.
class PartReader {
public:
  PartReader(const Manifest &manifest, unsigned rank, llvm::StringRef bytes)
      : manifest(manifest), rank(rank), reader(bytes) {}

  Result<RankPart> read() {
    for (unsigned set = 0; set < manifest.rankTables; ++set) {
      uint64_t bytes = reader.u64();
      reader.align(tableAlignment);
      part.rankTables.push_back(reader.take(bytes));
    }
    part.copies.resize(manifest.programs.size());
    for (unsigned program = 0; program < manifest.programs.size(); ++program)
      readCopies(manifest.programs[program], part.copies[program]);
    if (manifest.conditions) {
      const RankLayout &layout = manifest.layout[rank];
      readChunks("pre", layout.inputSegments, part.pre);
      readChunks("post", layout.outputSegments, part.post);
    }
    if (reader.failed || reader.left() != 0)
      fail("it has another length than it should");
    if (!error.empty())
      return Error{"the part of rank " + std::to_string(rank) +
                   " is broken: " + error};
    return std::move(part);
  }

private:
  bool fail(const std::string &message) {
    if (error.empty())
      error = message;
    return false;
  }

  /// A number within limits.
  uint32_t number(const char *name, uint64_t least, uint64_t most) {
    uint32_t value = reader.u32();
    if (!reader.failed && (value < least || value > most))
      fail("'" + std::string(name) + "' is " + std::to_string(value) +
           ", expected " + std::to_string(least) + " to " +
           std::to_string(most));
    return value;
  }

  void readCopies(const ProgramEntry &program,
                  std::vector<std::vector<EngineCopy>> &copies) {
    if (program.steps == 0)
      return;
    copies.resize(program.steps);
    unsigned count = number("copies", 0, Limits::copies), last = 0;
    for (unsigned i = 0; i < count && error.empty() && !reader.failed; ++i) {
      unsigned step = number("step", last, program.steps - 1);
      EngineCopy copy = readCopy(program);
      if (error.empty() && !reader.failed)
        copies[last = step].push_back(copy);
    }
  }

  /// A copy that stays within the buffers that a launch prepares, whatever the
  /// size of segments.
  EngineCopy readCopy(const ProgramEntry &program) {
    unsigned perSegment = manifest.schedules[program.schedule].chunksPerSegment;
    EngineCopy copy;
    copy.executor = copy.srcRank = rank;
    copy.srcBuffer = number("srcBuffer", 0, 2);
    copy.srcSlot = reader.u32();
    copy.dstRank = number("dstRank", 0, manifest.ranks - 1);
    copy.dstBuffer = number("dstBuffer", 0, 2);
    copy.dstSlot = reader.u32();
    copy.position = number("position", 0, perSegment - 1);
    copy.count = number("count", 1, perSegment - copy.position);
    if (!error.empty() || reader.failed)
      return copy;
    checkSlot(program, copy, "srcSlot", rank, copy.srcBuffer, copy.srcSlot);
    checkSlot(program, copy, "dstSlot", copy.dstRank, copy.dstBuffer,
              copy.dstSlot);
    if (copy.dstBuffer == 0)
      fail("a copy goes to a send buffer");
    // Where the caller's buffers are depends on what peers do with them.
    if (copy.dstBuffer == 1 && copy.dstRank != rank &&
        !program.peersTouchOutput)
      fail("a copy goes to a receive buffer that peers leave alone");
    return copy;
  }

  void checkSlot(const ProgramEntry &program, const EngineCopy &copy,
                 const char *name, unsigned owner, unsigned buffer,
                 unsigned slot) {
    constexpr unsigned scratch = 2;
    uint64_t perSegment = manifest.schedules[program.schedule].chunksPerSegment;
    const RankLayout &layout = manifest.layout[owner];
    uint64_t slots = buffer == scratch
                         ? program.ranks[owner].scratchSlots
                         : perSegment * (buffer == 0 ? layout.inputSegments
                                                     : layout.outputSegments);
    if (slots < copy.count)
      fail("a copy has more chunks than its buffer");
    else if (slot > slots - copy.count)
      fail("'" + std::string(name) + "' is " + std::to_string(slot) +
           ", expected 0 to " + std::to_string(slots - copy.count));
    else if (buffer != scratch && slot % perSegment != copy.position)
      fail("a copy has two positions in a segment");
  }

  /// As many chunks as the buffer has segments.
  void readChunks(const char *name, unsigned segments,
                  std::vector<unsigned> &chunks) {
    if (reader.u32() != segments && !reader.failed)
      fail("'" + std::string(name) + "' differs from the buffers");
    uint64_t next = 0;
    for (unsigned i = 0; i < segments && error.empty() && !reader.failed; ++i) {
      uint32_t chunk = reader.u32();
      if (chunk < next || chunk >= manifest.conditions->distinct)
        fail("'" + std::string(name) + "' has no ascending chunks");
      chunks.push_back(chunk);
      next = uint64_t(chunk) + 1;
    }
  }

  const Manifest &manifest;
  unsigned rank;
  ByteReader reader;
  RankPart part;
  std::string error;
};
} // namespace

Result<RankPart> plan::decodePart(const Manifest &manifest, unsigned rank,
                                  llvm::StringRef bytes) {
  return PartReader(manifest, rank, bytes).read();
}
