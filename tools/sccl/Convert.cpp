//===- Convert.cpp - sccl convert -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules in the formats of other tools.
//
//===----------------------------------------------------------------------===//

#include "CheckMsccl.h"
#include "Driver.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("convert", "Write a schedule as an algorithm of "
                                         "MSCCL, or such a file as a schedule");
static cl::opt<std::string> input(cl::Positional, cl::desc("IN.mlir|IN.xml"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string> output(cl::Positional, cl::desc("OUT.xml|OUT.mlir"),
                                   cl::Required, cl::sub(command));
static MscclFlags mscclFlags(command);
static cl::opt<std::string> protocol("protocol",
                                     cl::desc("Simple, LL or LL128"),
                                     cl::init("Simple"), cl::sub(command));
static cl::opt<std::string>
    minBytes("min-bytes", cl::desc("Smallest call that is to take it"),
             cl::init("0"), cl::sub(command));
static cl::opt<std::string>
    maxBytes("max-bytes",
             cl::desc("Largest call that is to take it; 0 for no limit"),
             cl::init("0"), cl::sub(command));

bool driver::convertChosen() { return bool(command); }

static int exportSchedule() {
  std::optional<uint64_t> least = parseBytes(minBytes.getValue());
  std::optional<uint64_t> most = parseBytes(maxBytes.getValue());
  if (!least || !most)
    return fail("--min-bytes and --max-bytes must be sizes, such as 64KiB");
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(input);
  if (!module)
    return BadInput;
  auto schedules = module->getOps<coll::ScheduleOp>();
  if (size_t count = std::distance(schedules.begin(), schedules.end());
      count != 1)
    return fail(input + " holds " + llvm::Twine(count) +
                " schedules, expected one");
  coll::ScheduleOp op = *schedules.begin();
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  if (failed(problem))
    return BadInput;
  exchange::MscclExportOptions options{
      mscclFlags.givenDialect().value_or(exchange::MscclDialect::Nccl),
      op.getSymName().str(), protocol, *least, *most};
  Result<exchange::MscclAlgorithm> algorithm =
      exchange::toMsccl(problem->collective, coll::importSchedule(op), options);
  if (!algorithm) {
    op.emitError(algorithm.error());
    return BadInput;
  }
  return writeFile(output, exchange::printMsccl(*algorithm)) ? Done : BadInput;
}

static int writeSchedule(Result<exchange::FoundSchedule> found) {
  if (!found)
    return fail(input + ": " + found.error());
  Result<Instance> instance =
      Instance::make(std::move(found->topology), std::move(found->collective),
                     found->schedule.steps.size(), found->schedule.rounds());
  if (!instance)
    return fail(input + ": " + instance.error());
  return writeFile(output, scheduleText(*instance, found->schedule)) ? Done
                                                                     : BadInput;
}

static int importAlgorithm() {
  std::optional<exchange::MscclCheckOptions> options = mscclFlags.read();
  if (!options)
    return BadInput;
  std::optional<exchange::MscclAlgorithm> algorithm = readMsccl(input);
  return algorithm ? writeSchedule(exchange::fromMsccl(*algorithm, *options))
                   : BadInput;
}

static int importPlan() {
  std::optional<exchange::MscclppCheckOptions> options =
      mscclFlags.readForMscclpp();
  if (!options)
    return BadInput;
  std::optional<exchange::MscclppPlan> plan = readMscclpp(input);
  return plan ? writeSchedule(exchange::fromMscclpp(*plan, *options))
              : BadInput;
}

int driver::convertMain() {
  auto isModule = [](llvm::StringRef path) { return path.ends_with(".mlir"); };
  std::optional<AlgorithmFormat> from = algorithmFormat(input),
                                 to = algorithmFormat(output);
  if (isModule(input) && to == AlgorithmFormat::Msccl)
    return exportSchedule();
  if (from == AlgorithmFormat::Msccl && isModule(output))
    return importAlgorithm();
  if (from == AlgorithmFormat::Mscclpp && isModule(output))
    return importPlan();
  return fail("expected a schedule in .mlir and an algorithm in .xml or .json");
}
