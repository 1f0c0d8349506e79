//===- ExplainPicture.cpp - sccl explain --picture, -o PAGE.html ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "sccl/Report/Page.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

static bool isPng(llvm::StringRef output) {
  return llvm::sys::path::extension(output) == ".png";
}
static PictureFor useOf(const ExplainRequest &request) {
  return isPng(request.output) ? PictureFor::Image : PictureFor::File;
}

/// Has a converter make a PNG of `picture` in `output`. Prints an error and
/// returns false if there is none, or it fails.
static bool writePng(llvm::StringRef output, const std::string &picture) {
  llvm::ErrorOr<std::string> converter =
      llvm::sys::findProgramByName("rsvg-convert");
  if (!converter) {
    fail("PNG needs rsvg-convert in PATH (Debian: librsvg2-bin); SVG does not");
    return false;
  }
  llvm::SmallString<128> path, converted;
  int file = -1;
  if (llvm::sys::fs::createTemporaryFile("sccl", "svg", file, path) ||
      llvm::sys::fs::createTemporaryFile("sccl", "png", converted)) {
    fail("cannot create a temporary file");
    return false;
  }
  llvm::FileRemover remover(path), removerOfConverted(converted);
  {
    llvm::raw_fd_ostream stream(file, /*shouldClose=*/true);
    stream << picture;
  }
  std::string message;
  if (llvm::sys::ExecuteAndWait(
          *converter, {*converter, "-z", "2", "-o", converted, path.str()},
          std::nullopt, {}, 0, 0, &message) != 0) {
    fail("rsvg-convert failed" + (message.empty() ? "" : ": " + message));
    return false;
  }
  auto image = llvm::MemoryBuffer::getFile(converted);
  if (!image)
    fail("cannot read what rsvg-convert wrote: " + image.getError().message());
  return image && writeFile(output, (*image)->getBuffer());
}

static int write(llvm::StringRef output, const std::string &picture) {
  bool isWritten =
      isPng(output) ? writePng(output, picture) : writeFile(output, picture);
  return isWritten ? Done : BadInput;
}

/// What is wrong with the options, or nothing.
static std::string findMistake(const PictureFlags &flags, PictureKind kind,
                               size_t numSchedules, unsigned trees) {
  bool isOfMany = kind == PictureKind::Frontier || kind == PictureKind::Time;
  if (!isOfMany && numSchedules > 1)
    return "this picture is of one schedule, and there are " +
           std::to_string(numSchedules);
  if (flags.hasPoints() && kind != PictureKind::Frontier)
    return "--points is for --picture=frontier";
  if (flags.hasMeasured() && kind != PictureKind::Time)
    return "--measured is for --picture=time";
  if (std::string idle = flags.findOfTimes();
      !idle.empty() && kind != PictureKind::Time)
    return idle + " is for --picture=time";
  return trees == 0 ? "--trees must be at least 1" : "";
}

static int drawTopology(const ExplainRequest &request) {
  RankGroups boxes;
  std::optional<Topology> topology =
      loadTopology(request.machine, /*where=*/nullptr, &boxes);
  if (!topology)
    return BadInput;
  return write(request.output,
               machinePicture(*topology, boxes, nullptr, useOf(request)));
}

/// The picture of `findings`. Prints an error and returns nothing on failure.
static std::optional<std::string> draw(const ExplainRequest &request,
                                       const ExplainedSchedules &findings,
                                       PictureKind kind, unsigned trees) {
  const Subject &subject = findings.subjects.front();
  PictureFor use = useOf(request);
  switch (kind) {
  case PictureKind::Machine:
    return machinePicture(subject.topology, findings.boxes, &subject, use);
  case PictureKind::Frontier:
    if (auto marks = request.flags.marks(findings))
      return frontierPicture(*marks, findings.anySteps(), use);
    return std::nullopt;
  case PictureKind::Time:
    return timePicture(timeCurves(findings), use);
  case PictureKind::Steps:
    return stepsPicture(subject, groupsToDraw(subject.topology, findings.boxes),
                        use);
  case PictureKind::Trees:
    return treesPicture(subject, trees, use);
  case PictureKind::None:
    break;
  }
  return std::nullopt;
}

int driver::drawPicture(const ExplainRequest &request, PictureKind kind,
                        unsigned trees) {
  if (!llvm::is_contained({"", ".svg", ".png"},
                          llvm::sys::path::extension(request.output)))
    return fail("pictures are .svg or .png files, and -o is '" +
                request.output + "'");
  bool isOfMachine = !request.machine.empty();
  if (isOfMachine && (kind != PictureKind::Machine || !request.inputs.empty()))
    return fail("--machine is for --picture=machine without a schedule");
  size_t numSchedules = 1;
  std::optional<std::vector<Subject>> subjects;
  if (!isOfMachine) {
    if (request.inputs.empty())
      return fail("no schedule is given, and no --machine");
    subjects = loadComparable(request.inputs);
    if (!subjects)
      return BadInput;
    numSchedules = subjects->size();
  }
  if (std::string mistake =
          findMistake(request.flags, kind, numSchedules, trees);
      !mistake.empty())
    return fail(mistake);
  if (isOfMachine)
    return drawTopology(request);
  ExplainedSchedules findings;
  if (kind == PictureKind::Frontier || kind == PictureKind::Time) {
    std::optional<ExplainedSchedules> known =
        findOut(std::move(*subjects), request.model);
    if (!known)
      return BadInput;
    findings = std::move(*known);
    takeOwnSpeeds(findings, request.flags.hasModel());
  } else {
    findings.boxes = boxesOf(subjects->front());
    findings.subjects = std::move(*subjects);
  }
  findings.sizes = request.sizes;
  if (!request.flags.takeMeasured(findings))
    return BadInput;
  std::optional<std::string> picture = draw(request, findings, kind, trees);
  return picture ? write(request.output, *picture) : BadInput;
}

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
