//===- Advice.h - Which schedule for which size -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ADVICE_ADVICE_H
#define SCCL_ADVICE_ADVICE_H

#include "sccl/Advice/Fabric.h"
#include "sccl/Advice/TimeBound.h"
#include "sccl/Model/Pieces.h"
#include "sccl/Options/LoweringOptions.h"
#include "sccl/Search/Frontier.h"

namespace mlir {
class MLIRContext;
} // namespace mlir

namespace sccl {

/// A way to lower a schedule.
struct LoweringWay {
  std::string name; ///< see Pipelines/Ways.h
  LoweringOptions options;
};

/// Those that are worth a try, to reduce all of `set`: push, eager, scratch and
/// ll. All other options are those of `base`.
std::vector<LoweringWay> usualWays(LoweringOptions base,
                                   const ReductionSet &set = {});

/// A schedule that may be the best for some size.
struct Candidate {
  Implementation implementation;
  /// Of each chunk, that follow each other; 1 if steps do.
  unsigned pieces = 1;
  PieceOrder order = {};
  /// Rounds of the fullest limit of all steps together over C, not rounded up.
  double load = 0;
  /// The same for each step by itself, summed up.
  double serialLoad = 0;
  std::optional<LowerBound> bound = std::nullopt;
  /// Microseconds until the last rank has its last chunk, if bytes take no time
  /// and steps overlap.
  double latency = 0;
  double flagTime = 0; ///< microseconds of a flag beside its latency

  bool isPipelined() const { return implementation.schedule.isPipelined(); }
  bool hasOrder() const {
    return pieces > 1 && implementation.schedule.steps.size() > 1;
  }
  /// About how many microseconds `inPieces` pieces take for send buffers of
  /// `bytes` bytes: the first goes step by step, all others follow as fast as
  /// the fullest limit lets them, and their distance. A byte at bandwidth 1
  /// takes `unitTime`.
  double estimate(double unitTime, double bytes, unsigned inPieces) const;
};

/// The way in which switches copy and reduce.
inline constexpr const char *inNetworkName = "in-network";

/// What is best for one size.
struct SizeAdvice {
  uint64_t bytes;      ///< of a send buffer
  size_t candidate;    ///< its number
  std::string way;     ///< how it is lowered; empty if time did not suffice
  double microseconds; ///< as simulated; else estimated
  /// Microseconds. No program takes less, of those whose transfers go from GPU
  /// to GPU and whose switches copy and reduce as the topology says.
  double bound;

  bool isSimulated() const { return !way.empty(); }
  /// Switches copy or reduce.
  bool isInNetwork() const { return way == inNetworkName; }
  /// The part of the time that may be too much: 0 if it meets the bound.
  double gap() const {
    return bound > 0 ? std::max(microseconds / bound - 1, 0.0) : 0;
  }
};

struct Advice {
  Frontier frontier;
  std::vector<Candidate> candidates;
  TimeBound bound;
  std::vector<SizeAdvice> sizes; ///< ascending
  /// What is best where no switch copies or reduces, for some of these sizes;
  /// empty if none does where that is best, either.
  std::vector<SizeAdvice> withoutSwitches;
  /// Where programs are those for messages: what would be best for the same
  /// sizes if all ranks could write to each other; else empty.
  std::vector<SizeAdvice> byWrites;
  /// Why not all candidates were tried, if they were not: time or an interrupt.
  std::string stopped;
};

/// The numbers of candidates that are not the best for any size, and that no
/// other one beats in all of these: latency, load, and the messages that the
/// busiest rank sends and gets. Whoever can measure may find that they are
/// faster than the simulation says: it knows no time of a rank for a message,
/// and no launches that follow each other. Ascending.
std::vector<size_t> spareCandidates(const Advice &advice);

/// Which schedule is the fastest for each of `sizes` (bytes of a send buffer,
/// ascending), by simulation of the programs that its lowering gives. Searches
/// the frontier and pipelined schedules of as many steps first; those, and the
/// frontier's schedules with steps that overlap, are candidates with up to 256
/// pieces. Where switches copy or reduce, what is best without them is found
/// first, and then beaten by schedules that use them, if they do. All that may
/// be the best for a size by an estimate is simulated as a draft, and lowered
/// if that is faster than the best program. What is returned is simulated as
/// lowered, and checked. Between two sizes with different best schedules more
/// sizes are looked at, among what is best or nearly so for these two:
/// geometric means, to a sixteenth of a power of two, until one schedule ends
/// within 25 % of where the next one begins. `options.timeoutSeconds` and the
/// interrupt hold for all of it, simulations included: when time is over, the
/// best so far is returned, without candidates if there is none, and says that
/// it was stopped. With `lowersAll` no time that is returned is that of a
/// draft: long programs, of which the draft is believed if shorter ones are as
/// drafted, are lowered too. Fails where searchFrontier does, if there is no
/// schedule to be found, or if one cannot be lowered.
Result<Advice> advise(mlir::MLIRContext &context, const Fabric &fabric,
                      const CollectiveFamily &family,
                      const std::vector<uint64_t> &sizes,
                      const FrontierOptions &options,
                      const std::vector<LoweringWay> &ways,
                      bool lowersAll = false);

/// The same in less time, to compare with: nothing is lowered but what switches
/// copy and reduce, and all other times are those of drafts, which are never
/// longer than those of programs. No sizes but `sizes`.
Result<Advice> adviseByDrafts(mlir::MLIRContext &context, const Fabric &fabric,
                              const CollectiveFamily &family,
                              const std::vector<uint64_t> &sizes,
                              const FrontierOptions &options,
                              const std::vector<LoweringWay> &ways);

/// What the schedules of `advice` take for its sizes if GPUs exchange messages,
/// as `fabric` says; candidates are those of the result alone. Fails where
/// `advise` does, or if `limits` are used up before.
Result<std::vector<SizeAdvice>>
timesByMessages(mlir::MLIRContext &context, const Fabric &fabric, Advice advice,
                const LoweringWay &way, const SearchLimits &limits);

/// What one implementation takes for each of `sizes`, in the number of pieces
/// and the way of lowering that are fastest: for what others would run, to
/// compare with; in any order of summation if ranks cannot have the same.
/// Bounds are 0. Nothing is simulated any more once `limits` are used up. Fails
/// where `advise` does.
Result<std::vector<SizeAdvice>> timesOf(mlir::MLIRContext &context,
                                        const Fabric &fabric,
                                        const Implementation &implementation,
                                        const std::vector<uint64_t> &sizes,
                                        std::vector<LoweringWay> ways,
                                        const SearchLimits &limits);

} // namespace sccl

#endif // SCCL_ADVICE_ADVICE_H
