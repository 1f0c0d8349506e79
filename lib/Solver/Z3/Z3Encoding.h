//===- Z3Encoding.h - How an instance becomes a formula ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two encodings behind Z3Backend.cpp. They may throw z3::exception; nothing
// of z3 leaves the backend.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_SOLVER_Z3_Z3ENCODING_H
#define SCCL_LIB_SOLVER_Z3_Z3ENCODING_H

#include "Solver/Sat/OrderedSumEncoding.h"

#include "sccl/Model/Instance.h"
#include "sccl/Model/Schedule.h"

#include <functional>
#include <memory>
#include <z3++.h>

namespace sccl {

/// True once the work should be given up.
using StopFunction = std::function<bool()>;

/// One instance as a formula. Refers to the instance and the context, which
/// must outlive it.
class Z3Encoding {
public:
  virtual ~Z3Encoding() = default;
  /// Looks at the instance only and returns the number of variables to come;
  /// may return early with a number above `limit`.
  virtual uint64_t plan(uint64_t limit, const StopFunction &stop) = 0;
  /// Asserts the formula. Returns early, with a part of it, if `stop` says so.
  virtual void encode(z3::solver &solver, const StopFunction &stop) = 0;
  /// Whether `model` is a schedule.
  virtual bool isDecodable(const z3::model &) const { return true; }
  /// The schedule that `model` describes, with S steps and R rounds.
  virtual Schedule decode(const z3::model &model) const = 0;
};

std::unique_ptr<Z3Encoding> createDirectEncoding(const Instance &instance,
                                                 z3::context &context);
/// For combining collectives; the others are for what only moves chunks. With
/// one running sum for each rank and chunk, or with several partial sums.
std::unique_ptr<Z3Encoding>
createReductionEncoding(const Instance &instance, z3::context &context,
                        std::optional<PartialSumEncoding::Form> form);
std::unique_ptr<Z3Encoding> createPaperEncoding(const Instance &instance,
                                                z3::context &context);

/// The value of the Boolean `constant`; false where the model leaves it open.
bool isTrueIn(const z3::model &model, const z3::expr &constant);
/// The value of the integer `constant`; 0 where the model leaves it open.
unsigned valueIn(const z3::model &model, const z3::expr &constant);

/// At most `bound` of `terms`.
z3::expr atMost(const z3::expr_vector &terms, unsigned bound);
/// At least one of `terms`; false if there are none.
z3::expr anyOf(const z3::expr_vector &terms);

/// Asserts |load| <= bandwidth * rounds as one cardinality constraint for each
/// possible number of rounds; `more[i]` says that there are at least i + 2. z3
/// is many times faster on these than on one weighted sum.
void limitByCases(z3::solver &solver, const z3::expr_vector &load,
                  unsigned bandwidth, const std::vector<z3::expr> &more);
/// The number of literals that `limitByCases` writes for up to `cases` numbers
/// of rounds.
uint64_t termsOfCases(uint64_t load, unsigned bandwidth, uint64_t cases);
/// The most of them, in all, for which it is worth it. Ten times as many, and
/// z3 spends minutes on reading them, deaf to interruptions.
constexpr uint64_t maxCaseTerms = 500'000;

} // namespace sccl

#endif // SCCL_LIB_SOLVER_Z3_Z3ENCODING_H
