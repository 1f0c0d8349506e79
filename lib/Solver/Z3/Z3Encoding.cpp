//===- Z3Encoding.cpp - What the encodings have in common -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Z3Encoding.h"

#include <algorithm>

using namespace sccl;

bool sccl::isTrueIn(const z3::model &model, const z3::expr &constant) {
  z3::func_decl name = constant.decl();
  return model.has_interp(name) && model.get_const_interp(name).is_true();
}

unsigned sccl::valueIn(const z3::model &model, const z3::expr &constant) {
  z3::func_decl name = constant.decl();
  return model.has_interp(name)
             ? model.get_const_interp(name).get_numeral_uint()
             : 0;
}

z3::expr sccl::atMost(const z3::expr_vector &terms, unsigned bound) {
  return terms.size() <= bound ? terms.ctx().bool_val(true)
                               : z3::atmost(terms, bound);
}

z3::expr sccl::anyOf(const z3::expr_vector &terms) {
  return terms.size() == 1 ? terms[0] : z3::mk_or(terms);
}

void sccl::limitByCases(z3::solver &solver, const z3::expr_vector &load,
                        unsigned bandwidth, const std::vector<z3::expr> &more) {
  for (size_t rounds = 1; rounds <= more.size() + 1; ++rounds) {
    if (load.size() <= bandwidth * rounds)
      return; // enough for everything
    z3::expr fits = atMost(load, bandwidth * rounds);
    solver.add(rounds <= more.size() ? more[rounds - 1] || fits : fits);
  }
}

uint64_t sccl::termsOfCases(uint64_t load, unsigned bandwidth, uint64_t cases) {
  return load * std::min(cases, (load + bandwidth - 1) / bandwidth);
}
