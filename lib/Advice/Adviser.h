//===- Adviser.h - What the programs of candidates take ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_ADVISER_H
#define SCCL_LIB_ADVICE_ADVISER_H

#include "Choice.h"
#include "Lowerings.h"

#include "sccl/Advice/Advice.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <set>
#include <tuple>

namespace sccl::advice {

/// What an Adviser lowers: nothing, so that drafts are what counts; short
/// programs, and long ones whose shorter forms are not as drafted; or all that
/// are taken.
enum class Lowers { Nothing, Short, All };

/// Has two threads execute `work(first)`, each for every second of `count`
/// things. The number of threads is part of some answers, so it does not depend
/// on the machine.
void inTwoThreads(size_t count, llvm::function_ref<void(size_t first)> work);

/// Lowers the variants that may be the best, and simulates their programs. Of
/// many pieces the draft is simulated, if the program of fewer pieces takes
/// what its draft says.
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric,
          const std::vector<LoweringWay> &ways, const SearchLimits &limits,
          const Deadline &deadline, Advice &advice)
      : fabric(fabric), ways(ways), deadline(deadline),
        rest({0, 0, limits.interrupt}), advice(advice),
        numCandidates(advice.candidates.size()),
        lowerings(context, fabric, advice.candidates, ways),
        choice(fabric, advice.candidates, ways, deadline, drafts) {}

  std::optional<Error> run(Lowers lowers = Lowers::Short);

  /// Adds sizes where one schedule takes over from another, after run().
  std::optional<Error> findTakeovers();

  /// Lowers `found` so that switches copy and reduce, and takes what is faster
  /// so for some size. After run(); findTakeovers() adds sizes for it, too.
  std::optional<Error> tryInNetwork(std::vector<Candidate> found);

  /// Takes for all sizes what is best by messages, after run() and
  /// findTakeovers().
  std::optional<Error> tryMessages();

private:
  /// Times that are nearly the same count as such: of two programs the shorter
  /// is better then, for what has to be lowered and for who runs it.
  static constexpr double asGood = 1.01;
  /// So many times the best, in few pieces, is far from being it in more.
  static constexpr double far = 2;
  static bool isLess(double a, double b) { return a * asGood < b; }
  std::optional<Error> rank();
  std::optional<Error> lowerAll();
  std::optional<Variant> nextToConfirm() const;
  Result<bool> confirm(const Variant &variant);
  std::optional<Error> confirmDrafts();
  std::optional<Variant> nextToTry() const;
  bool mayImprove(const Variant &variant, size_t size) const;
  using TrafficPointer = std::shared_ptr<const Traffic>;
  Result<double> timeOf(const Traffic &traffic, const Variant &variant,
                        double bytes) const;
  std::optional<Variant> nextToLower() const;
  Lowerings::Lowered<Traffic> lower(const Variant &variant);
  Variant shortened(Variant variant) const;
  double bytesFor(const Variant &variant) const;
  Result<bool> isAsDrafted(const Variant &variant, double bytes);
  std::optional<Error> tryVariant(const Variant &variant);
  using TrafficForBytes = llvm::function_ref<const Traffic &(double)>;
  Result<std::vector<double>> timesOf(const std::vector<size_t> &numbers,
                                      const Variant &variant,
                                      TrafficForBytes trafficFor) const;
  Result<std::vector<double>> timesOf(const std::vector<size_t> &numbers,
                                      const Variant &variant,
                                      const Traffic &traffic) const;
  Result<std::vector<double>> improve(const std::vector<size_t> &numbers,
                                      const TrafficPointer &traffic,
                                      const Variant &variant, double gain = 1);
  std::optional<Error> simulateProgram(const TrafficPointer &traffic,
                                       const Variant &variant,
                                       size_t firstSize = 0);
  bool mayTakeLess(const Candidate &candidate) const;
  Result<std::vector<double>> tryInNetwork(const Variant &variant,
                                           const std::optional<Variant> &next);
  bool isRepeated(size_t number) const;
  Result<std::vector<double>> tryMessages(const Variant &variant,
                                          const std::optional<Variant> &next);
  using TryVariant = llvm::function_ref<Result<std::vector<double>>(
      const Variant &, const std::optional<Variant> &)>;
  std::optional<Error> tryInPieces(Variant variant, TryVariant tryOne);
  std::vector<std::pair<size_t, size_t>> takeovers() const;
  std::vector<Variant> bestOf(std::pair<size_t, size_t> sizes) const;
  std::optional<Error>
  addBetween(const std::vector<std::pair<size_t, size_t>> &pairs);
  std::vector<size_t> allSizes() const;
  std::vector<size_t> inOrder() const;
  std::optional<Error> tryNeighbours();
  void take(const Variant &variant, size_t size, double microseconds);
  void takeDrafts();
  void estimate(const Variant &variant, size_t size);
  Variant quickVariant(size_t size) const;
  std::optional<Error> finish();
  void estimateRest();
  void dropEstimated();

  const Fabric &fabric;
  const std::vector<LoweringWay> &ways;
  const Deadline &deadline;
  const Deadline rest; ///< of what has to be done after the deadline
  const Deadline *limit = &deadline; ///< of what is lowered and simulated
  Advice &advice;
  const size_t numCandidates; ///< before some are added in pieces
  Lowerings lowerings;
  ProgramStore<Traffic> drafts;
  Choice choice; ///< after all sizes have been ranked
  std::vector<std::vector<RatedVariant>> ranked; ///< by size
  std::set<Variant> tried;
  Lowers kind = Lowers::Short;
  std::set<Variant> drafted;         ///< of `tried`, simulated as drafts only
  std::set<Variant> confirmed;       ///< lowered after they were taken
  std::map<uint64_t, Variant> taken; ///< by bytes, what is the best
  /// By variants of few pieces, whether drafts are as good as programs.
  std::map<Variant, bool> asDrafted;
  /// Candidates in pieces, by number, pieces and order.
  std::map<std::tuple<size_t, unsigned, PieceOrder>, size_t> inPieces;
  std::map<size_t, size_t> wholes; ///< by its number, what is cut into pieces
  /// That were the best for some size.
  std::map<Variant, TrafficPointer> programs;
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_ADVISER_H
