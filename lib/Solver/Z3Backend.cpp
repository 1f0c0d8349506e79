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

#include "Backends.h"
#include "Watchdog.h"
#include "Z3Encoding.h"

#include <new>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Helpers of the encodings
//===----------------------------------------------------------------------===//

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

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

namespace {
/// z3's own memory limit while this object lives. The limit is one number per
/// process, so syntheses that run side by side share the one set last.
class MemoryLimit {
public:
  explicit MemoryLimit(unsigned mebibytes) : mebibytes(mebibytes) {
    if (mebibytes)
      set(std::to_string(mebibytes));
  }
  ~MemoryLimit() {
    if (mebibytes)
      set("0");
  }
  MemoryLimit(const MemoryLimit &) = delete;
  MemoryLimit &operator=(const MemoryLimit &) = delete;

  /// True if z3 has allocated more than it may.
  bool exceeded() const {
    return mebibytes && Z3_get_estimated_alloc_size() >> 20 >= mebibytes;
  }
  std::string reason() const {
    return mebibytes
               ? "out of memory (limit " + std::to_string(mebibytes) + " MiB)"
               : "out of memory (no limit set)";
  }

private:
  static void set(const std::string &value) {
    // The first ends an allocation with an exception, the second ends a search
    // in good order.
    Z3_global_param_set("memory_max_size", value.c_str());
    Z3_global_param_set("memory_high_watermark_mb", value.c_str());
  }
  const unsigned mebibytes;
};

/// One run on one instance.
class Z3Run {
public:
  Z3Run(const Instance &instance, const SolverOptions &options)
      : instance(instance), options(options), memory(options.memoryMiB) {}

  /// Never throws.
  Outcome answer();

private:
  Outcome answerIn(z3::context &context, const Watchdog &watchdog);
  z3::solver makeSolver(z3::context &context) const;
  Outcome giveUp(const Watchdog &watchdog, const std::string &reason) const;
  bool isOutOfMemory(const std::string &message) const;
  std::unique_ptr<Z3Encoding> createEncoding(z3::context &context) const {
    return options.encoding == Encoding::Paper
               ? createPaperEncoding(instance, context)
               : createDirectEncoding(instance, context);
  }
  std::string refutation() const {
    return std::string("refuted by z3 (") +
           (options.encoding == Encoding::Paper ? "paper" : "direct") +
           " encoding)";
  }

  /// At roughly 500 bytes a variable, about 10 GB.
  static constexpr uint64_t maxVariables = 20'000'000;
  const Instance &instance;
  const SolverOptions &options;
  MemoryLimit memory;
};
} // namespace

//===----------------------------------------------------------------------===//
// Running z3
//===----------------------------------------------------------------------===//

Outcome Z3Run::answer() {
  try {
    z3::context context;
    Watchdog watchdog(options, [&context] { context.interrupt(); });
    try {
      return answerIn(context, watchdog);
    } catch (const z3::exception &) {
      // An interruption may surface as any error.
      if (watchdog.expired())
        return Unknown{watchdog.reason()};
      throw;
    }
  } catch (const std::bad_alloc &) {
    return Unknown{memory.reason()};
  } catch (const z3::exception &error) {
    if (isOutOfMemory(error.msg()))
      return Unknown{memory.reason()};
    return Failed{std::string("z3: ") + error.msg()};
  } catch (const std::exception &error) {
    return Failed{std::string("z3 engine: ") + error.what()};
  }
}

Outcome Z3Run::answerIn(z3::context &context, const Watchdog &watchdog) {
  StopFunction stop = [&] { return watchdog.expired() || memory.exceeded(); };
  std::unique_ptr<Z3Encoding> encoding = createEncoding(context);
  uint64_t numVariables = encoding->plan(maxVariables, stop);
  if (!stop() && numVariables > maxVariables)
    return Unknown{
        "instance too large for z3: " + std::to_string(numVariables) +
        " variables, the limit is " + std::to_string(maxVariables)};
  z3::solver solver = makeSolver(context);
  if (!stop())
    encoding->encode(solver, stop);
  // A part of the formula must not be solved.
  if (stop())
    return giveUp(watchdog, "");
  switch (solver.check()) {
  case z3::sat: {
    z3::model model = solver.get_model();
    return Satisfied{encoding->decode(model)};
  }
  case z3::unsat:
    return Unsatisfiable{refutation()};
  case z3::unknown:
    break;
  }
  return giveUp(watchdog, solver.reason_unknown());
}

z3::solver Z3Run::makeSolver(z3::context &context) const {
  z3::solver solver(context);
  z3::params params(context);
  params.set("random_seed", options.seed);
  // z3 would replace the caller's SIGINT handler while it searches.
  params.set("ctrl_c", false);
  solver.set(params);
  return solver;
}

Outcome Z3Run::giveUp(const Watchdog &watchdog,
                      const std::string &reason) const {
  if (watchdog.expired())
    return Unknown{watchdog.reason()};
  if (memory.exceeded() || isOutOfMemory(reason))
    return Unknown{memory.reason()};
  return Unknown{"z3 gave up: " + reason};
}

/// z3 has one spelling for exceptions and two for "unknown".
bool Z3Run::isOutOfMemory(const std::string &message) const {
  return message.find("out of memory") != std::string::npos ||
         message.find("memout") != std::string::npos ||
         message.find("max. memory exceeded") != std::string::npos;
}

namespace {
class Z3Backend final : public SolverBackend {
public:
  std::string_view name() const override { return "z3"; }

  std::string whyNot(const Instance &instance) const override {
    if (instance.collective.combining())
      return "collective '" + instance.collective.name() +
             "' combines chunks, z3 takes collectives that only move them";
    return "";
  }

  SynthesisResult solve(const Instance &instance,
                        const SolverOptions &options) const override {
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = Z3Run(instance, options).answer();
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    return {std::move(outcome),
            options.encoding == Encoding::Paper ? "z3/paper" : "z3/direct",
            seconds.count()};
  }
};
} // namespace

std::unique_ptr<SolverBackend> sccl::createZ3Backend() {
  return std::make_unique<Z3Backend>();
}
