//===- ExplainPage.cpp - sccl explain -o PAGE.html ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "sccl/Report/Page.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

static std::vector<MeasuredRow> rowsOf(const ExplainedSchedules &findings) {
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

int driver::writePage(const ExplainRequest &request) {
  if (!checkWritable(request.output))
    return BadInput;
  std::optional<Placement> machine;
  RankGroups boxes;
  if (!request.machine.empty()) {
    std::optional<Topology> topology =
        loadTopology(request.machine, /*where=*/nullptr, &boxes);
    if (!topology)
      return BadInput;
    machine = {request.machine, std::move(*topology)};
  }
  std::optional<std::vector<Subject>> subjects =
      loadComparable(request.inputs, machine ? &*machine : nullptr);
  if (!subjects || (machine && !isOf(*machine, subjects->front().name,
                                     subjects->front().topology)))
    return BadInput;
  std::optional<ExplainedSchedules> findings =
      findOut(std::move(*subjects), request.model);
  if (!findings)
    return BadInput;
  if (machine)
    findings->boxes = std::move(boxes);
  takeOwnSpeeds(*findings, request.flags.hasModel());
  findings->sizes = request.sizes;
  if (!request.flags.takeMeasured(*findings))
    return BadInput;
  std::optional<std::vector<FrontierMark>> marks =
      request.flags.marks(*findings);
  if (!marks)
    return BadInput;
  PageContents contents{
      findings->subjects,    findings->explanations,
      findings->boxes,       findings->model,
      double(request.bytes), std::move(*marks),
      findings->anySteps(),  timeCurves(*findings),
      rowsOf(*findings),     clockText(findings->model, findings->modelSource)};
  return writeFile(request.output, pageText(contents)) ? Done : BadInput;
}
