//===- RunEngine.cpp - What all engines have in common --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Backends.h"

#ifdef SCCL_HAVE_CBC
#include <CoinError.hpp>
#endif

#include <chrono>
#include <new>

using namespace sccl;

static Outcome guarded(const SolverBackend &engine,
                       const std::function<Outcome()> &answer) {
  std::string prefix = std::string(engine.name()) + " engine: ";
  try {
    return answer();
  } catch (const std::bad_alloc &) {
    return Unknown{"out of memory"};
  } catch (const std::exception &error) {
    return Failed{prefix + error.what()};
#ifdef SCCL_HAVE_CBC
  } catch (const CoinError &error) {
    return Failed{prefix + error.message()};
#endif
  }
}

SynthesisResult sccl::runEngine(const SolverBackend &engine,
                                const Instance &instance,
                                const std::function<Outcome()> &answer) {
  auto begin = std::chrono::steady_clock::now();
  std::string refusal = engine.whyNot(instance);
  Outcome outcome =
      refusal.empty() ? guarded(engine, answer) : Outcome(Failed{refusal});
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  return {std::move(outcome), std::string(engine.name()), seconds.count()};
}
