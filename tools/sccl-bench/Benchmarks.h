//===- Benchmarks.h - What the parts of sccl-bench share --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A benchmark that measures a wrong or missing answer is worse than none, so
// each one checks what it gets and fails the whole run otherwise.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_BENCH_BENCHMARKS_H
#define SCCL_TOOLS_SCCL_BENCH_BENCHMARKS_H

#include "sccl/Bounds/LowerBound.h"
#include "sccl/Model/Instance.h"
#include "sccl/Solver/Solver.h"

#include <benchmark/benchmark.h>

#include <functional>
#include <memory>
#include <string>

namespace sccl::bench {

/// One collective whose roots are those of one orbit.
struct Case {
  std::string topology;
  CollectiveKind kind;
  unsigned root = 0;
  /// "dgx1/broadcast/root:1"; without a root if the kind has none.
  std::string name() const;
};

/// All cases of dgx1 and amd_z52 but those of all_reduce, whose frontier is not
/// known: one root per orbit.
std::vector<Case> machineCases();

/// Ends the process with a message; for input that is part of the benchmark.
[[noreturn]] void die(const std::string &message);

template <typename T> T unwrap(Result<T> result) {
  if (!result)
    die(result.error());
  return std::move(*result);
}

/// The instance (C, S, R); dies if there is none.
Instance makeInstance(const std::string &topology, CollectiveKind kind,
                      unsigned chunks, unsigned steps, unsigned rounds,
                      unsigned root = 0);
/// The collective of a case with the smallest C.
Collective smallest(const Case &which, const Topology &topology);

/// What is measured; returns an error message or nothing.
using Body = std::function<std::string()>;
/// Registers `body`, in ms of CPU time of all threads. An error makes
/// sccl-bench fail.
void add(const std::string &name, Body body);
/// The same for what `prepare` returns. It runs before the clock starts, so
/// that a benchmark needs no memory while others run.
void addPrepared(const std::string &name, std::function<Body()> prepare);
/// What a body returns if the time it allows itself was not enough, followed by
/// details. Only `addOptional` takes that for an answer.
inline constexpr std::string_view gaveUp = "unknown";
void addOptional(const std::string &name, Body body);

/// Synthesizes and checks; returns why there is no schedule, or nothing.
std::string synthesizeAndCheck(const Instance &instance,
                               std::string_view engine, double timeoutSeconds);
/// Reads `text` and checks the certificate in it; an error message or nothing.
std::string checkText(const std::string &text, const Topology &topology,
                      const Collective &collective);

/// The number of benchmarks that failed.
unsigned failures();

void registerTables();
void registerBounds();
void registerExchange();
void registerFrontiers();
void registerScaling();
void registerPipelined();
/// Only with MLIR.
void registerLowering();
void registerPlans();

} // namespace sccl::bench

#endif // SCCL_TOOLS_SCCL_BENCH_BENCHMARKS_H
