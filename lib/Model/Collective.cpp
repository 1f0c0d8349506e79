//===- Collective.cpp - Pre- and postconditions over chunks ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every kind is described by two small functions (who holds a chunk before, who
// after), so that the numbering of chunks is written down once.
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Collective.h"

#include "sccl/Model/InPlace.h"
#include "sccl/Model/Topology.h"

#include <algorithm>
#include <bit>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Kinds
//===----------------------------------------------------------------------===//

std::string_view sccl::collectiveName(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Gather:
    return "gather";
  case CollectiveKind::Reduce:
    return "reduce";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::Scatter:
    return "scatter";
  case CollectiveKind::Custom:
    return "custom";
  }
  return "";
}

std::optional<CollectiveKind> sccl::parseCollectiveName(std::string_view name) {
  auto matches = [name](CollectiveKind kind) {
    std::string spelling(collectiveName(kind));
    if (name == spelling)
      return true;
    std::erase(spelling, '_');
    return name == spelling;
  };
  for (CollectiveKind kind : allCollectiveKinds())
    if (matches(kind))
      return kind;
  if (matches(CollectiveKind::Custom))
    return CollectiveKind::Custom;
  return std::nullopt;
}

const std::vector<CollectiveKind> &sccl::allCollectiveKinds() {
  static const std::vector<CollectiveKind> kinds = {
      CollectiveKind::AllGather,     CollectiveKind::AllReduce,
      CollectiveKind::AllToAll,      CollectiveKind::Broadcast,
      CollectiveKind::Gather,        CollectiveKind::Reduce,
      CollectiveKind::ReduceScatter, CollectiveKind::Scatter,
  };
  return kinds;
}

bool sccl::isRooted(CollectiveKind kind) {
  return kind == CollectiveKind::Broadcast || kind == CollectiveKind::Gather ||
         kind == CollectiveKind::Reduce || kind == CollectiveKind::Scatter;
}

bool sccl::isCombining(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::Reduce ||
         kind == CollectiveKind::ReduceScatter;
}

bool sccl::sendsOneSegmentPerRank(CollectiveKind kind) {
  return kind == CollectiveKind::AllToAll ||
         kind == CollectiveKind::ReduceScatter ||
         kind == CollectiveKind::Scatter;
}

/// True if every rank sends chunks of its own, so that there are C of them for
/// each rank rather than C in all.
static bool hasChunksPerSource(CollectiveKind kind) {
  return kind == CollectiveKind::AllGather || kind == CollectiveKind::Gather ||
         kind == CollectiveKind::AllToAll;
}

//===----------------------------------------------------------------------===//
// RankChunkSet
//===----------------------------------------------------------------------===//

unsigned RankChunkSet::countBelow(unsigned rank, unsigned chunk) const {
  const uint64_t *row = words.data() + rank * wordsPerRank;
  unsigned total = 0;
  for (unsigned w = 0; w < chunk / 64; ++w)
    total += std::popcount(row[w]);
  // The last word does not exist when `chunk` is the end of a full row.
  if (unsigned bits = chunk % 64)
    total += std::popcount(row[chunk / 64] & ((uint64_t(1) << bits) - 1));
  return total;
}

std::vector<unsigned> RankChunkSet::chunksOf(unsigned rank) const {
  std::vector<unsigned> result;
  const uint64_t *row = words.data() + rank * wordsPerRank;
  for (size_t w = 0; w < wordsPerRank; ++w)
    for (uint64_t bits = row[w]; bits; bits &= bits - 1)
      result.push_back(static_cast<unsigned>(w * 64) + std::countr_zero(bits));
  return result;
}

std::vector<unsigned> RankChunkSet::ranksOf(unsigned chunk) const {
  std::vector<unsigned> result;
  for (unsigned rank = 0; rank < ranks; ++rank)
    if (contains(rank, chunk))
      result.push_back(rank);
  return result;
}

//===----------------------------------------------------------------------===//
// Construction
//===----------------------------------------------------------------------===//

/// Checks the sizes that every collective must respect before memory is spent
/// on its sets.
static std::optional<Error> checkSizes(uint64_t numRanks, uint64_t chunks,
                                       uint64_t numChunks) {
  if (numRanks == 0)
    return Error{"ranks must be at least 1"};
  if (numRanks > Topology::maxRanks)
    return Error{"ranks must be at most " + std::to_string(Topology::maxRanks) +
                 ", got " + std::to_string(numRanks)};
  if (chunks == 0)
    return Error{"chunks must be at least 1"};
  // No overflow: ranks < 2^17, and distinct chunks < 2^17 * 2^32.
  if (numChunks > Collective::maxPairs ||
      numRanks * numChunks > Collective::maxPairs)
    return Error{std::to_string(numRanks) + " ranks with " +
                 std::to_string(numChunks) + " distinct chunks are " +
                 std::to_string(numRanks * numChunks) + " pairs, more than " +
                 std::to_string(Collective::maxPairs)};
  return std::nullopt;
}

static void insertRange(RankChunkSet &set, unsigned rank, unsigned begin,
                        unsigned end) {
  for (unsigned chunk = begin; chunk < end; ++chunk)
    set.insert(rank, chunk);
}

static RankChunkSet makePre(CollectiveKind kind, unsigned numRanks,
                            unsigned chunks, unsigned numChunks,
                            unsigned root) {
  RankChunkSet pre(numRanks, numChunks);
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    if (hasChunksPerSource(kind))
      insertRange(pre, rank, rank * chunks, (rank + 1) * chunks);
    else if (isCombining(kind) || rank == root)
      insertRange(pre, rank, 0, numChunks);
  }
  return pre;
}

static RankChunkSet makePost(CollectiveKind kind, unsigned numRanks,
                             unsigned chunks, unsigned numChunks,
                             unsigned root) {
  RankChunkSet post(numRanks, numChunks);
  unsigned segment = chunks / numRanks;
  for (unsigned rank = 0; rank < numRanks; ++rank) {
    if (kind == CollectiveKind::AllToAll) {
      for (unsigned source = 0; source < numRanks; ++source) {
        unsigned begin = source * chunks + rank * segment;
        insertRange(post, rank, begin, begin + segment);
      }
    } else if (sendsOneSegmentPerRank(kind)) {
      insertRange(post, rank, rank * segment, (rank + 1) * segment);
    } else if (rank == root || (kind != CollectiveKind::Gather &&
                                kind != CollectiveKind::Reduce)) {
      insertRange(post, rank, 0, numChunks);
    }
  }
  return post;
}

Result<Collective> Collective::make(CollectiveKind kind, unsigned numRanks,
                                    unsigned chunks, unsigned root) {
  if (kind == CollectiveKind::Custom)
    return Error{"a custom collective needs a pre- and a postcondition"};
  uint64_t numChunks =
      hasChunksPerSource(kind) ? uint64_t(numRanks) * chunks : chunks;
  if (std::optional<Error> error = checkSizes(numRanks, chunks, numChunks))
    return *error;
  std::string name(collectiveName(kind));
  if (sendsOneSegmentPerRank(kind) && chunks % numRanks != 0)
    return Error{name + " needs chunks to be a multiple of " +
                 std::to_string(numRanks) + " ranks, got " +
                 std::to_string(chunks)};
  if (!isRooted(kind))
    root = 0;
  if (root >= numRanks)
    return Error{"root " + std::to_string(root) + " is out of range for " +
                 std::to_string(numRanks) + " ranks"};
  unsigned total = static_cast<unsigned>(numChunks);
  unsigned segment = sendsOneSegmentPerRank(kind) ? chunks / numRanks : chunks;
  return Collective(kind, std::move(name), chunks, root, segment,
                    isCombining(kind),
                    makePre(kind, numRanks, chunks, total, root),
                    makePost(kind, numRanks, chunks, total, root));
}

Result<Collective>
Collective::makeAllGatherV(const std::vector<unsigned> &counts) {
  uint64_t total = 0;
  unsigned most = 0;
  for (unsigned count : counts) {
    total += count;
    most = std::max(most, count);
  }
  if (most == 0)
    return Error{"all_gatherv needs a chunk on at least one rank"};
  if (total * counts.size() > maxPairs)
    return Error{"all_gatherv has " + std::to_string(total) + " chunks on " +
                 std::to_string(counts.size()) + " ranks, the limit is " +
                 std::to_string(maxPairs) + " pairs"};
  RankChunkSet pre(counts.size(), total), post(counts.size(), total);
  unsigned next = 0;
  for (unsigned source = 0; source < counts.size(); ++source)
    for (unsigned i = 0; i < counts[source]; ++i, ++next) {
      pre.insert(source, next);
      for (unsigned rank = 0; rank < counts.size(); ++rank)
        post.insert(rank, next);
    }
  return makeCustom("all_gatherv", most, /*combining=*/false, std::move(pre),
                    std::move(post));
}

/// Checks that each rank has all chunks of a segment or none.
static std::optional<Error> checkSegments(const RankChunkSet &set,
                                          unsigned segmentChunks) {
  if (segmentChunks == 0 || set.numChunks() % segmentChunks != 0)
    return Error{std::to_string(set.numChunks()) +
                 " chunks are no multiple of the " +
                 std::to_string(segmentChunks) + " of a segment"};
  // A chunk whose neighbors in the segment are there, like theirs, is in a
  // whole one. Counting for each chunk would take the square of their number.
  auto isBesideGap = [&](unsigned rank, unsigned chunk) {
    unsigned place = chunk % segmentChunks;
    return (place > 0 && !set.contains(rank, chunk - 1)) ||
           (place + 1 < segmentChunks && !set.contains(rank, chunk + 1));
  };
  for (unsigned rank = 0; segmentChunks > 1 && rank < set.numRanks(); ++rank)
    for (unsigned chunk : set.chunksOf(rank))
      if (isBesideGap(rank, chunk))
        return Error{"rank " + std::to_string(rank) + " has chunk " +
                     std::to_string(chunk) + ", but not all " +
                     std::to_string(segmentChunks) + " of its segment"};
  return std::nullopt;
}

Result<Collective> Collective::makeCustom(std::string name, unsigned chunks,
                                          bool combining, RankChunkSet pre,
                                          RankChunkSet post,
                                          unsigned segmentChunks) {
  auto shape = [](const RankChunkSet &set) {
    return std::to_string(set.numRanks()) + " ranks and " +
           std::to_string(set.numChunks()) + " chunks";
  };
  if (pre.numRanks() != post.numRanks() || pre.numChunks() != post.numChunks())
    return Error{"the precondition has " + shape(pre) +
                 ", but the postcondition has " + shape(post)};
  if (std::optional<Error> error =
          checkSizes(pre.numRanks(), chunks, pre.numChunks()))
    return *error;
  // Rank by rank, because rows are contiguous and columns are not.
  RankChunkSet somewhere(1, pre.numChunks());
  for (unsigned rank = 0; rank < pre.numRanks(); ++rank)
    for (unsigned chunk : pre.chunksOf(rank))
      somewhere.insert(0, chunk);
  for (unsigned rank = 0; rank < post.numRanks(); ++rank)
    for (unsigned chunk : post.chunksOf(rank))
      if (!somewhere.contains(0, chunk))
        return Error{"rank " + std::to_string(rank) + " must get chunk " +
                     std::to_string(chunk) +
                     ", which no rank holds at the start"};
  for (const RankChunkSet *set : {&pre, &post})
    if (std::optional<Error> error = checkSegments(*set, segmentChunks))
      return *error;
  return Collective(CollectiveKind::Custom, std::move(name), chunks, /*root=*/0,
                    segmentChunks, combining, std::move(pre), std::move(post));
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

static std::optional<unsigned> slotIn(const RankChunkSet &set, unsigned rank,
                                      unsigned chunk) {
  if (!set.contains(rank, chunk))
    return std::nullopt;
  return set.countBelow(rank, chunk);
}

std::optional<unsigned> Collective::inputSlot(unsigned rank,
                                              unsigned chunk) const {
  return slotIn(before, rank, chunk);
}

std::optional<unsigned> Collective::outputSlot(unsigned rank,
                                               unsigned chunk) const {
  return slotIn(after, rank, chunk);
}

namespace {
/// The chunks that a rank has in both of its buffers.
struct SharedChunks {
  unsigned count = 0;
  /// The slot in the receive buffer less that in the send buffer, if there are
  /// such chunks and all agree.
  std::optional<int64_t> offset;
};
} // namespace

static SharedChunks sharedChunks(const Collective &collective, unsigned rank) {
  std::vector<unsigned> inputs = collective.pre().chunksOf(rank),
                        outputs = collective.post().chunksOf(rank);
  SharedChunks shared;
  bool agree = true;
  for (size_t in = 0, out = 0; in < inputs.size() && out < outputs.size();) {
    if (inputs[in] == outputs[out]) {
      int64_t offset = int64_t(out) - int64_t(in);
      agree &= shared.offset.value_or(offset) == offset;
      shared.offset = offset;
      ++shared.count;
    }
    if (inputs[in] <= outputs[out])
      ++in;
    else
      ++out;
  }
  if (!agree)
    shared.offset.reset();
  return shared;
}

bool Collective::hasInPlaceLayout() const {
  for (unsigned rank = 0; rank < numRanks(); ++rank) {
    unsigned least = std::min(inputSlots(rank), outputSlots(rank));
    SharedChunks shared = sharedChunks(*this, rank);
    if (shared.count != least ||
        (least > 0 &&
         (!shared.offset || *shared.offset % chunksPerSegment() != 0)))
      return false;
  }
  return true;
}

int64_t Collective::inPlaceOffset(unsigned rank) const {
  return findInPlaceOffset(*this, rank).value_or(0);
}

std::optional<int64_t> sccl::findInPlaceOffset(const Collective &collective,
                                               unsigned rank) {
  std::optional<int64_t> offset = sharedChunks(collective, rank).offset;
  if (offset && *offset % collective.chunksPerSegment() != 0)
    return std::nullopt;
  return offset;
}
