//===- Makers.h - The list of all makers of schedules -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_SOLVER_MAKERS_H
#define SCCL_SOLVER_MAKERS_H

#include <string_view>

namespace sccl {

/// What makes schedules; `sccl pareto`, `synth` and `plan` ask the same ones.
enum class Maker {
#define SCCL_MAKER(name, stage, collectives, how) name,
#include "sccl/Solver/Makers.def"
};

/// False for the one that the environment variable SCCL_WITHOUT_MAKER names,
/// to measure what it buys.
bool isAsked(Maker maker);
bool isAsked(std::string_view maker);

/// What SCCL_WITHOUT_MAKER names, if that is no maker; else "".
std::string_view unknownMaker();

} // namespace sccl

#endif // SCCL_SOLVER_MAKERS_H
