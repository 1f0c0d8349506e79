//===- Spares.cpp - What measuring may find to be better ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Advice/Advice.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <set>
#include <utility>

using namespace sccl;

namespace {
/// What the time of a candidate is made of, whatever the machine makes of it.
struct Merits {
  double latency;
  double load;
  size_t messages; ///< of the busiest rank, in a piece
};
} // namespace

/// Chunks of a step that take the same link go together.
static size_t messagesOf(const Implementation &implementation) {
  std::vector<size_t> counts(implementation.collective.numRanks());
  for (const Step &step : implementation.schedule.steps) {
    std::set<std::pair<unsigned, unsigned>> links;
    for (const Send &send : step.sends)
      if (links.insert({send.src, send.dst}).second) {
        ++counts[send.src];
        ++counts[send.dst];
      }
  }
  return counts.empty() ? 0 : std::ranges::max(counts);
}

static Merits meritsOf(const Candidate &candidate) {
  return {candidate.latency,
          candidate.isPipelined() ? candidate.load : candidate.serialLoad,
          messagesOf(candidate.implementation)};
}

/// True if `one` takes no more of anything than `other`, or hardly more.
static bool isAsGood(const Merits &one, const Merits &other) {
  constexpr double asGood = 1.01;
  return one.latency <= other.latency * asGood &&
         one.load <= other.load * asGood && one.messages <= other.messages;
}

std::vector<size_t> sccl::spareCandidates(const Advice &advice) {
  std::vector<size_t> numbers; // the best come first, so that they stay
  for (const SizeAdvice &size : advice.sizes)
    if (!llvm::is_contained(numbers, size.candidate))
      numbers.push_back(size.candidate);
  const size_t numBest = numbers.size();
  for (size_t number = 0; number < advice.candidates.size(); ++number)
    if (!llvm::is_contained(numbers, number))
      numbers.push_back(number);
  std::vector<Merits> merits;
  for (size_t number : numbers)
    merits.push_back(meritsOf(advice.candidates[number]));
  std::vector<size_t> spares;
  for (size_t i = numBest; i < numbers.size(); ++i) {
    bool isBeaten = false;
    for (size_t j = 0; j < numbers.size() && !isBeaten; ++j)
      isBeaten = j != i && isAsGood(merits[j], merits[i]) &&
                 (j < i || !isAsGood(merits[i], merits[j]));
    if (!isBeaten)
      spares.push_back(numbers[i]);
  }
  llvm::sort(spares);
  return spares;
}
