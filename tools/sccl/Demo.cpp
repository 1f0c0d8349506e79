//===- Demo.cpp - sccl demo -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The main job of README's first command: from a topology to kernels that run.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Output.h"
#include "Plans.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("demo", "Synthesize, check, compile and run one "
                                      "collective");
static cl::opt<std::string> directory("o", cl::desc("Folder for the artefacts"),
                                      cl::value_desc("DIR"),
                                      usually("sccl-demo"), cl::sub(command));

bool driver::demoChosen() { return bool(command); }

/// Announces a stage, runs it, and reports how it ended.
template <typename Stage>
static bool stage(const llvm::Twine &title, Stage run) {
  out() << "== " << title << '\n';
  llvm::outs().flush();
  return run() == Done;
}

int driver::demoMain() {
  if (!makeFolder(directory))
    return BadInput;
  auto path = [](llvm::StringRef file) {
    llvm::SmallString<128> result(directory.getValue());
    llvm::sys::path::append(result, file);
    return result.str().str();
  };
  std::string schedule = path("all_gather.mlir");
  std::string ptx = path("all_gather.sm_90.ptx");
  std::string hsaco = path("all_gather.gfx942.hsaco");

  SynthesisRequest request;
  // The reference solver, where it is built.
  for (const auto &backend : solverBackends())
    if (backend->name() == "z3")
      request.engine = "z3";
  request.machine = "dgx1";
  request.collective = "all_gather";
  request.chunks = {6};
  request.steps = 3;
  request.rounds = 7;
  request.output = schedule;
  CompileRequest nvidia{schedule, "sm_90", ptx};
  CompileRequest amd{schedule, "gfx942", hsaco};

  bool done =
      stage("synthesize all_gather on a DGX-1: 6 chunks, 3 steps, 7 rounds",
            [&] { return synthesizeSchedule(request); }) &&
      stage("check the schedule, independently of the solver",
            [&] { return checkFile(schedule, false); }) &&
      stage("compile for NVIDIA sm_90", [&] { return compileFile(nvidia); }) &&
      stage("compile for AMD gfx942", [&] { return compileFile(amd); }) &&
      stage("run the same program on this CPU, 8 ranks as threads",
            [&] { return runPlan({schedule}, RanksAs::Threads); });
  if (!done)
    return fail("the demo did not succeed");
  out() << "== success; the artefacts are\n";
  for (const std::string &file : {schedule, ptx, hsaco}) {
    uint64_t size = 0;
    if (llvm::sys::fs::file_size(file, size))
      return fail("cannot find " + file);
    out() << "   " << file << " (" << size << " bytes)\n";
  }
  return Done;
}
