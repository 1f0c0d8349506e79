//===- Choice.h - Which variants are worth lowering -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_CHOICE_H
#define SCCL_LIB_ADVICE_CHOICE_H

#include "sccl/Advice/Advice.h"
#include "sccl/Optimize/Deadline.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace sccl::advice {

/// A way to run a candidate.
struct Variant {
  size_t candidate;
  unsigned pieces;  ///< see Candidate
  PieceOrder order; ///< likewise
  size_t way;
  auto operator<=>(const Variant &) const = default;
};

struct RatedVariant {
  double microseconds; ///< of a draft (Draft.h)
  Variant variant;
  auto operator<=>(const RatedVariant &) const = default;
};

/// What was made of variants last, for several threads: all until they have
/// more than `maxSends` sends.
template <typename Program> class ProgramStore {
public:
  using Entry = std::shared_ptr<const Program>;
  explicit ProgramStore(uint64_t maxSends = 2'000'000) : maxSends(maxSends) {}

  /// What is stored for `variant`, which may be null.
  std::optional<Entry> find(const Variant &variant) {
    std::lock_guard lock(mutex);
    auto it = entries.find(variant);
    return it == entries.end() ? std::nullopt : std::optional(it->second);
  }

  /// Stores `entry` for `variant`, of so many sends.
  void add(const Variant &variant, Entry entry, uint64_t sends) {
    std::lock_guard lock(mutex);
    if (storedSends > maxSends) {
      entries.clear();
      storedSends = 0;
    }
    if (entries.emplace(variant, std::move(entry)).second)
      storedSends += sends;
  }

private:
  const uint64_t maxSends;
  std::mutex mutex;
  std::map<Variant, Entry> entries;
  uint64_t storedSends = 0;
};

/// Ranks variants of candidates by simulation of drafts. Pieces of candidates
/// of several steps follow each other in rounds first: twice as many, as long
/// as that helps. Then it looks at numbers of pieces that do so step by step,
/// in the order of an estimate, corrected by what the last size has shown, as
/// far as that is not far above the best time; at long ones until there were
/// about a million sends. The best of these are looked at in other distances,
/// too.
class Choice {
public:
  /// All must outlive this.
  Choice(const Fabric &fabric, const std::vector<Candidate> &candidates,
         const std::vector<LoweringWay> &ways, const Deadline &deadline,
         ProgramStore<Traffic> &drafts)
      : fabric(fabric), candidates(candidates), ways(ways), deadline(deadline),
        drafts(drafts) {}

  /// The variants that were looked at for send buffers of `bytes` bytes, best
  /// first. No other is looked at once one comes close to `bound`, in
  /// microseconds. To be asked for ascending sizes: what took how long for the
  /// last ones says which are worth a look. Fails if a draft gets stuck.
  Result<std::vector<RatedVariant>> rank(double bytes, double bound);

  /// The same of `variants` alone, for any size. No call of rank() may follow.
  Result<std::vector<RatedVariant>> rankOf(const std::vector<Variant> &variants,
                                           double bytes, double bound);

  /// The draft of `variant`. Null if there would be too many chunks.
  std::shared_ptr<const Traffic> draftOf(const Variant &variant);
  uint64_t sendsOf(const Variant &variant) const;

private:
  /// A candidate in a number of pieces.
  struct Cut {
    double estimate; ///< microseconds, without flags and copies
    size_t candidate;
    unsigned pieces;
  };

  std::vector<Cut> cutsFor();
  void addCuts(size_t number, std::vector<Cut> &cuts);
  bool takesRounds(size_t candidate) const;
  double estimate(size_t candidate, unsigned pieces, bool inRounds);
  PieceOrder stepsFor(size_t candidate, unsigned pieces) const;
  PieceOrder roundsFor(size_t candidate, unsigned pieces) const;
  double bestOf(size_t candidate, unsigned pieces, PieceOrder order) const;
  bool isWorthMemory(const Variant &variant) const;
  bool mayBeBest(const Cut &cut, size_t number) const;
  std::optional<Error> rateAll();
  std::optional<Error> rateLast();
  size_t bestWay() const {
    return lastRanked.empty() ? 0 : lastRanked.front().variant.way;
  }
  std::optional<Error> rateRounds();
  std::optional<Error> climb(size_t candidate);
  std::optional<Error> rateCuts();
  std::optional<Error> rateWays(const Cut &cut, PieceOrder order);
  std::optional<Error> rateDistances();
  std::optional<Error> rate(const Variant &variant);
  std::vector<RatedVariant> ranked() const;
  double best() const;
  bool isDone() const;

  const Fabric &fabric;
  const std::vector<Candidate> &candidates;
  const std::vector<LoweringWay> &ways;
  const Deadline &deadline;
  ProgramStore<Traffic> &drafts;
  std::map<size_t, unsigned> roundsOfOne; ///< by candidate, of one piece
  // For the present size.
  double bytes = 0, bound = 0;
  uint64_t ratedSends = 0;
  std::map<Variant, double> rated;
  std::vector<RatedVariant> lastRanked; ///< at the last size
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_CHOICE_H
