//===- Run.cpp - sccl run -------------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "LoweringFlags.h"
#include "Plans.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("run",
                              "Execute a schedule on this machine's CPU");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string>
    bytes("bytes", cl::desc("Size of one send buffer, e.g. 4100 or 1MiB"),
          usually("1MiB"), cl::sub(command));
static LoweringFlags lowering(command, {OptionGroup::Program, OptionGroup::Data,
                                        OptionGroup::Shape});
static cl::opt<unsigned> iterations("iterations",
                                    cl::desc("Launches, each of them verified"),
                                    usually(10), cl::sub(command));
static cl::opt<double> timeout("timeout", cl::desc("Limit in seconds"),
                               usually(60), cl::sub(command), cl::Hidden);
static cl::opt<std::string> ranksAs("ranks-as",
                                    cl::desc("threads or processes"),
                                    usually("threads"), cl::sub(command));
static cl::opt<std::string>
    launcher("launcher", cl::desc("Ranks of mpirun: mpi, openmpi or mpich"),
             cl::sub(command));
static cl::opt<bool>
    inPlace("in-place", cl::desc("Use one buffer for sending and receiving"),
            cl::sub(command));
static cl::opt<bool> json("json", cl::desc("Print the result as JSON"),
                          cl::sub(command));

static cl::opt<std::string>
    tracePath("trace",
              cl::desc("Write what channels did when here, for Perfetto: "
                       "--iterations launches in a row"),
              cl::value_desc("FILE.json"), cl::sub(command));

bool driver::runChosen() { return bool(command); }

/// Keeps sums over all ranks and slots in 64 bits.
static constexpr uint64_t maxBytes = uint64_t(1) << 42;

int driver::runMain() {
  std::optional<uint64_t> size = readBytes("--bytes", bytes);
  if (!size)
    return BadInput;
  if (*size > maxBytes)
    return fail("--bytes is " + formatBytes(*size) + ", the limit is " +
                formatBytes(maxBytes));
  if (!checkLaunchLimit(timeout))
    return BadInput;
  if (!tracePath.empty() && !checkWritable(tracePath))
    return BadInput;
  if (iterations == 0)
    return fail("--iterations must be at least 1");
  RunRequest request = {input,      *size,   lowering.get(), lowering.given(),
                        iterations, timeout, json,           inPlace,
                        tracePath};
  llvm::erase_if(request.given, [](const LoweringOptionRow *row) {
    return row->member == LoweringOptionRow::Member(&LoweringOptions::element);
  });
  request.lowering.bytes = *size;
  request.lowering.traced = !request.trace.empty();
  bool isPlan = isPlanFile(input);
  std::string option = lowering.findGiven(OptionGroup::Program);
  if (option.empty())
    option = lowering.findGiven(OptionGroup::Shape);
  if (isPlan && !option.empty())
    return fail(option + " is for schedules, and '" + input +
                "' is compiled already");
  if (std::string idle = lowering.findIdle(); !idle.empty())
    return fail(idle);
  // mpirun starts processes.
  bool isSaid = launcher.empty() || ranksAs.getNumOccurrences();
  std::optional<RanksAs> kind =
      chooseRanksAs(isSaid ? ranksAs.getValue() : "processes", launcher);
  return kind ? runPlan(request, *kind) : BadInput;
}
