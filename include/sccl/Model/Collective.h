//===- Collective.h - Pre- and postconditions over chunks -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A collective says which rank holds which chunk before (`pre`) and after
// (`post`), as in the SCCL paper, section 3.2 and table 1. One rule fixes what
// the parameter C ("chunks") counts for every kind, and agrees with the paper's
// tables:
//
//   C is the number of chunks of one sending rank's whole send buffer.
//
// So `all_to_all` with C = 24 on 8 ranks sends 3 chunks to each destination,
// and the cost of every kind is S*alpha + (R/C)*L*beta with L the bytes of that
// send buffer.
//
// A second rule fixes where chunks lie in memory: a rank's send (receive)
// buffer holds the chunks of its precondition (postcondition) in ascending
// order. The position of a chunk in a buffer is its *slot*.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_COLLECTIVE_H
#define SCCL_MODEL_COLLECTIVE_H

#include "sccl/Model/RankGroups.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

/// The collectives of MPI and NCCL. `Custom` has a user-given pre- and
/// postcondition.
enum class CollectiveKind {
  AllGather,
  AllReduce,
  AllToAll,
  Broadcast,
  Gather,
  Reduce,
  ReduceScatter,
  Scatter,
  Custom,
};

/// The spelling of `kind` in the IR and on the command line: "all_gather", ...
std::string_view collectiveName(CollectiveKind kind);
/// The inverse of `collectiveName`; also accepts the spelling without
/// underscores, as "allgather".
std::optional<CollectiveKind> parseCollectiveName(std::string_view name);
/// All kinds but `Custom`, in alphabetical order.
const std::vector<CollectiveKind> &allCollectiveKinds();
/// True if the kind has a root rank.
bool isRooted(CollectiveKind kind);
/// True if the kind reduces: chunks of different ranks are combined into one.
bool isCombining(CollectiveKind kind);
/// True if the send buffer has one segment per rank, so that C must be a
/// multiple of the number of ranks.
bool sendsOneSegmentPerRank(CollectiveKind kind);

/// A relation over (rank, chunk), as a dense bit matrix.
class RankChunkSet {
public:
  RankChunkSet(unsigned numRanks, unsigned numChunks)
      : ranks(numRanks), chunks(numChunks), wordsPerRank((numChunks + 63) / 64),
        words(static_cast<size_t>(numRanks) * wordsPerRank) {}

  unsigned numRanks() const { return ranks; }
  unsigned numChunks() const { return chunks; }
  bool contains(unsigned rank, unsigned chunk) const {
    return word(rank, chunk) >> (chunk % 64) & 1;
  }
  void insert(unsigned rank, unsigned chunk) {
    words[static_cast<size_t>(rank) * wordsPerRank + chunk / 64] |=
        uint64_t(1) << (chunk % 64);
  }
  /// The number of chunks of `rank`.
  unsigned count(unsigned rank) const { return countBelow(rank, chunks); }
  /// The number of chunks of `rank` with a smaller number than `chunk`.
  unsigned countBelow(unsigned rank, unsigned chunk) const;
  /// The chunks of `rank`, ascending.
  std::vector<unsigned> chunksOf(unsigned rank) const;
  /// The ranks that have `chunk`, ascending.
  std::vector<unsigned> ranksOf(unsigned chunk) const;
  bool operator==(const RankChunkSet &) const = default;

private:
  uint64_t word(unsigned rank, unsigned chunk) const {
    return words[static_cast<size_t>(rank) * wordsPerRank + chunk / 64];
  }
  unsigned ranks, chunks;
  size_t wordsPerRank;
  std::vector<uint64_t> words;
};

/// One collective on a given number of ranks, with its chunks.
class Collective {
public:
  /// Largest number of (rank, chunk) pairs of one collective.
  static constexpr uint64_t maxPairs = uint64_t(1) << 28;

  /// Builds one of the named kinds. `chunks` is C; `root` is read for rooted
  /// kinds only. Global numbers of chunks, with c = C / numRanks:
  ///   all_gather, gather        source * C + i
  ///   broadcast, reduce,
  ///   all_reduce                i
  ///   scatter, reduce_scatter   destination * c + j
  ///   all_to_all                source * C + destination * c + j
  /// Fails if `chunks` is 0, is not a multiple of `numRanks` where it must be,
  /// the root is out of range, or there are more than `maxPairs` pairs.
  static Result<Collective> make(CollectiveKind kind, unsigned numRanks,
                                 unsigned chunks, unsigned root = 0);

  /// An all_gather in which rank r sends `counts[r]` chunks, MPI's allgatherv,
  /// as a user-defined collective called "all_gatherv". Chunks are numbered
  /// rank by rank; C is the largest count. Fails if all counts are 0.
  static Result<Collective> makeAllGatherV(const std::vector<unsigned> &counts);

  /// One of the named kinds in each of `groups`, at once; C is the same in all
  /// of them, and `root` counts within a group. It is of kind `Custom` and
  /// called "all_gather_groups", ... Chunks are numbered group by group, within
  /// a group as `make` does for its ranks in their order. Ranks of no group
  /// have empty buffers. Fails where `checkRankGroups` or `make` do.
  static Result<Collective> makeGrouped(CollectiveKind kind, unsigned numRanks,
                                        RankGroups groups, unsigned chunks,
                                        unsigned root = 0);

  /// Each chunk of `collective` cut into `pieces`, which are neighbours in
  /// memory; C and what a segment holds grow with it. Of kind `Custom`. Fails
  /// if there would be more than `maxPairs` pairs.
  static Result<Collective> cutChunks(const Collective &collective,
                                      unsigned pieces);

  /// Builds a user-defined collective. `chunks` is only the C of its cost. In a
  /// combining collective every rank of `pre` contributes to the chunk. Fails
  /// if the sets differ in shape, or a chunk that `post` asks for is nowhere in
  /// `pre`. Segments have `segmentChunks` chunks; fails if a rank has a part of
  /// one.
  static Result<Collective> makeCustom(std::string name, unsigned chunks,
                                       bool combining, RankChunkSet pre,
                                       RankChunkSet post,
                                       unsigned segmentChunks = 1);

  CollectiveKind kind() const { return theKind; }
  /// "all_gather", ..., or the name of a user-defined one or one in groups,
  /// which may be changed.
  const std::string &name() const { return theName; }
  void setName(std::string name) { theName = std::move(name); }
  unsigned numRanks() const { return before.numRanks(); }
  /// C, see the head of this file.
  unsigned chunks() const { return theChunks; }
  /// G, the number of distinct chunks.
  unsigned numChunks() const { return before.numChunks(); }
  /// The root of a rooted kind, within each group if there are any; 0
  /// otherwise.
  unsigned root() const { return theRoot; }
  /// The groups of `makeGrouped`, and what each of them does; empty, and
  /// `kind()`, of other collectives.
  const RankGroups &groups() const { return theGroups; }
  CollectiveKind groupKind() const { return kindInGroups; }
  bool combining() const { return isCombiningCollective; }
  const RankChunkSet &pre() const { return before; }
  const RankChunkSet &post() const { return after; }

  /// Buffers are rows of segments of equal length (the `count` of an MPI or
  /// NCCL call), each cut into this many chunks. Chunk c lies at position
  /// c % chunksPerSegment() of its segment in every buffer.
  unsigned chunksPerSegment() const { return segmentChunks; }
  /// Slot of `chunk` in the send buffer of `rank`, if it is there at the start.
  std::optional<unsigned> inputSlot(unsigned rank, unsigned chunk) const;
  /// Slot of `chunk` in the receive buffer of `rank`, if it must end there.
  std::optional<unsigned> outputSlot(unsigned rank, unsigned chunk) const;
  /// True if the send buffer of each rank can be a part of its receive buffer,
  /// or the reverse: the chunks that are in both have the same places in both,
  /// but for an offset of whole segments, and are all that one of them holds.
  /// This is what NCCL calls in place; all_to_all cannot be so.
  bool hasInPlaceLayout() const;
  /// With such a layout, the place of the send buffer minus that of the receive
  /// buffer of `rank`, in slots.
  int64_t inPlaceOffset(unsigned rank) const;
  /// Chunks in the send / receive buffer of `rank`.
  unsigned inputSlots(unsigned rank) const { return before.count(rank); }
  unsigned outputSlots(unsigned rank) const { return after.count(rank); }

private:
  Collective(CollectiveKind kind, std::string name, unsigned chunks,
             unsigned root, unsigned segmentChunks, bool combining,
             RankChunkSet pre, RankChunkSet post)
      : theKind(kind), kindInGroups(kind), theName(std::move(name)),
        theChunks(chunks), theRoot(root), segmentChunks(segmentChunks),
        isCombiningCollective(combining), before(std::move(pre)),
        after(std::move(post)) {}

  CollectiveKind theKind, kindInGroups;
  RankGroups theGroups;
  std::string theName;
  unsigned theChunks, theRoot, segmentChunks;
  bool isCombiningCollective;
  RankChunkSet before, after;
};

} // namespace sccl

#endif // SCCL_MODEL_COLLECTIVE_H
