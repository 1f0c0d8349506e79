//===- Compile.cpp - sccl compile -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "LoweringFlags.h"

#include "sccl/Target/Target.h"

#include "llvm/Support/Process.h"

#include <sys/wait.h>
#include <unistd.h>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("compile", "Compile a schedule for a GPU");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string> target("target", cl::desc("sm_90, gfx942, ..."),
                                   cl::Required, cl::sub(command));
static cl::opt<std::string>
    output("o", cl::desc("Output; .mlir .ptx .cubin .fatbin .s or .hsaco"),
           cl::value_desc("FILE"), cl::Required, cl::sub(command));
static cl::opt<unsigned> blocks("blocks-per-link",
                                cl::desc("Thread blocks for each link"),
                                cl::init(1), cl::sub(command));
static cl::opt<unsigned> blockSize("block-size", cl::desc("Threads per block"),
                                   cl::init(256), cl::sub(command));
static cl::opt<unsigned> residentBlocks(
    "resident-blocks",
    cl::desc("Blocks that the GPU holds at once, if more than its chip "
             "guarantees"),
    cl::init(0), cl::sub(command));
static LoweringFlags lowering(command);
static cl::opt<bool> noAudit("no-audit",
                             cl::desc("Do not check the flags in the assembly"),
                             cl::sub(command));

bool driver::compileChosen() { return bool(command); }

int driver::compileMain() {
  LoweringOptions options = lowering.get();
  options.blocks = blocks;
  options.blockSize = blockSize;
  options.audit = !noAudit;
  options.residentBlocks = residentBlocks;
  return compileFile({input, target, output, options});
}

static int compileHere(const CompileRequest &request, const Target &target,
                       OutputKind kind) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(request.path);
  if (!module)
    return BadInput;
  mlir::FailureOr<std::string> bytes =
      compileFor(*module, target, kind, request.lowering);
  if (failed(bytes))
    return BadInput;
  return writeFile(request.output, *bytes) ? Done : BadInput;
}

int driver::compileFile(const CompileRequest &request) {
  Result<Target> target = findTarget(request.target);
  if (!target)
    return fail(target.error());
  std::optional<OutputKind> kind = outputKindOf(request.output);
  if (!kind)
    return fail("cannot tell what to write from the name '" + request.output +
                "'; it should end in .mlir .ptx .cubin .fatbin .s or .hsaco");
  // LLVM's back ends end the process on an internal error; a child takes that
  // so that we can say what happened.
  llvm::outs().flush();
  pid_t child = fork();
  if (child < 0)
    return fail("cannot start a child process");
  if (child == 0) {
    int code = compileHere(request, *target, *kind);
    llvm::outs().flush();
    llvm::errs().flush();
    _exit(code);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) <= NotKnown)
    return WEXITSTATUS(status);
  return fail("the back end broke down while compiling " + request.path +
              " for " + request.target);
}
