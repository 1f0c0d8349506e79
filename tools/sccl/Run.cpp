//===- Run.cpp - sccl run -------------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoweringFlags.h"
#include "Plans.h"

#include "sccl/Measure/HostExecutor.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("run",
                              "Execute a schedule on this machine's CPU");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string>
    bytes("bytes", cl::desc("Size of one send buffer, e.g. 4100 or 1MiB"),
          cl::init("1MiB"), cl::sub(command));
static LoweringFlags lowering(command,
                              {OptionGroup::Program, OptionGroup::Data});
static cl::opt<unsigned> iterations("iterations",
                                    cl::desc("Launches, each of them verified"),
                                    cl::init(10), cl::sub(command));
static cl::opt<double> timeout("timeout", cl::desc("Limit in seconds"),
                               cl::init(60), cl::sub(command));
static cl::opt<bool> processes("processes",
                               cl::desc("Ranks as processes, with libsccl"),
                               cl::sub(command));
static cl::opt<std::string>
    launcher("launcher", cl::desc("Ranks of mpirun: mpi, openmpi or mpich"),
             cl::sub(command));
static cl::opt<bool>
    inPlace("in-place", cl::desc("Use one buffer for sending and receiving"),
            cl::sub(command));
static cl::opt<bool> json("json", cl::desc("Print the result as JSON"),
                          cl::sub(command));

bool driver::runChosen() { return bool(command); }

/// Keeps sums over all ranks and slots in 64 bits.
static constexpr uint64_t maxBytes = uint64_t(1) << 42;

int driver::runMain() {
  std::optional<uint64_t> size = parseBytes(bytes);
  if (!size)
    return fail("cannot read '" + bytes + "' as a number of bytes");
  if (*size > maxBytes)
    return fail("--bytes is " + formatBytes(*size) + ", the limit is " +
                formatBytes(maxBytes));
  if (!(timeout > 0))
    return fail("--timeout must be more than 0 seconds");
  if (iterations == 0)
    return fail("--iterations must be at least 1");
  RunRequest request = {input,   *size, lowering.get(), iterations,
                        timeout, json,  inPlace};
  request.lowering.bytes = *size;
  bool isPlan = llvm::StringRef(input).ends_with(".sccl");
  if (!isPlan && !processes && launcher.empty())
    return runSchedule(request);
  if (std::string option = lowering.findGiven(OptionGroup::Program);
      isPlan && !option.empty())
    return fail(option + " is for schedules, and '" + input +
                "' is compiled already");
  if (std::string option = lowering.findReplacedByVariants(); !option.empty())
    return fail(option + " is for ranks as threads; others take the variant "
                         "that libsccl chooses");
  std::optional<RanksAs> kind =
      chooseRanksAs(processes ? "processes" : "threads", launcher);
  return kind ? runPlan(request, *kind) : BadInput;
}

int driver::reportRun(const RunRequest &request, llvm::StringRef collective,
                      unsigned ranks, const RunReport &run) {
  double gigabytes =
      run.bestSeconds > 0 ? request.bytes / run.bestSeconds * 1e-9 : 0;
  if (request.json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"collective", collective},
                        {"ranks", ranks},
                        {"bytes", request.bytes},
                        {"dtype", optionText(request.lowering.element)},
                        {"iterations", request.iterations},
                        {"elements", run.elements},
                        {"wrong", run.wrong},
                        {"seconds", run.bestSeconds},
                        {"gigabytes_per_second", gigabytes},
                        {"status", run.ok() ? "ok" : "failed"},
                        {"reason",
                         run.failure.empty() ? run.firstWrong : run.failure}})
                 << '\n';
    return run.ok() ? Done : BadInput;
  }
  llvm::outs() << llvm::formatv(
      "{0}, {1} ranks, {2} per send buffer, {3}, {4} launches: #wrong {5} of "
      "{6} elements",
      collective, ranks, formatBytes(request.bytes), request.lowering.element,
      request.iterations, run.wrong, run.elements);
  if (run.failure.empty())
    llvm::outs() << llvm::formatv(", best {0:f1} us, {1:f2} GB/s",
                                  run.bestSeconds * 1e6, gigabytes);
  llvm::outs() << '\n';
  if (!run.firstWrong.empty())
    fail("wrong result in " + run.firstWrong);
  if (!run.failure.empty())
    fail(run.failure);
  return run.ok() ? Done : BadInput;
}

int driver::runSchedule(const RunRequest &request) {
  const ElementType &element = elementType(request.lowering.element);
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(request.path);
  if (!module)
    return BadInput;
  mlir::FailureOr<HostPlan> plan = HostPlan::compile(*module, request.lowering);
  if (failed(plan))
    return BadInput;

  const Collective &collective = plan->collective();
  uint64_t segments = collective.chunks() / collective.chunksPerSegment();
  if (request.bytes % (segments * element.bytes) != 0)
    return fail("--bytes=" + llvm::Twine(request.bytes) +
                " is not a whole number of " + element.name + " in " +
                llvm::Twine(segments) + " segments");
  Result<RunReport> run = runOnHost(
      *plan, {request.bytes / segments, element, request.lowering.reduction,
              request.iterations, request.timeoutSeconds, request.inPlace});
  if (!run)
    return fail(run.error());
  return reportRun(request, collective.name(), collective.numRanks(), *run);
}
