//===- ChunkFormula.cpp - Which sends a chunk can do with -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Check/ChunkFormula.h"

#include <algorithm>
#include <numeric>

using namespace sccl;

namespace {
/// Literals o[0], o[1], ...: o[i] is true if more than i of something is there.
using Counter = std::vector<int>;

class FormulaBuilder {
public:
  FormulaBuilder(const ChunkQuestion &question, uint64_t maxLiterals);

  Result<ChunkFormula> build();

private:
  /// The send over the link at `position`, in a step counted from 1.
  int send(size_t position, unsigned step) const {
    return int(position * question.steps + step);
  }
  /// That the rank has heard of the current source by the end of a step.
  int heard(unsigned rank, unsigned step) const {
    return firstHeard + int(rank * question.steps + step - 1);
  }
  const Link &linkAt(size_t position) const {
    return question.links[byEnds[position]];
  }
  int newVariables(uint64_t count);
  void clause(std::initializer_list<int> literals) {
    clause(std::span(literals.begin(), literals.size()));
  }
  void clause(std::span<const int> literals);

  void spreadFrom(const std::vector<unsigned> &sources);
  void explain(unsigned rank, unsigned step);
  std::vector<Counter> pricesOf(unsigned position);
  Counter sum(const Counter &left, const Counter &right);
  Counter total(std::vector<Counter> parts);
  void limitPrice();
  void nameSends();

  const ChunkQuestion &question;
  const uint64_t maxLiterals;
  std::vector<unsigned> byEnds;              ///< links by (dst, src)
  std::vector<std::vector<unsigned>> inward; ///< positions, by rank
  std::vector<bool> isSource;
  int firstHeard = 0;
  uint64_t variables = 0, copies = 0;
  bool isTooLarge = false;
  ChunkFormula formula;
};
} // namespace

FormulaBuilder::FormulaBuilder(const ChunkQuestion &question,
                               uint64_t maxLiterals)
    : question(question), maxLiterals(maxLiterals),
      byEnds(question.links.size()), inward(question.numRanks) {
  std::iota(byEnds.begin(), byEnds.end(), 0u);
  std::ranges::sort(byEnds, {}, [&](unsigned index) {
    const Link &link = question.links[index];
    return std::pair(link.dst, link.src);
  });
  for (unsigned position = 0; position < byEnds.size(); ++position)
    inward[linkAt(position).dst].push_back(position);
}

/// The first of `count` variables. What is too large stays so.
int FormulaBuilder::newVariables(uint64_t count) {
  isTooLarge |= count > maxFormulaLiterals - variables;
  if (isTooLarge)
    return 1;
  variables += count;
  return int(variables - count) + 1;
}

void FormulaBuilder::clause(std::span<const int> literals) {
  isTooLarge |= formula.clauses.numLiterals() + literals.size() > maxLiterals;
  if (!isTooLarge)
    formula.clauses.add(literals);
}

//===----------------------------------------------------------------------===//
// Who hears of it
//===----------------------------------------------------------------------===//

/// A rank that has heard by the end of `step` had heard before, or hears by a
/// send from one that had.
void FormulaBuilder::explain(unsigned rank, unsigned step) {
  std::vector<int> reasons = {-heard(rank, step)};
  if (step > 1)
    reasons.push_back(heard(rank, step - 1));
  for (unsigned position : inward[rank]) {
    unsigned from = linkAt(position).src;
    if (isSource[from]) {
      reasons.push_back(send(position, step));
    } else if (step > 1) {
      int informs = newVariables(1);
      clause({-informs, send(position, step)});
      clause({-informs, heard(from, step - 1)});
      reasons.push_back(informs);
    }
  }
  clause(reasons);
}

/// All of the postcondition must hear of one of `sources`.
void FormulaBuilder::spreadFrom(const std::vector<unsigned> &sources) {
  isSource.assign(question.numRanks, false);
  for (unsigned source : sources)
    isSource[source] = true;
  firstHeard = newVariables(uint64_t(question.numRanks) * question.steps);
  for (unsigned rank = 0; rank < question.numRanks; ++rank)
    for (unsigned step = 1; step <= question.steps; ++step) {
      if (isTooLarge)
        return;
      if (!isSource[rank])
        explain(rank, step);
    }
  for (unsigned rank : question.post)
    if (!isSource[rank])
      clause({heard(rank, question.steps)});
}

//===----------------------------------------------------------------------===//
// What it costs
//===----------------------------------------------------------------------===//

/// The sum of two counters, up to V. Only that a sum is reached is said, which
/// is all that a limit needs.
Counter FormulaBuilder::sum(const Counter &left, const Counter &right) {
  uint64_t size =
      std::min<uint64_t>(left.size() + right.size(), question.value);
  int first = newVariables(size);
  Counter result(isTooLarge ? 0 : size);
  std::iota(result.begin(), result.end(), first);
  for (size_t i = 0; i <= left.size(); ++i)
    for (size_t j = 0; j <= right.size() && !isTooLarge; ++j) {
      if (i + j == 0)
        continue;
      std::vector<int> literals = {result[std::min<uint64_t>(i + j, size) - 1]};
      if (i > 0)
        literals.push_back(-left[i - 1]);
      if (j > 0)
        literals.push_back(-right[j - 1]);
      clause(literals);
    }
  return result;
}

/// The sum of all `parts` that count anything, by halves.
Counter FormulaBuilder::total(std::vector<Counter> parts) {
  std::erase_if(parts, [](const Counter &part) { return part.empty(); });
  if (parts.empty() || isTooLarge)
    return {};
  if (parts.size() == 1)
    return std::move(parts.front());
  auto half = parts.begin() + ptrdiff_t(parts.size() / 2);
  Counter left = total({parts.begin(), half});
  return sum(left, total({half, parts.end()}));
}

/// For each step, the send over a link as often as it costs.
std::vector<Counter> FormulaBuilder::pricesOf(unsigned position) {
  std::vector<Counter> prices;
  for (unsigned step = 1; step <= question.steps; ++step) {
    size_t at = size_t(byEnds[position]) * question.steps + step - 1;
    uint64_t price = std::min(question.prices[at], question.value);
    copies += price;
    isTooLarge |= copies > maxFormulaLiterals;
    if (isTooLarge)
      return {};
    prices.emplace_back(price, send(position, step));
  }
  return prices;
}

/// All sends together cost less than V. They are added up for each link, then
/// for each rank: sums of parts that belong together make short refutations,
/// those of sends in the order of their steps some thousand times longer ones.
void FormulaBuilder::limitPrice() {
  std::vector<Counter> perRank;
  for (const std::vector<unsigned> &links : inward) {
    std::vector<Counter> perLink;
    for (unsigned position : links)
      perLink.push_back(total(pricesOf(position)));
    perRank.push_back(total(std::move(perLink)));
  }
  Counter all = total(std::move(perRank));
  if (all.size() >= uint64_t(question.value))
    clause({-all[size_t(question.value) - 1]});
}

void FormulaBuilder::nameSends() {
  formula.sendOf.resize(question.prices.size());
  for (size_t position = 0; position < byEnds.size(); ++position)
    for (unsigned step = 1; step <= question.steps; ++step)
      formula.sendOf[size_t(byEnds[position]) * question.steps + step - 1] =
          send(position, step);
}

Result<ChunkFormula> FormulaBuilder::build() {
  newVariables(uint64_t(question.links.size()) * question.steps);
  if (!isTooLarge)
    nameSends();
  if (!question.combining)
    spreadFrom(question.pre);
  else
    for (unsigned source : question.pre)
      spreadFrom({source});
  limitPrice();
  if (isTooLarge)
    return Error{"the formula has more than " + std::to_string(maxLiterals) +
                 " literals"};
  formula.numVariables = int(variables);
  return std::move(formula);
}

Result<ChunkFormula> sccl::chunkFormula(const ChunkQuestion &question,
                                        uint64_t maxLiterals) {
  return FormulaBuilder(question, maxLiterals).build();
}

//===----------------------------------------------------------------------===//
// Refutations
//===----------------------------------------------------------------------===//

namespace {
/// Follows the steps of a refutation, with what they learn.
class RefutationChecker {
public:
  RefutationChecker(const ChunkFormula &formula, uint64_t &work)
      : formula(formula), work(work),
        isFalse(2 * (size_t(formula.numVariables) + 1)) {}

  std::optional<std::string> check(const std::vector<RefutationStep> &steps);

private:
  /// What a clause leaves when literals are false.
  enum class Left { Nothing, One, More };

  std::optional<std::string> follow(const RefutationStep &step);
  std::span<const int> clauseOf(unsigned number) const {
    return number <= formula.clauses.size()
               ? formula.clauses[number - 1]
               : learned[number - formula.clauses.size() - 1];
  }
  size_t indexOf(int literal) const {
    return 2 * size_t(std::abs(literal)) + (literal < 0);
  }
  void makeFalse(int literal) {
    isFalse[indexOf(literal)] = true;
    changed.push_back(literal);
  }
  std::pair<Left, int> leftOf(std::span<const int> clause) const;

  const ChunkFormula &formula;
  uint64_t &work;
  Clauses learned;
  std::vector<bool> isFalse; ///< by literal
  std::vector<int> changed;
};
} // namespace

std::pair<RefutationChecker::Left, int>
RefutationChecker::leftOf(std::span<const int> clause) const {
  std::pair<Left, int> left = {Left::Nothing, 0};
  for (int literal : clause) {
    if (isFalse[indexOf(literal)])
      continue;
    if (left.first == Left::One && left.second != literal)
      return {Left::More, 0};
    left = {Left::One, literal};
  }
  return left;
}

std::optional<std::string>
RefutationChecker::follow(const RefutationStep &step) {
  uint64_t known = formula.clauses.size() + learned.size();
  for (int literal : step.literals) {
    if (std::abs(literal) > formula.numVariables)
      return "the formula has no variable " + std::to_string(std::abs(literal));
    makeFalse(literal);
  }
  for (size_t i = 0; i < step.reasons.size(); ++i) {
    unsigned reason = step.reasons[i];
    std::string name = "clause " + std::to_string(reason);
    if (reason == 0 || reason > known)
      return name + " is not there yet";
    std::span<const int> clause = clauseOf(reason);
    uint64_t cost = clause.size() + 1;
    if (cost > work)
      return "the refutation takes more work than is done for it";
    work -= cost;
    auto [left, literal] = leftOf(clause);
    bool isLast = i + 1 == step.reasons.size();
    if (left == Left::More || isLast != (left == Left::Nothing))
      return name + " leaves " +
             (left == Left::Nothing ? "nothing, but is not the last reason"
              : left == Left::One   ? "a literal, but is the last reason"
                                    : "more than one literal");
    if (left == Left::One)
      makeFalse(-literal);
  }
  if (step.reasons.empty())
    return "there are no reasons";
  return std::nullopt;
}

std::optional<std::string>
RefutationChecker::check(const std::vector<RefutationStep> &steps) {
  for (size_t number = 0; number < steps.size(); ++number) {
    auto failure = follow(steps[number]);
    if (failure)
      return "step " + std::to_string(number + 1) +
             " of a refutation does not hold: " + *failure;
    learned.add(steps[number].literals);
    for (int literal : changed)
      isFalse[indexOf(literal)] = false;
    changed.clear();
  }
  if (steps.empty() || !steps.back().literals.empty())
    return "a refutation does not end with the empty clause";
  return std::nullopt;
}

std::optional<std::string>
sccl::checkSearch(const ChunkQuestion &question,
                  const std::vector<RefutationStep> &steps,
                  SearchCheckLimits &limits) {
  if (question.value < 1 || question.value > maxProofValue)
    return "the value " + std::to_string(question.value) +
           " of a search is out of range";
  Result<ChunkFormula> formula = chunkFormula(
      question, std::min(limits.formulaLiterals, maxFormulaLiterals));
  if (!formula)
    return formula.error();
  limits.formulaLiterals -= formula->clauses.numLiterals();
  return RefutationChecker(*formula, limits.refutationWork).check(steps);
}
