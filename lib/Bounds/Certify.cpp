//===- Certify.cpp - Bounds that the checker accepted ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The only way out of this library: what the checker does not accept is an
// error here, never a bound.
//
//===----------------------------------------------------------------------===//

#include "Certify.h"

#include "PriceList.h"
#include "Rounding.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::bounds;

Result<LowerBound> bounds::finish(Certificate certificate,
                                  const Topology &topology,
                                  const Collective &collective) {
  if (!std::holds_alternative<DistanceProof>(certificate.proof)) {
    // What the checker makes of the proof, it accepts as its claim.
    Result<Rational> value = provenBound(certificate, topology, collective);
    if (!value)
      return Error{"no certificate: " + value.error()};
    certificate.bound = *value;
    return LowerBound{certificate.bound, true, std::move(certificate)};
  }
  if (auto failure = checkCertificate(certificate, topology, collective))
    return Error{"no certificate: " + *failure};
  return LowerBound{certificate.bound, true, std::move(certificate)};
}

/// A price of 1 somewhere: enough to claim that R/C is at least 0.
static PriceProof trivialProof(const Topology &topology, unsigned steps) {
  return {
      {pricesOn(topology, topology.limits()[0], StepValues(steps, 1))}, {}, {}};
}

static bool reaches(const Rational &value, double optimum) {
  return value.toDouble() >= optimum - 1e-7 * std::max(1.0, optimum);
}

Result<LowerBound> bounds::certify(const Problem &problem,
                                   const PriceDuals &duals, Certificate claim,
                                   const Topology &topology,
                                   const Collective &collective) {
  if (duals.optimum < 1e-9) {
    claim.proof = trivialProof(topology, problem.steps);
    return finish(std::move(claim), topology, collective);
  }
  std::vector<int64_t> factors;
  if (auto common = findCommonDenominator(duals))
    factors.push_back(*common);
  factors.insert(factors.end(), {int64_t(1) << 20, int64_t(1) << 30});
  std::optional<LowerBound> best;
  std::string why;
  for (int64_t factor : factors) {
    Certificate candidate = claim;
    candidate.proof = roundToProof(problem, duals, factor);
    Result<LowerBound> bound =
        finish(std::move(candidate), topology, collective);
    if (!bound) {
      why = bound.error();
      continue;
    }
    if (!best || *bound->value > *best->value)
      best = std::move(*bound);
    // Larger factors would only blow up the text.
    if (reaches(*best->value, duals.optimum))
      break;
  }
  if (!best)
    return Error{why};
  // A large factor comes this close without having found the optimum.
  best->isOptimumOfProgram = best->value->denominator() < (1 << 20) &&
                             reaches(*best->value, duals.optimum);
  return std::move(*best);
}
