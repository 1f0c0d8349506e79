//===- PairTable.h - Numbers for the members of sets -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is known of the chunks of a rank stands in arrays that have a place for
// each pair of rank and chunk that occurs, and no others.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_PAIRTABLE_H
#define SCCL_TRANSFORMS_PAIRTABLE_H

#include "sccl/Model/Collective.h"

#include <bit>

namespace sccl::coll {

/// A set of small numbers that tells how many of its members are below another
/// one.
class NumberedSet {
public:
  explicit NumberedSet(unsigned limit) : words((limit + 63) / 64) {}

  bool contains(unsigned i) const { return words[i / 64] >> (i % 64) & 1; }
  void insert(unsigned i) { words[i / 64] |= uint64_t(1) << (i % 64); }
  /// Ends the insertions. Returns the number of members.
  size_t finish() {
    before.resize(words.size());
    size_t total = 0;
    for (size_t w = 0; w < words.size(); ++w) {
      before[w] = total;
      total += std::popcount(words[w]);
    }
    return total;
  }
  /// The number of members below `i`, after finish().
  size_t countBelow(unsigned i) const {
    uint64_t lower = (uint64_t(1) << (i % 64)) - 1;
    return before[i / 64] + std::popcount(words[i / 64] & lower);
  }

private:
  std::vector<uint64_t> words;
  std::vector<uint32_t> before; ///< members below each word
};

/// The slots of one rank's buffer, which holds `set` in ascending order.
class SlotCounter {
public:
  SlotCounter(const RankChunkSet &set, unsigned rank)
      : chunks(set.numChunks()) {
    for (unsigned chunk : set.chunksOf(rank))
      chunks.insert(chunk);
    chunks.finish();
  }
  /// The slot of `chunk`, if it has one.
  std::optional<unsigned> slotOf(unsigned chunk) const {
    if (!chunks.contains(chunk))
      return std::nullopt;
    return chunks.countBelow(chunk);
  }

private:
  NumberedSet chunks;
};

/// Pairs of rank and chunk, with numbers from 0. Those of a rank are together:
/// schedules are gone through link by link.
class PairTable {
public:
  PairTable(unsigned numRanks, unsigned numChunks)
      : numRanks(numRanks), numChunks(numChunks), pairs(numRanks * numChunks) {}

  void insert(unsigned rank, unsigned chunk) {
    pairs.insert(rank * numChunks + chunk);
  }
  /// Ends the insertions. Returns the number of pairs.
  size_t finish() {
    size_t total = pairs.finish();
    isFull = total == size_t(numRanks) * numChunks;
    return total;
  }
  /// True if the pair has been inserted.
  bool contains(unsigned rank, unsigned chunk) const {
    return isFull || pairs.contains(rank * numChunks + chunk);
  }
  /// The number of a pair that has been inserted, after finish().
  size_t number(unsigned rank, unsigned chunk) const {
    unsigned pair = rank * numChunks + chunk;
    return isFull ? pair : pairs.countBelow(pair);
  }

private:
  unsigned numRanks, numChunks;
  bool isFull = false; ///< every pair has been inserted
  NumberedSet pairs;   ///< at most Collective::maxPairs
};

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_PAIRTABLE_H
