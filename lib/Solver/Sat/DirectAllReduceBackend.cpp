//===- DirectAllReduceBackend.cpp - Reductions with CaDiCaL ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An all_reduce need not be a reduce_scatter followed by an all_gather: done
// directly, it takes fewer steps on many machines. The search tries symmetric
// schedules first, which are many times fewer, and all schedules in turn with
// them, so that an instance without schedules is refuted in the end. As in
// SatBackend.cpp, turns are measured in conflicts, not time.
//
// Where the order of additions is a tree, there is one formula
// (OrderedSumEncoding.h), and only symmetries of the tree count. Else,
// schedules with one running sum for each rank and chunk are looked for first.
// Those with several partial sums (PartialSumEncoding.h) are tried when there
// is none of these, or they have taken long. Only where both are refuted, or
// the second cannot be better, there is no schedule at all.
//
//===----------------------------------------------------------------------===//

#include "Optimize/Sat.h"

#include "OrderedSumEncoding.h"
#include "Solver/Backends.h"
#include "Solver/CanonicalInstance.h"
#include "Solver/Constants.h"

#include <algorithm>
#include <numeric>
#include <optional>

using namespace sccl;

namespace {
/// One search, set up when it first gets a turn.
struct Search {
  std::vector<Permutation> group;
  /// With several partial sums; else with one running sum.
  std::optional<PartialSumEncoding::Form> form = std::nullopt;
  bool isOver = false;
  std::unique_ptr<SatSolver> solver = nullptr;
  std::unique_ptr<ContributionEncoding> encoding = nullptr;

  /// Leaves no schedule of its class out.
  bool isComplete() const {
    return group.size() == 1 && !(form && form->isWritable);
  }
};

class DirectRun {
public:
  DirectRun(const Instance &instance, const SolverOptions &options,
            const Deadline &deadline)
      : instance(instance), options(options), deadline(deadline),
        hasSums(instance.hasOrder() ||
                PartialSumEncoding::mayMatter(instance)) {}

  Outcome answer();

private:
  using Groups = std::vector<std::vector<Permutation>>;

  std::optional<Unsatisfiable> refuteByCounting() const;
  Groups listGroups() const;
  void planSearches();
  void planSumSearches(const Groups &groups, uint64_t budget);
  uint64_t variableBudget() const;
  uint64_t memoryLimitMiB() const {
    return SatSolver::memoryLimitMiB(options.memoryMiB);
  }
  void prepare(Search &search);
  bool outOfMemory() const;
  bool isDue(const Search &search, uint64_t conflicts) const;
  std::optional<Outcome> advance(Search &search, uint64_t conflicts);
  Outcome found(const Search &search) const;
  std::optional<Outcome> noteRefuted(Search &search);
  /// `unknown` with what is known of schedules with one running sum.
  Unknown narrowed(Unknown unknown) const;
  Unknown tooLarge() const;

  const Instance &instance;
  const SolverOptions &options;
  const Deadline &deadline;
  const std::function<bool()> stop = [this] { return deadline.expired(); };
  std::vector<Search> searches;
  const bool hasSums; ///< several partial sums may be of use
  bool memoryExceeded = false;
  bool isRunningSumRefuted = false;

  /// Of all formulas at once.
  static constexpr uint64_t maxVariables = 2'000'000;
  /// Measured after some search: 360 on rings and tori, 980 on dgx1.
  static constexpr uint64_t bytesPerVariable = 1000;
};
} // namespace

/// A chunk that `sources` contribute to and `destinations` get needs at least
/// |sources| + |destinations| - 2 sends if every contributor is asked for, see
/// "Gossip" in Certificate.h: until some rank first knows everything, each
/// other contributor has sent, and after that each other destination receives.
std::optional<Unsatisfiable> DirectRun::refuteByCounting() const {
  const Topology &topology = instance.topology;
  std::vector<bool> limited(topology.links().size());
  for (const BandwidthLimit &limit : topology.limits())
    for (unsigned link : limit.links)
      limited[link] = true;
  if (std::ranges::count(limited, false) > 0)
    return std::nullopt;
  uint64_t perRound = 0, needed = 0;
  for (unsigned link = 0; link < topology.links().size(); ++link)
    perRound += topology.capacity(link);
  const Collective &collective = instance.collective;
  for (unsigned chunk = 0; chunk < collective.numChunks(); ++chunk) {
    size_t sources = collective.pre().ranksOf(chunk).size();
    size_t destinations = collective.post().ranksOf(chunk).size();
    if (destinations > 0 && sources + destinations > 2)
      needed += sources + destinations - 2;
  }
  uint64_t most = perRound * instance.rounds;
  if (needed <= most)
    return std::nullopt;
  return Unsatisfiable{"refuted by counting: " + std::to_string(needed) +
                       " sends are needed, the links carry at most " +
                       std::to_string(most)};
}

/// The variables that there is memory for.
uint64_t DirectRun::variableBudget() const {
  if (options.memoryMiB == 0)
    return maxVariables;
  return std::min(maxVariables,
                  (uint64_t(options.memoryMiB) << 20) / bytesPerVariable);
}

/// Groups that move whole cycles of chunks, the largest first, and the trivial
/// group, whose search is complete.
DirectRun::Groups DirectRun::listGroups() const {
  const unsigned numChunks = instance.collective.numChunks();
  Groups all;
  if (ContributionEncoding::actsOn(instance.collective)) {
    all = freeSubgroups(instance.topology, tuned::mostGroupElements());
    if (instance.hasOrder())
      std::erase_if(all, [&](const std::vector<Permutation> &group) {
        return !OrderedSumEncoding::preserves(group, instance);
      });
  } else {
    Permutation identity(instance.topology.numRanks());
    std::iota(identity.begin(), identity.end(), 0u);
    all = {{identity}};
  }
  // Those that leave no chunk over first: they have the most symmetry.
  auto leavesSome = [&](const std::vector<Permutation> &group) {
    return numChunks % group.size() != 0;
  };
  std::ranges::stable_sort(all, {}, leavesSome);
  Groups groups;
  size_t sameOrder = 0, lastOrder = 0;
  for (std::vector<Permutation> &group : all) {
    size_t order = group.size();
    sameOrder = order == lastOrder ? sameOrder + 1 : 1;
    lastOrder = order;
    if (order == 1 ||
        (order <= numChunks && sameOrder <= tuned::groupsPerOrder()))
      groups.push_back(std::move(group));
  }
  return groups;
}

void DirectRun::planSearches() {
  uint64_t budget = variableBudget();
  if (instance.hasOrder())
    return planSumSearches(listGroups(), budget);
  // Whatever else is tried, the complete search is the first to get memory.
  uint64_t complete = ContributionEncoding::numVariables(instance, 1);
  bool isCompletePossible = complete <= budget;
  if (isCompletePossible)
    budget -= complete;
  Groups groups = listGroups();
  for (const std::vector<Permutation> &group : groups) {
    size_t order = group.size();
    uint64_t variables = ContributionEncoding::numVariables(instance, order);
    if (order == 1 ? !isCompletePossible : variables > budget)
      continue;
    if (order > 1)
      budget -= variables;
    searches.push_back({group});
  }
  if (hasSums)
    planSumSearches(groups, budget);
}

/// Those with several partial sums, or by a tree: what can be written first.
void DirectRun::planSumSearches(const Groups &groups, uint64_t budget) {
  auto planIfPossible = [&](const std::vector<Permutation> &group,
                            PartialSumEncoding::Form form) {
    uint64_t variables = numVariables(instance, group.size(), form);
    if (variables > budget)
      return;
    budget -= variables;
    searches.push_back({group, form});
  };
  for (const std::vector<Permutation> &group : groups)
    planIfPossible(group, {});
  for (const std::vector<Permutation> &group : groups)
    if (group.size() == 1)
      planIfPossible(group, PartialSumEncoding::completeForm(instance));
}

/// Whether all formulas together take more memory than they may.
bool DirectRun::outOfMemory() const {
  // Counters of limits with many links have few variables and many literals.
  uint64_t literals = 0;
  for (const Search &search : searches)
    if (search.encoding)
      literals += search.encoding->numLiterals();
  return literals * SatSolver::bytesPerLiteral >> 20 >= memoryLimitMiB();
}

void DirectRun::prepare(Search &search) {
  // A restricted search is only good for finding something.
  search.solver = std::make_unique<SatSolver>(
      deadline, options.seed,
      search.isComplete() ? SatAim::Any : SatAim::Models);
  search.encoding = createContributionEncoding(instance, search.group,
                                               *search.solver, search.form);
  search.encoding->encode([this] { return stop() || outOfMemory(); });
}

static void drop(Search &search) {
  search.isOver = true;
  search.encoding.reset();
  search.solver.reset();
}

/// Several partial sums wait until one running sum has had its chance.
bool DirectRun::isDue(const Search &search, uint64_t conflicts) const {
  if (search.isOver)
    return false;
  if (!search.form || isRunningSumRefuted || instance.hasOrder())
    return true;
  return conflicts >= tuned::oneSumConflicts();
}

Outcome DirectRun::found(const Search &search) const {
  if (search.encoding->isDecodable())
    return Satisfied{search.encoding->decode()};
  return Unknown{moreSumsThanNamed};
}

/// Ends `search`, and what it covers. Returns the answer, if it is one for the
/// instance.
std::optional<Outcome> DirectRun::noteRefuted(Search &search) {
  if (search.isComplete() && (search.form || !hasSums))
    return Unsatisfiable{"refuted by cadical"};
  bool coversAll = search.group.size() == 1;
  isRunningSumRefuted |= coversAll && !search.form;
  for (Search &other : searches)
    if (&other == &search ||
        (coversAll && other.form.has_value() == search.form.has_value() &&
         !(other.form && other.isComplete())))
      drop(other);
  return std::nullopt;
}

Unknown DirectRun::narrowed(Unknown unknown) const {
  if (isRunningSumRefuted)
    unknown.reason = PartialSumEncoding::besideRunningSums(unknown.reason);
  return unknown;
}

/// Gives `search` a turn. Returns the answer, if it is one for the instance.
std::optional<Outcome> DirectRun::advance(Search &search, uint64_t conflicts) {
  if (!search.solver)
    prepare(search);
  if (stop())
    return narrowed(gaveUp(deadline));
  if (outOfMemory()) {
    drop(search);
    memoryExceeded = true;
    return std::nullopt;
  }
  // Conflicts in the smaller formulas cost less, and lead to more.
  SatSolver::Answer answer =
      search.solver->search(conflicts * search.group.size());
  if (answer == SatSolver::Answer::Satisfiable)
    return found(search);
  if (answer == SatSolver::Answer::Unsatisfiable)
    if (std::optional<Outcome> outcome = noteRefuted(search))
      return outcome;
  if (stop())
    return narrowed(gaveUp(deadline));
  return std::nullopt;
}

Unknown DirectRun::tooLarge() const {
  if (memoryExceeded)
    return {"out of memory (limit " + std::to_string(memoryLimitMiB()) +
            " MiB)"};
  std::optional<PartialSumEncoding::Form> form;
  if (isRunningSumRefuted)
    form = PartialSumEncoding::completeForm(instance);
  uint64_t variables = numVariables(instance, 1, form);
  std::string size = std::to_string(variables) + " variables";
  if (options.memoryMiB && variables <= maxVariables)
    return {"out of memory (limit " + std::to_string(options.memoryMiB) +
            " MiB): the formula needs " + size};
  return {"the formula needs " + size + ", the limit is " +
          std::to_string(maxVariables)};
}

Outcome DirectRun::answer() {
  if (std::optional<Unsatisfiable> refutation = refuteByCounting())
    return *refutation;
  planSearches();
  for (uint64_t budget = tuned::firstConflicts();; budget *= 2) {
    bool anyLeft = false;
    for (Search &search : searches) {
      anyLeft |= !search.isOver;
      if (!isDue(search, budget))
        continue;
      if (std::optional<Outcome> outcome = advance(search, budget))
        return std::move(*outcome);
    }
    // The complete search ends with an answer, unless it was too large.
    if (!anyLeft)
      return narrowed(tooLarge());
  }
}

//===----------------------------------------------------------------------===//
// The engine
//===----------------------------------------------------------------------===//

namespace {
class DirectAllReduceBackend final : public SolverBackend {
public:
  DirectAllReduceBackend()
      : SolverBackend({.name = "direct",
                       .workUnit = "conflicts",
                       .takesReductions = true,
                       .refutes = true,
                       .decides = true,
                       .takesOrders = true,
                       .hasSeed = true,
                       .limitsMemory = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    return runEngine(*this, instance, options, [&](const Deadline &deadline) {
      return solveCanonically(instance, [&](const Instance &canonical) {
        return DirectRun(canonical, options, deadline).answer();
      });
    });
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createDirectAllReduceBackend() {
  return std::make_unique<DirectAllReduceBackend>();
}
