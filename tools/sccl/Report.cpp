//===- Report.cpp - sccl report -------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Pictures.h"
#include "PlanReport.h"
#include "Plans.h"

#include "sccl/Report/Page.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;
namespace cl = llvm::cl;

static cl::SubCommand command("report",
                              "Write schedules as one HTML page to look at");
static cl::list<std::string>
    inputs(cl::Positional,
           cl::desc("FILE.mlir|FILE.xml|FILE.json|FILE.sccl|DIR..."),
           cl::OneOrMore, cl::sub(command));
static cl::opt<std::string>
    bytesText("bytes",
              cl::desc("Size of one send buffer that sentences are about"),
              cl::init("1MiB"), cl::sub(command));
static cl::opt<std::string>
    machineName("machine",
                cl::desc("Whose boxes they are: topology, machine or .mlir "
                         "file (default: what the widest links join)"),
                cl::sub(command));
static PictureFlags flags(command);
static cl::opt<std::string> output("o", cl::desc("Write the page here"),
                                   cl::value_desc("FILE.html"), cl::init("-"),
                                   cl::sub(command));

bool driver::reportChosen() { return bool(command); }

static std::vector<MeasuredRow> rowsOf(const Findings &findings) {
  std::vector<MeasuredRow> rows;
  for (const MeasuredTime &time : findings.measured) {
    double least =
        leastMicroseconds(findings, findings.anySteps(), double(time.bytes));
    rows.push_back(
        {sizeText(double(time.bytes)), timeText(time.microseconds),
         llvm::formatv("{0:f2}", time.microseconds / least),
         (time.schedule.empty() ? "" : time.schedule + ", ") + time.source});
  }
  return rows;
}

/// A plan goes on a page of its own, which no option changes.
static int reportPlanAlone() {
  if (inputs.size() > 1)
    return fail("a plan, as '" + *llvm::find_if(inputs, isPlanFile) +
                "', goes on a page of its own");
  std::string idle = findGiven({&machineName, &bytesText});
  if (idle.empty())
    idle = flags.findGiven();
  if (!idle.empty())
    return fail(idle + " needs the schedules that a plan was compiled of");
  return checkWritable(output) ? reportPlan(inputs[0], output) : BadInput;
}

int driver::reportMain() {
  if (llvm::any_of(inputs, isPlanFile))
    return reportPlanAlone();
  std::optional<uint64_t> bytes = readBytes("--bytes", bytesText);
  if (!bytes)
    return BadInput;
  if (*bytes == 0)
    return fail("--bytes must be at least 1");
  std::optional<CostModel> model = flags.model();
  std::optional<std::vector<uint64_t>> sizes = flags.sizes();
  if (!model || !sizes || !checkWritable(output))
    return BadInput;
  std::optional<Placement> machine;
  RankGroups boxes;
  if (!machineName.empty()) {
    std::optional<Topology> topology =
        loadTopology(machineName, /*where=*/nullptr, &boxes);
    if (!topology)
      return BadInput;
    machine = {machineName, std::move(*topology)};
  }
  std::optional<std::vector<Subject>> subjects =
      loadComparable(std::vector<std::string>(inputs.begin(), inputs.end()),
                     machine ? &*machine : nullptr);
  if (!subjects || (machine && !isOf(*machine, subjects->front().name,
                                     subjects->front().topology)))
    return BadInput;
  std::optional<Findings> findings = findOut(std::move(*subjects), *model);
  if (!findings)
    return BadInput;
  if (machine)
    findings->boxes = std::move(boxes);
  takeOwnSpeeds(*findings, flags.hasModel());
  findings->sizes = std::move(*sizes);
  if (!flags.takeMeasured(*findings))
    return BadInput;
  std::optional<std::vector<FrontierMark>> marks = flags.marks(*findings);
  if (!marks)
    return BadInput;
  PageContents contents{
      findings->subjects,   findings->explanations,
      findings->boxes,      findings->model,
      double(*bytes),       std::move(*marks),
      findings->anySteps(), timeCurves(*findings),
      rowsOf(*findings),    clockText(findings->model, findings->modelSource)};
  return writeFile(output, pageText(contents)) ? Done : BadInput;
}
