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
#include <set>

namespace sccl::advice {

/// A way to run a candidate.
struct Variant {
  size_t candidate;
  unsigned pieces;   ///< see Candidate
  unsigned distance; ///< likewise
  size_t way;
  auto operator<=>(const Variant &) const = default;
};

struct RatedVariant {
  double microseconds; ///< of a draft (Draft.h)
  Variant variant;
  auto operator<=>(const RatedVariant &) const = default;
};

/// Ranks variants of candidates by simulation of drafts. For a size it looks at
/// numbers of pieces in the order of an estimate, corrected by what the last
/// size has shown, as far as that is not far above the best time; at long ones
/// until there were about a million sends. The best of them are looked at
/// in other distances, too.
class Choice {
public:
  /// All must outlive this.
  Choice(const Fabric &fabric, const std::vector<Candidate> &candidates,
         const std::vector<LoweringWay> &ways, const Deadline &deadline)
      : fabric(fabric), candidates(candidates), ways(ways), deadline(deadline) {
  }

  /// The variants that were looked at for send buffers of `bytes` bytes, best
  /// first. No other is looked at once one comes close to `bound`, in
  /// microseconds. To be asked for ascending sizes: what took how long for the
  /// last ones says which are worth a look. Fails if a draft gets stuck.
  Result<std::vector<RatedVariant>> rank(double bytes, double bound);

private:
  /// A candidate in a number of pieces.
  struct Cut {
    double expected; ///< microseconds
    double estimate; ///< likewise, but only of the candidate
    size_t candidate;
    unsigned pieces;
  };

  std::vector<Cut> cutsFor(double bytes) const;
  double ratioOf(size_t candidate) const;
  void learnRatios();
  bool mayBeBest(const Cut &cut, const LoweringWay &way) const;
  std::optional<Error> rateCuts();
  std::optional<Error> rateWays(const Cut &cut, unsigned distance);
  std::optional<Error> rateDistances();
  std::optional<Error> rate(const Variant &variant);
  const Traffic *draftOf(const Variant &variant);
  uint64_t sendsOf(const Variant &variant) const;
  double best() const;
  bool isDone() const;
  double expected(const Variant &variant) const;

  const Fabric &fabric;
  const std::vector<Candidate> &candidates;
  const std::vector<LoweringWay> &ways;
  const Deadline &deadline;
  std::map<Variant, Traffic> drafts;
  uint64_t draftedSends = 0; ///< in `drafts`
  /// By variant, what it took for the last two sizes at which it was rated.
  struct History {
    double bytes[2] = {0, 0}, times[2] = {0, 0};
  };
  std::map<Variant, History> histories;
  /// By candidate, the least time over its estimate at the last size where any
  /// of its variants was rated.
  std::map<size_t, double> ratios;
  // For the present size.
  double bytes = 0, bound = 0;
  uint64_t ratedSends = 0;
  std::map<Variant, double> rated;
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_CHOICE_H
