//===- Refutation.cpp - What CaDiCaL's proofs come to ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Unit propagation with two watched literals. What follows from unit clauses
// stays true for good; each clause of the proof is then assumed to be false
// until some clause has no literal left.
//
//===----------------------------------------------------------------------===//

#include "Refutation.h"

#include "Optimize/Sat.h"

#include <algorithm>
#include <unordered_map>

using namespace sccl;
using namespace sccl::bounds;

namespace {
class Explainer {
public:
  Explainer(const ChunkFormula &formula, const Deadline &deadline);

  /// Adds a clause that follows; false if it does not, or time is over.
  bool learn(std::vector<int> literals);
  void forget(std::vector<int> literals);
  bool isRefuted() const { return !refutation.empty(); }
  std::vector<RefutationStep> takeSteps();

private:
  static constexpr unsigned none = ~0u;
  struct Clause {
    std::vector<int> literals;
    std::vector<unsigned> reasons; ///< of what was learned
    bool isDropped = false;
  };

  size_t indexOf(int literal) const {
    return 2 * size_t(std::abs(literal)) + (literal < 0);
  }
  bool isTrue(int literal) const { return values[indexOf(literal)]; }
  bool isFalse(int literal) const { return values[indexOf(-literal)]; }
  static uint64_t hashOf(const std::vector<int> &literals);

  void add(std::vector<int> literals);
  void watch(unsigned clause);
  void assign(int literal, unsigned reason);
  unsigned propagate();
  bool visit(unsigned number, int literal, unsigned &conflict);
  unsigned assume(const std::vector<int> &literals);
  std::vector<unsigned> reasonsOf(unsigned conflict,
                                  const std::vector<int> &assumed);
  void takeBack();

  const Deadline &deadline;
  const size_t formulaSize;
  std::vector<Clause> clauses;
  std::unordered_multimap<uint64_t, unsigned> byHash;
  std::vector<std::vector<unsigned>> watches; ///< by literal that became false
  std::vector<bool> values;                   ///< by literal
  std::vector<unsigned> reasonOf;             ///< by variable
  std::vector<bool> isSeen, isAssumed;        ///< by variable
  std::vector<int> trail;
  size_t propagated = 0, settled = 0; ///< of the trail; the latter for good
  std::vector<unsigned> refutation;   ///< the reasons of the empty clause
};
} // namespace

Explainer::Explainer(const ChunkFormula &formula, const Deadline &deadline)
    : deadline(deadline), formulaSize(formula.clauses.size()),
      watches(2 * (size_t(formula.numVariables) + 1)), values(watches.size()),
      reasonOf(size_t(formula.numVariables) + 1, none), isSeen(reasonOf.size()),
      isAssumed(reasonOf.size()) {
  for (size_t i = 0; i < formulaSize; ++i) {
    std::span<const int> literals = formula.clauses[i];
    clauses.push_back({{literals.begin(), literals.end()}, {}});
  }
  for (size_t i = 0; i < formulaSize && !isRefuted(); ++i)
    watch(unsigned(i));
}

uint64_t Explainer::hashOf(const std::vector<int> &literals) {
  uint64_t sum = literals.size();
  for (int literal : literals) {
    uint64_t mixed = uint64_t(int64_t(literal)) * 0x9e3779b97f4a7c15;
    sum += mixed ^ mixed >> 29;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Unit propagation
//===----------------------------------------------------------------------===//

void Explainer::assign(int literal, unsigned reason) {
  values[indexOf(literal)] = true;
  reasonOf[size_t(std::abs(literal))] = reason;
  trail.push_back(literal);
}

/// Enters a clause, and what it makes true for good.
void Explainer::watch(unsigned number) {
  std::vector<int> &literals = clauses[number].literals;
  byHash.emplace(hashOf(literals), number);
  std::ranges::stable_partition(
      literals, [this](int literal) { return !isFalse(literal); });
  for (size_t i = 0; i < std::min<size_t>(2, literals.size()); ++i)
    watches[indexOf(literals[i])].push_back(number);
  unsigned conflict = none;
  if (literals.empty() || isFalse(literals[0])) {
    conflict = number;
  } else if (literals.size() == 1 || isFalse(literals[1])) {
    if (!isTrue(literals[0]))
      assign(literals[0], number);
    conflict = propagate();
  }
  settled = trail.size();
  if (conflict != none)
    refutation = reasonsOf(conflict, {});
}

/// Looks at a clause of which the watched `literal` has become false. Returns
/// whether it is watched there still.
bool Explainer::visit(unsigned number, int literal, unsigned &conflict) {
  Clause &clause = clauses[number];
  if (clause.isDropped)
    return false;
  std::vector<int> &literals = clause.literals;
  if (literals.size() == 1) {
    conflict = number;
    return true;
  }
  if (literals[0] == literal)
    std::swap(literals[0], literals[1]);
  if (isTrue(literals[0]))
    return true;
  for (size_t i = 2; i < literals.size(); ++i)
    if (!isFalse(literals[i])) {
      std::swap(literals[1], literals[i]);
      watches[indexOf(literals[1])].push_back(number);
      return false;
    }
  if (isFalse(literals[0]))
    conflict = number;
  else
    assign(literals[0], number);
  return true;
}

/// A clause all of whose literals are false, if it comes to that.
unsigned Explainer::propagate() {
  unsigned conflict = none;
  while (propagated < trail.size() && conflict == none) {
    int literal = -trail[propagated++];
    std::vector<unsigned> &list = watches[indexOf(literal)];
    deadline.charge(1 + list.size() / 16);
    size_t kept = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      unsigned number = list[i];
      if (conflict != none || visit(number, literal, conflict))
        list[kept++] = number;
    }
    list.resize(kept);
  }
  return conflict;
}

/// Makes all of `literals` false; a clause that this leaves nothing of.
unsigned Explainer::assume(const std::vector<int> &literals) {
  for (int literal : literals) {
    // Its reason has no other literal that is not false.
    if (isTrue(literal))
      return reasonOf[size_t(std::abs(literal))];
    if (!isFalse(literal))
      assign(-literal, none);
  }
  return propagate();
}

/// All that `conflict` rests on but for literals that are `assumed` to be
/// false, in the order in which it came, and itself.
std::vector<unsigned> Explainer::reasonsOf(unsigned conflict,
                                           const std::vector<int> &assumed) {
  std::vector<unsigned> reasons = {conflict};
  auto mark = [this](unsigned number) {
    for (int literal : clauses[number].literals)
      if (isFalse(literal))
        isSeen[size_t(std::abs(literal))] = true;
  };
  for (int literal : assumed)
    isAssumed[size_t(std::abs(literal))] = true;
  mark(conflict);
  for (size_t i = trail.size(); i-- > 0;) {
    size_t variable = size_t(std::abs(trail[i]));
    if (!isSeen[variable])
      continue;
    isSeen[variable] = false;
    if (reasonOf[variable] == none || isAssumed[variable])
      continue;
    reasons.push_back(reasonOf[variable]);
    mark(reasonOf[variable]);
  }
  for (int literal : assumed)
    isAssumed[size_t(std::abs(literal))] = false;
  std::ranges::reverse(reasons);
  return reasons;
}

void Explainer::takeBack() {
  for (; trail.size() > settled; trail.pop_back()) {
    values[indexOf(trail.back())] = false;
    reasonOf[size_t(std::abs(trail.back()))] = none;
  }
  propagated = settled;
}

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

bool Explainer::learn(std::vector<int> literals) {
  unsigned conflict = assume(literals);
  if (conflict == none || deadline.expired())
    return false;
  std::vector<unsigned> reasons = reasonsOf(conflict, literals);
  takeBack();
  clauses.push_back({std::move(literals), std::move(reasons)});
  watch(unsigned(clauses.size() - 1));
  return true;
}

/// What makes a literal true for good is kept: there is nothing to gain.
void Explainer::forget(std::vector<int> literals) {
  auto [begin, end] = byHash.equal_range(hashOf(literals));
  std::ranges::sort(literals);
  for (auto entry = begin; entry != end; ++entry) {
    Clause &clause = clauses[entry->second];
    std::vector<int> sorted = clause.literals;
    std::ranges::sort(sorted);
    if (sorted != literals)
      continue;
    bool isReason = std::ranges::any_of(literals, [&](int literal) {
      return reasonOf[size_t(std::abs(literal))] == entry->second;
    });
    clause.isDropped = !isReason;
    if (!isReason)
      byHash.erase(entry);
    return;
  }
}

/// What the empty clause needs, numbered anew.
std::vector<RefutationStep> Explainer::takeSteps() {
  std::vector<bool> isNeeded(clauses.size());
  auto need = [&](const std::vector<unsigned> &reasons) {
    for (unsigned reason : reasons)
      isNeeded[reason] = true;
  };
  need(refutation);
  for (size_t i = clauses.size(); i-- > formulaSize;)
    if (isNeeded[i])
      need(clauses[i].reasons);
  std::vector<unsigned> numbers(clauses.size());
  std::vector<RefutationStep> steps;
  auto renumber = [&](std::vector<unsigned> reasons) {
    for (unsigned &reason : reasons)
      reason = numbers[reason];
    return reasons;
  };
  for (size_t i = 0; i < clauses.size(); ++i) {
    numbers[i] = unsigned(i) + 1;
    if (i < formulaSize || !isNeeded[i])
      continue;
    steps.push_back({std::move(clauses[i].literals),
                     renumber(std::move(clauses[i].reasons))});
    std::ranges::sort(steps.back().literals, {},
                      [](int literal) { return std::abs(literal); });
    numbers[i] = unsigned(formulaSize + steps.size());
  }
  steps.push_back({{}, renumber(std::move(refutation))});
  return steps;
}

namespace {
/// The additions and deletions of a proof in binary form.
class DratReader {
public:
  explicit DratReader(std::string_view bytes) : bytes(bytes) {}

  /// Reads the next clause; false at the end, or where it is broken off.
  bool next(bool &isDeletion, std::vector<int> &literals) {
    if (bytes.empty())
      return false;
    isDeletion = bytes.front() == 'd';
    bytes.remove_prefix(1);
    literals.clear();
    while (std::optional<unsigned> code = number()) {
      if (*code == 0)
        return true;
      literals.push_back(*code & 1 ? -int(*code >> 1) : int(*code >> 1));
    }
    return false;
  }

private:
  std::optional<unsigned> number() {
    unsigned value = 0;
    for (unsigned shift = 0; shift < 32 && !bytes.empty(); shift += 7) {
      unsigned byte = static_cast<unsigned char>(bytes.front());
      bytes.remove_prefix(1);
      value |= (byte & 127) << shift;
      if (byte < 128)
        return value;
    }
    return std::nullopt;
  }

  std::string_view bytes;
};
} // namespace

std::optional<std::vector<RefutationStep>>
bounds::explainRefutation(const ChunkFormula &formula, std::string_view drat,
                          const Deadline &deadline) {
  Explainer explainer(formula, deadline);
  DratReader reader(drat);
  bool isDeletion = false;
  std::vector<int> literals;
  auto isKnown = [&](int literal) {
    return std::abs(literal) <= formula.numVariables;
  };
  while (!explainer.isRefuted() && reader.next(isDeletion, literals)) {
    if (!std::ranges::all_of(literals, isKnown))
      return std::nullopt;
    if (isDeletion)
      explainer.forget(std::move(literals));
    else if (!explainer.learn(std::move(literals)))
      return std::nullopt;
  }
  if (!explainer.isRefuted())
    return std::nullopt;
  return explainer.takeSteps();
}

std::optional<std::vector<RefutationStep>>
bounds::refute(const ChunkFormula &formula, const Deadline &deadline,
               std::optional<std::vector<bool>> &model) {
  SatSolver solver(deadline, /*seed=*/0, SatAim::Proof);
  for (size_t i = 0; i < formula.clauses.size(); ++i) {
    for (int literal : formula.clauses[i])
      solver.add(literal);
    solver.add(0);
  }
  SatSolver::Answer answer = solver.search(Deadline::unlimited);
  if (answer == SatSolver::Answer::Satisfiable) {
    model.emplace(size_t(formula.numVariables) + 1);
    for (int variable = 1; variable <= formula.numVariables; ++variable)
      (*model)[size_t(variable)] = solver.isTrue(variable);
  }
  if (answer != SatSolver::Answer::Unsatisfiable)
    return std::nullopt;
  return explainRefutation(formula, solver.takeProof(), deadline);
}
