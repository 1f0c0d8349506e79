//===- TraceTable.h - What traced GPU code tells ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions for a GPU that are compiled to be traced get a table as an
// argument, or null, which has them tell nothing. It is aligned to 16 bytes:
//
//   TraceHeader
//   TraceLine[steps or 1][channels]
//   TraceMark[]      of each line, in order; the last one of a launch is an End
//
// Plans hold it with lines that record nothing. Whoever wants to know gives
// each line memory for records, which is zeroed; one record for each launch:
//
//   uint64_t launch     the number of the launch, or 0 where none are counted
//   uint64_t segment    bytes, see KernelABI.h
//   uint64_t times[]    when the channel came to each of its marks
//
// The first thread of the first block of a channel writes it, and nobody else
// anything in the line. A time of 0 has not been written yet. What does not fit
// is left out, and counted. Nobody resets anything between launches, and a
// graph that is replayed tells if somebody records then.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_TRACETABLE_H
#define SCCL_ABI_TRACETABLE_H

#include "sccl/ABI/TraceMark.h"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

struct TraceHeader {
  static constexpr uint32_t expectedMagic = 0x31637274;
  uint32_t magic;
  uint32_t lines, marks;
  uint32_t unused;
};

/// What a channel tells.
struct TraceLine {
  uint64_t place;    ///< the record of this launch, or 0; set by the channel
  uint64_t launches; ///< begun while somebody recorded; set by the channel
  uint64_t buffer;   ///< where records begin; 0: nobody records
  uint64_t capacity; ///< of records
  uint64_t stride;   ///< from record to record, bytes
  uint32_t firstMark, marks;
};

static_assert(sizeof(TraceHeader) == 16 && sizeof(TraceLine) == 48);

/// Where the times of a record begin.
inline constexpr uint64_t traceTimes = 2 * sizeof(uint64_t);

/// The offset of a line in a table.
constexpr uint64_t traceLineOffset(uint64_t line) {
  return sizeof(TraceHeader) + line * sizeof(TraceLine);
}

/// A table on the host.
struct TraceTable {
  std::vector<TraceLine> lines;
  std::vector<TraceMark> marks;

  std::string bytes() const {
    TraceHeader header{TraceHeader::expectedMagic, uint32_t(lines.size()),
                       uint32_t(marks.size()), 0};
    std::string result(reinterpret_cast<const char *>(&header), sizeof(header));
    append(result, lines);
    append(result, marks);
    return result;
  }

  /// False if `bytes` are no table, or not one that code can use.
  static bool read(std::string_view bytes, TraceTable &table) {
    TraceHeader header;
    if (bytes.size() < sizeof(header))
      return false;
    std::memcpy(&header, bytes.data(), sizeof(header));
    bytes.remove_prefix(sizeof(header));
    if (header.magic != TraceHeader::expectedMagic ||
        bytes.size() != uint64_t(header.lines) * sizeof(TraceLine) +
                            uint64_t(header.marks) * sizeof(TraceMark))
      return false;
    take(bytes, header.lines, table.lines);
    take(bytes, header.marks, table.marks);
    return table.isValid();
  }

  static uint64_t recordBytes(const TraceLine &line) {
    return traceTimes + line.marks * sizeof(uint64_t);
  }
  /// Of all lines together.
  uint64_t launchBytes() const {
    uint64_t total = 0;
    for (const TraceLine &line : lines)
      total += recordBytes(line);
    return total;
  }
  /// Gives each line memory for `launches` records, from `address` on; with an
  /// address of 0 nothing is recorded.
  void record(uint64_t address, uint64_t launches) {
    for (TraceLine &line : lines) {
      line.place = line.launches = 0;
      line.buffer = address;
      line.capacity = launches;
      line.stride = recordBytes(line);
      if (address != 0)
        address += launches * line.stride;
    }
  }

private:
  /// Lines have marks that are there, and nothing divides by zero.
  bool isValid() const {
    for (const TraceLine &line : lines)
      if (uint64_t(line.firstMark) + line.marks > marks.size())
        return false;
    for (const TraceMark &mark : marks)
      if (mark.kind > TraceMark::End || mark.chunksPerSegment == 0)
        return false;
    return true;
  }
  template <typename T>
  static void append(std::string &bytes, const std::vector<T> &parts) {
    bytes.append(reinterpret_cast<const char *>(parts.data()),
                 parts.size() * sizeof(T));
  }
  template <typename T>
  static void take(std::string_view &bytes, size_t count,
                   std::vector<T> &parts) {
    parts.resize(count);
    if (count == 0)
      return;
    std::memcpy(parts.data(), bytes.data(), count * sizeof(T));
    bytes.remove_prefix(count * sizeof(T));
  }
};

} // namespace sccl

#endif // SCCL_ABI_TRACETABLE_H
