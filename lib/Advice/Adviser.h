//===- Adviser.h - What the programs of candidates take ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ADVICE_ADVISER_H
#define SCCL_LIB_ADVICE_ADVISER_H

#include "Choice.h"

#include "sccl/Advice/Advice.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>
#include <set>
#include <tuple>

namespace sccl::coll {
class ProgramOp;
} // namespace sccl::coll

namespace sccl::advice {

/// What an Adviser lowers: nothing, so that drafts are what counts; short
/// programs, and long ones whose shorter forms are not as drafted; or all that
/// are taken.
enum class Lowers { Nothing, Short, All };

/// As `way`, but switches copy and reduce.
LoweringWay inNetworkWay(const LoweringWay &way);

/// Lowers the variants that may be the best, and simulates their programs. Of
/// many pieces the draft is simulated, if the program of fewer pieces takes
/// what its draft says.
class Adviser {
public:
  Adviser(mlir::MLIRContext &context, const Fabric &fabric,
          const std::vector<LoweringWay> &ways, const SearchLimits &limits,
          const Deadline &deadline, Advice &advice)
      : context(context), fabric(fabric), ways(ways),
        inNetwork(inNetworkWay(ways.front())), deadline(deadline),
        rest({0, 0, limits.interrupt}), advice(advice),
        numCandidates(advice.candidates.size()),
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
  static bool isLess(double a, double b) { return a * asGood < b; }
  std::optional<Error> rank();
  std::optional<Error> lowerAll();
  std::optional<Variant> nextToConfirm() const;
  Result<bool> confirm(const Variant &variant);
  std::optional<Error> confirmDrafts();
  std::optional<Variant> nextToTry() const;
  bool mayImprove(const Variant &variant, size_t size) const;
  Result<double> timeOf(const Traffic &traffic, const Variant &variant,
                        double bytes) const;
  using TakeProgram = llvm::function_ref<mlir::LogicalResult(
      coll::ProgramOp, const Collective &)>;
  Result<bool> lower(const Variant &variant, const LoweringOptions &options,
                     TakeProgram takeProgram);
  Result<std::optional<Traffic>> lower(const Variant &variant);
  Variant shortened(Variant variant) const;
  double bytesFor(const Variant &variant) const;
  Result<bool> isAsDrafted(const Variant &variant, double bytes);
  std::optional<Error> tryVariant(const Variant &variant);
  Result<double> simulateAt(size_t number, const Traffic &traffic,
                            const Variant &variant, double gain = 1);
  std::optional<Error> simulateProgram(const Traffic &traffic,
                                       const Variant &variant,
                                       size_t firstSize = 0);
  const LoweringWay &wayOf(const Variant &variant) const {
    return isInNetwork(variant) ? inNetwork : ways[variant.way];
  }
  bool isInNetwork(const Variant &variant) const {
    return variant.way == ways.size();
  }
  bool mayTakeLess(const Candidate &candidate) const;
  Result<std::vector<double>> tryInNetwork(const Variant &variant);
  bool isRepeated(size_t number) const;
  Result<std::vector<double>> tryMessages(const Variant &variant);
  using TryVariant =
      llvm::function_ref<Result<std::vector<double>>(const Variant &)>;
  std::optional<Error> tryInPieces(Variant variant, TryVariant tryOne);
  std::vector<std::pair<size_t, size_t>> takeovers() const;
  std::vector<Variant> bestOf(std::pair<size_t, size_t> sizes) const;
  std::optional<Error> addBetween(std::pair<size_t, size_t> sizes);
  std::vector<size_t> inOrder() const;
  std::optional<Error> tryNeighbours();
  void take(const Variant &variant, size_t size, double microseconds);
  void takeDrafts();
  void estimate(const Variant &variant, size_t size);
  Variant quickVariant(size_t size) const;
  std::optional<Error> finish();
  void estimateRest();
  void dropEstimated();

  mlir::MLIRContext &context;
  const Fabric &fabric;
  const std::vector<LoweringWay> &ways;
  const LoweringWay inNetwork; ///< number ways.size(), which has no drafts
  const Deadline &deadline;
  const Deadline rest; ///< of what has to be done after the deadline
  const Deadline *limit = &deadline; ///< of what is lowered and simulated
  Advice &advice;
  const size_t numCandidates; ///< before some are added in pieces
  DraftStore drafts;
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
  std::map<Variant, Traffic> programs; ///< that were the best for some size
};

} // namespace sccl::advice

#endif // SCCL_LIB_ADVICE_ADVISER_H
