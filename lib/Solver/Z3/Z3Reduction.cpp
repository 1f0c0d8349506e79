//===- Z3Reduction.cpp - Reductions for z3 --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of lib/Solver/Sat, clause by clause.
//
//===----------------------------------------------------------------------===//

#include "Z3Encoding.h"

#include <cstdlib>
#include <numeric>
#include <optional>

using namespace sccl;

namespace {
class ReductionEncoding final : public Z3Encoding, public ClauseSolver {
public:
  ReductionEncoding(const Instance &instance, z3::context &context,
                    std::optional<PartialSumEncoding::Form> form)
      : instance(instance), context(context), form(form), clause(context) {}

  uint64_t plan(uint64_t, const StopFunction &) override {
    return numVariables(instance, 1, form);
  }

  void encode(z3::solver &theSolver, const StopFunction &stop) override {
    solver = &theSolver;
    Permutation identity(instance.topology.numRanks());
    std::iota(identity.begin(), identity.end(), 0u);
    std::vector<Permutation> group = {identity};
    encoding = createContributionEncoding(instance, group, *this, form);
    encoding->encode(stop);
  }

  bool isDecodable(const z3::model &theModel) const override {
    model = &theModel;
    return encoding->isDecodable();
  }

  Schedule decode(const z3::model &theModel) const override {
    model = &theModel;
    return encoding->decode();
  }

private:
  void add(int literal) override {
    if (literal != 0) {
      z3::expr variable = variableOf(literal);
      clause.push_back(literal > 0 ? variable : !variable);
      return;
    }
    solver->add(anyOf(clause));
    clause = z3::expr_vector(context);
  }

  bool isTrue(int literal) override {
    return isTrueIn(*model, variableOf(literal)) == (literal > 0);
  }

  z3::expr variableOf(int literal) {
    return context.constant(context.int_symbol(std::abs(literal)),
                            context.bool_sort());
  }

  const Instance &instance;
  z3::context &context;
  const std::optional<PartialSumEncoding::Form> form;
  z3::solver *solver = nullptr;
  mutable const z3::model *model = nullptr;
  z3::expr_vector clause; ///< under construction
  std::unique_ptr<ContributionEncoding> encoding;
};
} // namespace

std::unique_ptr<Z3Encoding>
sccl::createReductionEncoding(const Instance &instance, z3::context &context,
                              std::optional<PartialSumEncoding::Form> form) {
  return std::make_unique<ReductionEncoding>(instance, context, form);
}
