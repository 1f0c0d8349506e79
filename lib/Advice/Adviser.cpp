//===- Adviser.cpp - What the programs of candidates take -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Adviser.h"

#include "sccl/Model/Threads.h"
#include "sccl/Simulate/Traffic.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace sccl;
using namespace sccl::advice;

void advice::inTwoThreads(size_t count,
                          llvm::function_ref<void(size_t first)> work) {
  auto other = [&] {
    work(1);
    return true;
  };
  Beside<bool> others(other, count > 1);
  work(0);
  if (count > 1)
    others.get();
}

/// Each of the threads goes by what it has seen at its last size.
std::optional<Error> Adviser::rank() {
  using Ranking = std::vector<RatedVariant>;
  std::vector<Result<Ranking>> results(advice.sizes.size(), Ranking());
  inTwoThreads(results.size(), [&](size_t first) {
    Choice own(fabric, advice.candidates, ways, deadline, drafts);
    for (size_t i = first; i < results.size(); i += 2)
      results[i] =
          own.rank(double(advice.sizes[i].bytes), advice.sizes[i].bound);
  });
  for (Result<Ranking> &result : results) {
    if (!result)
      return Error{result.error()};
    ranked.push_back(std::move(*result));
  }
  return std::nullopt;
}

/// True if the draft of `variant` takes less time than the best program does.
bool Adviser::mayImprove(const Variant &variant, size_t size) const {
  for (const RatedVariant &other : ranked[size])
    if (other.variant == variant)
      return isLess(other.microseconds, advice.sizes[size].microseconds);
  return false;
}

/// Of the variants that may improve a size the most, or nearly so, one that
/// does for the most sizes, and of these the shortest. Nothing if none may.
std::optional<Variant> Adviser::nextToTry() const {
  std::map<Variant, unsigned> counts;
  for (size_t size = 0; size < ranked.size(); ++size) {
    double most = std::numeric_limits<double>::infinity();
    for (const auto &[time, variant] : ranked[size]) {
      if (time > most || !isLess(time, advice.sizes[size].microseconds))
        break;
      if (tried.contains(variant))
        continue;
      most = std::min(most, time * asGood);
      ++counts[variant];
    }
  }
  auto promise = [&](const auto &entry) {
    const auto &[variant, count] = entry;
    const Candidate &candidate = advice.candidates[variant.candidate];
    size_t sends = candidate.implementation.schedule.numSends();
    return count / (double(sends) * variant.pieces);
  };
  auto it = std::ranges::max_element(counts, {}, promise);
  return it == counts.end() ? std::nullopt : std::optional(it->first);
}

void Adviser::take(const Variant &variant, size_t size, double microseconds) {
  auto [it, isNew] =
      inPieces.try_emplace({variant.candidate, variant.pieces, variant.order},
                           advice.candidates.size());
  if (isNew) {
    Candidate candidate = advice.candidates[variant.candidate];
    candidate.pieces = variant.pieces;
    candidate.order = variant.order;
    advice.candidates.push_back(std::move(candidate));
    wholes[it->second] = variant.candidate;
  }
  advice.sizes[size].candidate = it->second;
  advice.sizes[size].microseconds = microseconds;
}

/// What `traffic`, of `variant`, takes for send buffers of `bytes` bytes, or
/// something once time is over.
Result<double> Adviser::timeOf(const Traffic &traffic, const Variant &variant,
                               double bytes) const {
  SimulationOptions options;
  options.isOver = [this] { return limit->isOver(); };
  options.scale = bytes / (double(advice.candidates[variant.candidate]
                                      .implementation.collective.chunks()) *
                           variant.pieces);
  Result<SimulationResult> result =
      simulate(fabric.topology, traffic, fabric.timing, options);
  if (limit->isOver())
    return std::numeric_limits<double>::infinity();
  if (!result)
    return Error{result.error()};
  return result->microseconds;
}

/// What a program of `variant` takes for each of `numbers`, which are sizes.
Result<std::vector<double>> Adviser::timesOf(const std::vector<size_t> &numbers,
                                             const Variant &variant,
                                             TrafficForBytes trafficFor) const {
  std::vector<Result<double>> results(numbers.size(), 0.0);
  inTwoThreads(numbers.size(), [&](size_t first) {
    for (size_t i = first; i < numbers.size(); i += 2) {
      auto bytes = double(advice.sizes[numbers[i]].bytes);
      results[i] = timeOf(trafficFor(bytes), variant, bytes);
    }
  });
  std::vector<double> times;
  for (const Result<double> &result : results) {
    if (!result)
      return Error{result.error()};
    times.push_back(*result);
  }
  return times;
}

/// The same of one program.
Result<std::vector<double>> Adviser::timesOf(const std::vector<size_t> &numbers,
                                             const Variant &variant,
                                             const Traffic &traffic) const {
  return timesOf(numbers, variant,
                 [&](double) -> const Traffic & { return traffic; });
}

/// Improves the advice for each of `numbers` where the program is faster by
/// `gain`. Returns what it takes there.
Result<std::vector<double>> Adviser::improve(const std::vector<size_t> &numbers,
                                             const TrafficPointer &traffic,
                                             const Variant &variant,
                                             double gain) {
  Result<std::vector<double>> times = timesOf(numbers, variant, *traffic);
  if (!times)
    return times;
  for (auto [number, time] : llvm::zip(numbers, *times)) {
    SizeAdvice &size = advice.sizes[number];
    if (!(time * gain < size.microseconds))
      continue;
    take(variant, number, time);
    size.way = lowerings.wayOf(variant).name;
    taken.insert_or_assign(size.bytes, variant);
    programs.try_emplace(variant, traffic);
  }
  return times;
}

/// Improves it for each size from that number on that `variant` may improve.
std::optional<Error> Adviser::simulateProgram(const TrafficPointer &traffic,
                                              const Variant &variant,
                                              size_t firstSize) {
  std::vector<size_t> numbers;
  for (size_t i = firstSize; i < advice.sizes.size(); ++i)
    if (lowerings.isInNetwork(variant) || mayImprove(variant, i))
      numbers.push_back(i);
  Result<std::vector<double>> times = improve(numbers, traffic, variant);
  return times ? std::nullopt : std::optional(Error{times.error()});
}

/// What is lowered after the present variant, unless that one changes what is
/// best.
std::optional<Variant> Adviser::nextToLower() const {
  std::optional<Variant> next = deadline.isOver() ? std::nullopt : nextToTry();
  if (!next)
    return kind == Lowers::All ? nextToConfirm() : std::nullopt;
  Variant few = shortened(*next);
  auto known = asDrafted.find(few);
  if (few == *next || known == asDrafted.end())
    return few;
  return known->second ? std::nullopt : next;
}

/// The traffic of the program; nothing if there is none.
Lowerings::Lowered<Traffic> Adviser::lower(const Variant &variant) {
  return lowerings.traffic(variant, nextToLower(), *limit);
}

/// The same candidate in so few pieces that it is quickly lowered.
Variant Adviser::shortened(Variant variant) const {
  constexpr uint64_t fewSends = 8'000;
  while (variant.pieces > 2 && choice.sendsOf(variant) > fewSends)
    variant.pieces /= 2;
  return variant;
}

/// A size that `variant` may improve.
double Adviser::bytesFor(const Variant &variant) const {
  for (size_t size = 0; size < ranked.size(); ++size)
    if (mayImprove(variant, size))
      return double(advice.sizes[size].bytes);
  return double(advice.sizes.back().bytes);
}

/// True if the program of `variant` takes what its draft does for send buffers
/// of `bytes` bytes. Asked once.
Result<bool> Adviser::isAsDrafted(const Variant &variant, double bytes) {
  constexpr double same = 1e-3;
  auto [it, isNew] = asDrafted.try_emplace(variant, false);
  std::shared_ptr<const Traffic> draft =
      isNew ? choice.draftOf(variant) : nullptr;
  if (!draft)
    return it->second;
  Lowerings::Lowered<Traffic> program = lower(variant);
  if (!program)
    return Error{program.error()};
  if (!*program)
    return false;
  Result<double> drafted = timeOf(*draft, variant, bytes),
                 taken = timeOf(**program, variant, bytes);
  if (!drafted || !taken)
    return Error{drafted ? taken.error() : drafted.error()};
  it->second = std::abs(*taken - *drafted) <= same * *taken;
  return it->second;
}

/// Lowers `variant`, and simulates it; a long one only if fewer pieces take
/// something else than their draft does.
std::optional<Error> Adviser::tryVariant(const Variant &variant) {
  tried.insert(variant);
  if (Variant few = shortened(variant); few != variant) {
    Result<bool> isDraft = isAsDrafted(few, bytesFor(variant));
    if (!isDraft)
      return Error{isDraft.error()};
    std::shared_ptr<const Traffic> draft =
        *isDraft && !confirmed.contains(variant) ? choice.draftOf(variant)
                                                 : nullptr;
    if (draft)
      drafted.insert(variant);
    if (draft || deadline.isOver())
      return draft ? simulateProgram(draft, variant) : std::nullopt;
  }
  Lowerings::Lowered<Traffic> program = lower(variant);
  if (!program)
    return Error{program.error()};
  return *program ? simulateProgram(*program, variant) : std::nullopt;
}

void Adviser::takeDrafts() {
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].empty())
      continue;
    const auto &[time, variant] = ranked[i].front();
    take(variant, i, time);
    advice.sizes[i].way = ways[variant.way].name;
  }
}

/// Takes the least estimate, of few pieces and of many.
void Adviser::estimate(const Variant &variant, size_t size) {
  const Candidate &candidate = advice.candidates[variant.candidate];
  Variant cut = variant;
  cut.pieces = candidate.isPipelined()
                   ? std::max(variant.pieces, candidate.pieces)
                   : candidate.pieces;
  double time = candidate.estimate(
      fabric.unitTime, double(advice.sizes[size].bytes), cut.pieces);
  if (time < advice.sizes[size].microseconds)
    take(cut, size, time);
}

/// A program for size number `size`, for which none was simulated in time: what
/// was ranked first in few pieces, or the candidate of the least estimate.
Variant Adviser::quickVariant(size_t size) const {
  if (size < ranked.size() && !ranked[size].empty())
    return shortened(ranked[size].front().variant);
  Variant best{};
  double least = std::numeric_limits<double>::infinity();
  for (size_t number = 0; number < numCandidates; ++number) {
    const Candidate &candidate = advice.candidates[number];
    for (unsigned pieces : {candidate.pieces, 16u}) {
      double time = candidate.estimate(
          fabric.unitTime, double(advice.sizes[size].bytes), pieces);
      if (time < least &&
          (pieces == candidate.pieces || candidate.isPipelined()))
        best = {number, pieces, candidate.order, 0}, least = time;
    }
  }
  return shortened(best);
}

/// Once time is over: what is returned has to be of programs, so those that are
/// taken as drafts are lowered, and sizes without one take the best of all
/// programs, to which short ones for them are added.
std::optional<Error> Adviser::finish() {
  if (kind != Lowers::All)
    return std::nullopt;
  limit = &rest;
  while (std::optional<Variant> variant = nextToConfirm()) {
    if (Result<bool> isLonger = confirm(*variant); !isLonger)
      return Error{isLonger.error()};
    if (rest.isOver())
      break;
  }
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    if (advice.sizes[i].isSimulated())
      continue;
    Variant variant = quickVariant(i);
    if (programs.contains(variant))
      continue;
    Lowerings::Lowered<Traffic> program = lower(variant);
    if (!program)
      return Error{program.error()};
    if (*program)
      programs.emplace(variant, *program);
  }
  std::vector<size_t> open;
  for (size_t i = 0; i < advice.sizes.size(); ++i)
    if (!advice.sizes[i].isSimulated())
      open.push_back(i);
  for (const auto &[variant, traffic] : programs)
    if (Result<std::vector<double>> times = improve(open, traffic, variant);
        !times)
      return Error{times.error()};
  limit = &deadline;
  return std::nullopt;
}

/// Gives sizes that nothing was simulated for what the best draft takes, or the
/// least estimate.
void Adviser::estimateRest() {
  for (size_t i = 0; i < advice.sizes.size(); ++i) {
    if (advice.sizes[i].isSimulated())
      continue;
    if (i < ranked.size() && !ranked[i].empty()) {
      take(ranked[i].front().variant, i, ranked[i].front().microseconds);
      continue;
    }
    for (size_t number = 0; number < numCandidates; ++number)
      for (unsigned pieces : {1u, 16u, 256u})
        estimate({number, pieces, advice.candidates[number].order, 0}, i);
  }
}

/// What promises most comes first, in case that time does not suffice.
std::optional<Error> Adviser::lowerAll() {
  while (!deadline.isOver()) {
    std::optional<Variant> next = nextToTry();
    if (!next)
      break;
    if (std::optional<Error> error = tryVariant(*next))
      return error;
  }
  return std::nullopt;
}

/// The variant that is taken for some size and only known as a draft.
std::optional<Variant> Adviser::nextToConfirm() const {
  for (const SizeAdvice &size : advice.sizes)
    if (auto it = taken.find(size.bytes);
        it != taken.end() && drafted.contains(it->second))
      return it->second;
  return std::nullopt;
}

/// Takes what the program of `variant` takes where its draft was taken. True if
/// it is longer for some size.
Result<bool> Adviser::confirm(const Variant &variant) {
  drafted.erase(variant);
  confirmed.insert(variant);
  Lowerings::Lowered<Traffic> program = lower(variant);
  if (!program)
    return Error{program.error()};
  std::vector<size_t> numbers;
  for (size_t i = 0; !limit->isOver() && i < advice.sizes.size(); ++i)
    if (auto it = taken.find(advice.sizes[i].bytes);
        it != taken.end() && it->second == variant)
      numbers.push_back(i);
  Result<std::vector<double>> times =
      std::vector(numbers.size(), std::numeric_limits<double>::infinity());
  if (*program)
    times = timesOf(numbers, variant, **program);
  if (!times)
    return Error{times.error()};
  bool isLonger = false;
  for (auto [number, time] : llvm::zip(numbers, *times)) {
    SizeAdvice &size = advice.sizes[number];
    if (*program && std::isinf(time)) // time was over
      continue;
    if (!*program) // not in one order
      size.way.clear();
    isLonger |= isLess(size.microseconds, time);
    size.microseconds = time;
  }
  if (*program)
    programs.insert_or_assign(variant, *program);
  return isLonger;
}

/// Lowers all that was simulated as a draft and is taken for some size. If a
/// program takes longer than its draft, what was worse than that may be better.
std::optional<Error> Adviser::confirmDrafts() {
  while (kind == Lowers::All && !deadline.isOver()) {
    std::optional<Variant> variant = nextToConfirm();
    if (!variant)
      break;
    Result<bool> isLonger = confirm(*variant);
    if (!isLonger)
      return Error{isLonger.error()};
    if (!*isLonger)
      continue;
    asDrafted.insert_or_assign(shortened(*variant), false);
    tried = confirmed;
    if (std::optional<Error> error = lowerAll())
      return error;
  }
  return std::nullopt;
}

/// Removes the sizes for which nothing is simulated: an estimate may be of a
/// program that is not allowed.
void Adviser::dropEstimated() {
  for (size_t i = advice.sizes.size(); i-- > 0;)
    if (!advice.sizes[i].isSimulated()) {
      advice.sizes.erase(advice.sizes.begin() + i);
      ranked.erase(ranked.begin() + i);
    }
}

std::optional<Error> Adviser::run(Lowers lowers) {
  kind = lowers;
  if (std::optional<Error> error = rank())
    return error;
  if (lowers == Lowers::Nothing)
    takeDrafts();
  else if (std::optional<Error> error = lowerAll())
    return error;
  if (std::optional<Error> error = confirmDrafts())
    return error;
  if (deadline.isOver()) {
    advice.stopped = deadline.reason();
    if (std::optional<Error> error = finish())
      return error;
  }
  if (kind == Lowers::All)
    dropEstimated();
  else
    estimateRest();
  if (advice.sizes.empty() && advice.stopped.empty())
    return Error{"in no program do all ranks reduce in the same order"};
  return std::nullopt;
}
