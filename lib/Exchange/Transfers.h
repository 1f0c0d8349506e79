//===- Transfers.h - Where chunks are, and what moves them ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TRANSFERS_H
#define SCCL_LIB_EXCHANGE_TRANSFERS_H

#include "sccl/Exchange/Buffer.h"
#include "sccl/Model/Schedule.h"

#include <map>

namespace sccl::exchange {

struct Location {
  Buffer buffer;
  int chunk;
  bool operator==(const Location &) const = default;
};

/// The buffers of all ranks.
class Locations {
public:
  explicit Locations(const Collective &collective)
      : collective(collective), scratch(collective.numRanks()),
        isWritten(collective.numRanks(), collective.numChunks()) {}

  /// Where a rank's value of a chunk is now.
  Location of(unsigned rank, unsigned chunk) const {
    return isWritten.contains(rank, chunk) ? home(rank, chunk)
                                           : input(rank, chunk);
  }
  /// Where the next value goes to, and where it is from then on.
  Location write(unsigned rank, unsigned chunk) {
    isWritten.insert(rank, chunk);
    if (!collective.post().contains(rank, chunk))
      scratch[rank].try_emplace(chunk, int(scratch[rank].size()));
    return home(rank, chunk);
  }
  bool wasWritten(unsigned rank, unsigned chunk) const {
    return isWritten.contains(rank, chunk);
  }
  Location input(unsigned rank, unsigned chunk) const {
    return {Buffer::Input, int(chunk - firstInput(rank))};
  }
  Location output(unsigned rank, unsigned chunk) const;
  int numScratch(unsigned rank) const { return int(scratch[rank].size()); }

  // Beside the values of chunks, which have the numbers of the chunks, ranks
  // have places for what they keep and for sums that they send.
  unsigned keptPlace(unsigned chunk, unsigned number) const {
    return collective.numChunks() * number + chunk;
  }
  unsigned newPlace() {
    return collective.numChunks() * (Send::maxKept + 1) + numPlaces++;
  }
  Location atPlace(unsigned rank, unsigned place) {
    auto [at, isNew] =
        scratch[rank].try_emplace(place, int(scratch[rank].size()));
    return {Buffer::Scratch, at->second};
  }

private:
  unsigned part() const { return collective.chunks() / collective.numRanks(); }
  unsigned firstInput(unsigned rank) const {
    using enum CollectiveKind;
    bool sendsOwn = collective.kind() == AllGather ||
                    collective.kind() == AllToAll ||
                    collective.kind() == Gather;
    return sendsOwn ? rank * collective.chunks() : 0;
  }
  Location home(unsigned rank, unsigned chunk) const {
    if (collective.post().contains(rank, chunk))
      return output(rank, chunk);
    return {Buffer::Scratch, scratch[rank].at(chunk)};
  }

  const Collective &collective;
  std::vector<std::map<unsigned, int>> scratch; ///< by rank, place to slot
  unsigned numPlaces = 0;                       ///< of sums
  RankChunkSet isWritten;
};
/// Chunks that are neighbours in all buffers they touch, over one link.
struct Transfer {
  unsigned src, dst;
  std::vector<unsigned> chunks;
  bool reduces;
  Location from, local, to; ///< `local` is reduced with it
};

/// The location that is `chunks` chunks further.
inline Location after(Location location, size_t chunks) {
  return {location.buffer, location.chunk + int(chunks)};
}

/// The transfers of one step, of sends that keep nothing and send nothing that
/// is kept: all read before any writes.
std::vector<Transfer> transfersOf(const Step &step, Locations &locations);

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TRANSFERS_H
