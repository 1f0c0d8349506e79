//===- sccl-execute.cpp - Looks for races in compiled programs ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: sccl-execute PLAN.sccl [--option=value ...], for plans that were
// compiled with --target=host --instrument. Executes every program for CPUs
// under ThreadSanitizer, with delays before each op. With --mutants, once more
// without each signal and wait of each rank in turn, each in a process of its
// own. Exit codes: 0 no race and right results, or all mutants found; 1 bad
// input, wrong results, or a mutant that was not found; 66 a race.
//
//===----------------------------------------------------------------------===//

#include "Execution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;
namespace cl = llvm::cl;

static cl::opt<std::string> input(cl::Positional, cl::Required,
                                  cl::desc("PLAN.sccl"));
static cl::opt<unsigned> launches("launches", cl::init(3),
                                  cl::desc("Launches of each program"));
static cl::opt<uint64_t> elements("count", cl::init(1000),
                                  cl::desc("Elements of a segment"));
static cl::opt<unsigned> seed("seed", cl::init(1), cl::desc("Of the delays"));
static cl::opt<unsigned> delay("delay", cl::init(50),
                               cl::desc("The longest delay, microseconds"));
static cl::opt<bool>
    mutants("mutants", cl::desc("Leave out each signal and wait in turn"));

static cl::opt<unsigned>
    tries("tries", cl::init(20),
          cl::desc("Seeds for a mutant that nothing has shown"));

static constexpr int raceCode = 66;
static constexpr int wrongCode = 10, stuckCode = 11;

extern "C" const char *__tsan_default_options() {
  return "halt_on_error=1:exitcode=66";
}
// LLVM 22 calls what the run time of GCC 12 lacks; it intercepts libc's.
extern "C" __attribute__((weak)) void *__tsan_memcpy(void *to, const void *from,
                                                     size_t bytes) {
  return memcpy(to, from, bytes);
}
extern "C" __attribute__((weak)) void *
__tsan_memmove(void *to, const void *from, size_t bytes) {
  return memmove(to, from, bytes);
}
extern "C" __attribute__((weak)) void *__tsan_memset(void *to, int byte,
                                                     size_t bytes) {
  return memset(to, byte, bytes);
}

static int fail(const llvm::Twine &message) {
  llvm::errs() << "sccl-execute: error: " << message << '\n';
  return 1;
}

static Result<ExecutionResult> execute(const plan::Plan &plan, unsigned kernel,
                                       std::optional<SyncOp> drop = {},
                                       unsigned again = 0) {
  ExecutionOptions options;
  options.launches = launches;
  options.count = elements;
  options.seed = seed + again;
  options.delayMicroseconds = delay;
  options.drop = drop;
  Result<std::unique_ptr<Execution>> execution =
      Execution::create(plan, kernel, options);
  if (!execution)
    return Error{execution.error()};
  return (*execution)->run();
}

namespace {
/// How many mutants were found, and by what.
struct Kills {
  unsigned race = 0, wrong = 0, stuck = 0, madeUpFor = 0, missed = 0;
  unsigned all() const { return race + wrong + stuck + madeUpFor + missed; }
};
} // namespace

/// The exit code of a process that executes the program without `drop`. What is
/// missing shows in some orders of events only, so up to `tries` are tried.
static int codeWithout(const plan::Plan &plan, unsigned kernel, SyncOp drop,
                       unsigned tries, unsigned again = 0) {
  pid_t child = fork();
  if (child == 0) {
    int quiet = open("/dev/null", O_WRONLY);
    dup2(quiet, STDERR_FILENO);
    Result<ExecutionResult> result = execute(plan, kernel, drop, again);
    _exit(!result           ? 1
          : result->isStuck ? stuckCode
          : result->wrong   ? wrongCode
                            : 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return 1;
  if (!WIFEXITED(status))
    return 1;
  int code = WEXITSTATUS(status);
  return code == 0 && again + 1 < tries
             ? codeWithout(plan, kernel, drop, tries, again + 1)
             : code;
}

/// Leaves out each signal and wait of each thread. Prints those that nothing
/// shows.
static Kills tryMutants(const plan::Plan &plan, unsigned kernel,
                        llvm::ArrayRef<ExecutionResult::Thread> threads) {
  Kills kills;
  for (auto [number, thread] : llvm::enumerate(threads))
    for (auto [index, op] : llvm::enumerate(thread.syncOps)) {
      SyncOp drop{unsigned(number), unsigned(index)};
      int code = codeWithout(plan, kernel, drop, op.isMadeUpFor ? 1 : tries);
      kills.race += code == raceCode;
      kills.wrong += code == wrongCode;
      kills.stuck += code == stuckCode;
      bool isMadeUpFor = code == 0 && op.isMadeUpFor;
      bool isMissed = code != raceCode && code != wrongCode &&
                      code != stuckCode && !isMadeUpFor;
      kills.madeUpFor += isMadeUpFor;
      kills.missed += isMissed;
      if (isMissed)
        llvm::outs() << "  " << thread.name << " without "
                     << (op.isWait ? "wait" : "signal") << ", op " << index
                     << ": exit " << code << '\n';
    }
  return kills;
}

/// Executes one kernel and prints what came of it. Returns the exit code.
static int report(const plan::Plan &plan, unsigned kernel) {
  const plan::KernelInfo &info = plan.manifest.kernels[kernel];
  const plan::ProgramEntry &program = plan.manifest.programs[info.program];
  Result<ExecutionResult> result = execute(plan, kernel);
  if (!result)
    return fail(result.error());
  llvm::outs() << program.variant << ", " << program.codeShape;
  if (!info.element.empty())
    llvm::outs() << ", " << info.element << ' ' << info.reduction;
  llvm::outs() << ": " << plan.manifest.ranks << " ranks, "
               << result->threads.size() << " threads, " << launches
               << " launches, " << result->elements << " elements, "
               << result->wrong << " wrong"
               << (result->isStuck ? ", stuck" : ", no race") << '\n';
  if (result->wrong)
    llvm::outs() << "  " << result->firstWrong << '\n';
  if (result->isStuck || result->wrong)
    return 1;
  if (!mutants)
    return 0;
  llvm::outs().flush();
  Kills kills = tryMutants(plan, kernel, result->threads);
  llvm::outs() << "  " << kills.all() << " mutants: " << kills.race
               << " by a race, " << kills.wrong << " by wrong results, "
               << kills.stuck << " stuck, " << kills.madeUpFor
               << " made up for by later signals, " << kills.missed
               << " missed\n";
  return kills.missed ? 1 : 0;
}

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv, "looks for races in plans\n");
  auto buffer = llvm::MemoryBuffer::getFile(input, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/true,
                                            /*IsVolatile=*/true);
  if (!buffer)
    return fail(input + ": " + buffer.getError().message());
  Result<plan::Plan> plan = plan::readPlan((*buffer)->getBuffer());
  if (!plan)
    return fail(input + ": " + plan.error());
  bool hasAny = false;
  int code = 0;
  for (unsigned kernel = 0; kernel < plan->manifest.kernels.size(); ++kernel)
    if (plan->manifest.kernels[kernel].format == "elf") {
      hasAny = true;
      code = std::max(code, report(*plan, kernel));
    }
  return hasAny ? code : fail(input + " has no code for CPUs");
}
