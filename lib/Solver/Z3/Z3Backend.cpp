//===- Z3Backend.cpp - The reference engine -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs z3 on either encoding within limits of time and memory. All exceptions
// end here.
//
//===----------------------------------------------------------------------===//

#include "SearchWatchdog.h"
#include "Solver/Backends.h"
#include "Z3Encoding.h"

#include <new>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

/// The encoding of the paper is also that for switches which copy.
static bool usesPaper(const Instance &instance, const SolverOptions &options) {
  return options.encoding == Encoding::Paper ||
         !instance.topology.switches().empty();
}

namespace {
/// z3's own memory limit while this object lives, as a backstop for the moments
/// in which nobody asks `SearchWatchdog`: a little above the limit that we were
/// given. It is one number per process, so syntheses that run side by side
/// share the one set last.
class MemoryBackstop {
public:
  explicit MemoryBackstop(unsigned mebibytes) : isSet(mebibytes) {
    if (isSet)
      set(std::to_string(mebibytes + uint64_t(mebibytes) / 8 + 64));
  }
  ~MemoryBackstop() {
    if (isSet)
      set("0");
  }
  MemoryBackstop(const MemoryBackstop &) = delete;
  MemoryBackstop &operator=(const MemoryBackstop &) = delete;

private:
  static void set(const std::string &mebibytes) {
    Z3_global_param_set("memory_max_size", mebibytes.c_str());
  }
  const bool isSet;
};

/// One run on one instance.
class Z3Run {
public:
  Z3Run(const Instance &instance, const SolverOptions &options,
        const Deadline &deadline)
      : instance(instance), options(options), deadline(deadline) {}

  /// Never throws.
  Outcome answer();

private:
  using Form = std::optional<PartialSumEncoding::Form>;

  Outcome answerWith(Form form);
  Outcome answerIn(z3::context &context, SearchWatchdog &watchdog, Form form);
  z3::solver makeSolver(z3::context &context) const;
  std::unique_ptr<Z3Encoding> createEncoding(z3::context &context,
                                             Form form) const {
    if (instance.collective.combining())
      return createReductionEncoding(instance, context, form);
    return usesPaper(instance, options)
               ? createPaperEncoding(instance, context)
               : createDirectEncoding(instance, context);
  }
  std::string refutation() const {
    return std::string("refuted by z3 (") +
           (usesPaper(instance, options) ? "paper" : "direct") + " encoding)";
  }

  /// z3 takes up to 2.8 KB a variable (measured on hypercube:6 all_to_all), so
  /// about 11 GB.
  static constexpr uint64_t maxVariables = 4'000'000;
  /// Resources, as z3 counts them, in a unit of work.
  static constexpr uint64_t resourcesPerUnit = 4;
  const Instance &instance;
  const SolverOptions &options;
  const Deadline &deadline;
};
} // namespace

/// In exceptions and as the reason of an "unknown".
static bool isOutOfMemory(const std::string &message) {
  return message.find("out of memory") != std::string::npos ||
         message.find("memout") != std::string::npos ||
         message.find("max. memory exceeded") != std::string::npos;
}

//===----------------------------------------------------------------------===//
// Running z3
//===----------------------------------------------------------------------===//

/// What the search took, in z3's own count.
static uint64_t resourcesOf(const z3::solver &solver) {
  z3::stats statistics = solver.statistics();
  for (unsigned i = 0; i < statistics.size(); ++i)
    if (statistics.key(i) == "rlimit count")
      return statistics.uint_value(i);
  return 0;
}

/// Schedules with one running sum for each rank and chunk first, then those
/// with several partial sums, if these may be of use.
Outcome Z3Run::answer() {
  bool hasRunningSums = !instance.hasOrder();
  if (hasRunningSums) {
    Outcome outcome = answerWith(std::nullopt);
    if (!std::holds_alternative<Unsatisfiable>(outcome) ||
        !PartialSumEncoding::mayMatter(instance))
      return outcome;
  }
  Outcome outcome = answerWith(PartialSumEncoding::Form());
  if (std::holds_alternative<Unsatisfiable>(outcome))
    outcome = answerWith(PartialSumEncoding::completeForm(instance));
  if (auto *unknown = std::get_if<Unknown>(&outcome); unknown && hasRunningSums)
    unknown->reason = PartialSumEncoding::besideRunningSums(
        deadline.isOver() ? deadline.reason() : unknown->reason);
  return outcome;
}

Outcome Z3Run::answerWith(Form form) {
  try {
    z3::context context; // crashes if it lacks memory, so before the backstop
    MemoryBackstop backstop(options.memoryMiB);
    SearchLimits left = options;
    left.timeoutSeconds = deadline.remainingLimit();
    SearchWatchdog watchdog(left, options.memoryMiB,
                            Z3_get_estimated_alloc_size,
                            [&context] { context.interrupt(); });
    try {
      return answerIn(context, watchdog, form);
    } catch (const z3::exception &) {
      // An interruption may surface as any error.
      if (watchdog.expired())
        return Unknown{watchdog.reason()};
      throw;
    }
  } catch (const std::bad_alloc &) {
    return Unknown{outOfMemoryReason(options.memoryMiB)};
  } catch (const z3::exception &error) {
    if (isOutOfMemory(error.msg()))
      return Unknown{outOfMemoryReason(options.memoryMiB)};
    return Failed{std::string("z3: ") + error.msg()};
  } catch (const std::exception &error) {
    return Failed{std::string("z3 engine: ") + error.what()};
  }
}

Outcome Z3Run::answerIn(z3::context &context, SearchWatchdog &watchdog,
                        Form form) {
  StopFunction stop = [&] { return watchdog.poll(); };
  std::unique_ptr<Z3Encoding> encoding = createEncoding(context, form);
  uint64_t numVariables = encoding->plan(maxVariables, stop);
  if (numVariables > maxVariables)
    return Unknown{
        "instance too large for z3: " + std::to_string(numVariables) +
        " variables or more, the limit is " + std::to_string(maxVariables)};
  z3::solver solver = makeSolver(context);
  if (!stop())
    encoding->encode(solver, stop);
  // A part of the formula must not be solved.
  if (stop())
    return Unknown{watchdog.reason()};
  z3::check_result result = solver.check();
  deadline.charge(resourcesOf(solver) / resourcesPerUnit);
  switch (result) {
  case z3::sat:
    if (z3::model model = solver.get_model(); encoding->isDecodable(model))
      return Satisfied{encoding->decode(model)};
    return Unknown{moreSumsThanNamed};
  case z3::unsat:
    return Unsatisfiable{refutation()};
  case z3::unknown:
    break;
  }
  if (watchdog.expired())
    return Unknown{watchdog.reason()};
  std::string reason = solver.reason_unknown();
  if (reason.find("resource") != std::string::npos)
    deadline.charge(deadline.remainingWork());
  if (deadline.isOutOfWork())
    return gaveUp(deadline);
  return Unknown{isOutOfMemory(reason) ? outOfMemoryReason(options.memoryMiB)
                                       : "z3 gave up: " + reason};
}

z3::solver Z3Run::makeSolver(z3::context &context) const {
  // The plain solver. The default one tries tactics first, which takes longer
  // on every instance of the paper.
  z3::solver solver(context, z3::solver::simple());
  z3::params params(context);
  params.set("random_seed", options.seed);
  constexpr uint64_t most = ~0u;
  if (options.maxWork > 0)
    params.set("rlimit",
               unsigned(std::min(
                   most, std::max<uint64_t>(deadline.remainingWork(), 1) *
                             resourcesPerUnit)));
  // z3 would replace the caller's SIGINT handler while it searches.
  params.set("ctrl_c", false);
  solver.set(params);
  return solver;
}

namespace {
class Z3Backend final : public SolverBackend {
public:
  Z3Backend()
      : SolverBackend({.name = "z3",
                       .workUnit = "resources",
                       .takesReductions = true,
                       .takesMoves = true,
                       .refutes = true,
                       .decides = true,
                       .isReference = true,
                       .prefersParts = true,
                       .takesOrders = true,
                       .takesSwitches = true,
                       .hasSeed = true,
                       .limitsMemory = true}) {}

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    if (options.encoding == Encoding::Paper && instance.collective.combining())
      return {Unknown{"the encoding of the paper has no reductions"},
              "z3/paper"};
    Deadline deadline(options);
    Outcome outcome = Z3Run(instance, options, deadline).answer();
    return {std::move(outcome),
            usesPaper(instance, options) ? "z3/paper" : "z3/direct",
            deadline.elapsedSeconds(), deadline.work()};
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createZ3Backend() {
  return std::make_unique<Z3Backend>();
}
