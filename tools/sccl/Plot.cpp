//===- Plot.cpp - sccl plot -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "Pictures.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;
namespace cl = llvm::cl;

namespace {
enum class Kind { Machine, Frontier, Time, Steps, Trees };
} // namespace

static cl::SubCommand command("plot", "Draw machines, frontiers and schedules");
static cl::list<std::string>
    inputs(cl::Positional, cl::desc("FILE.mlir|DIR..."), cl::sub(command));
static cl::opt<Kind> kind(
    "picture", cl::desc("What to draw"), cl::Required, cl::sub(command),
    cl::values(
        clEnumValN(Kind::Machine, "machine", "Ranks, links and their loads"),
        clEnumValN(Kind::Frontier, "frontier",
                   "R/C over S: schedules, certified bounds, NCCL's ring"),
        clEnumValN(Kind::Time, "time",
                   "Time over size: bound, model and measurements"),
        clEnumValN(Kind::Steps, "steps", "A schedule as ranks and steps"),
        clEnumValN(Kind::Trees, "trees", "The ways of single chunks")));
static cl::opt<std::string>
    topologyName("topology",
                 cl::desc("For --picture=machine without a schedule: "
                          "topology, machine or .mlir file"),
                 cl::sub(command));
static cl::opt<unsigned> trees("trees", cl::desc("Chunks that are drawn"),
                               cl::init(8), cl::sub(command));
static PictureFlags flags(command);
static cl::opt<std::string> output("o", cl::desc("Write the picture here"),
                                   cl::value_desc("FILE.svg|FILE.png"),
                                   cl::init("-"), cl::sub(command));

bool driver::plotChosen() { return bool(command); }

static llvm::StringRef extension() {
  return llvm::sys::path::extension(output);
}
static bool isPng() { return extension() == ".png"; }
static PictureFor use() {
  return isPng() ? PictureFor::Image : PictureFor::File;
}

/// Has a converter make a PNG of `picture`. Prints an error and returns false
/// if there is none, or it fails.
static bool writePng(const std::string &picture) {
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

static int write(const std::string &picture) {
  bool isWritten = isPng() ? writePng(picture) : writeFile(output, picture);
  return isWritten ? Done : BadInput;
}

/// What is wrong with the options, or nothing.
static std::string findMistake(size_t numSchedules) {
  bool isOfMany = kind == Kind::Frontier || kind == Kind::Time;
  if (!isOfMany && numSchedules > 1)
    return "this picture is of one schedule, and there are " +
           std::to_string(numSchedules);
  if (flags.hasPoints() && kind != Kind::Frontier)
    return "--points is for --picture=frontier";
  if (flags.hasMeasured() && kind != Kind::Time)
    return "--measured is for --picture=time";
  if (std::string idle = flags.findOfTimes();
      !idle.empty() && kind != Kind::Time)
    return idle + " is for --picture=time";
  if (trees.getNumOccurrences() && kind != Kind::Trees)
    return "--trees is for --picture=trees";
  return trees == 0 ? "--trees must be at least 1" : "";
}

static int plotTopology() {
  if (kind != Kind::Machine || !inputs.empty())
    return fail("--topology is for --picture=machine without a schedule");
  if (std::string mistake = findMistake(1); !mistake.empty())
    return fail(mistake);
  RankGroups boxes;
  std::optional<Topology> topology =
      loadTopology(topologyName, /*where=*/nullptr, &boxes);
  if (!topology)
    return BadInput;
  return write(machinePicture(*topology, boxes, nullptr, use()));
}

static std::optional<std::string> draw(const Findings &findings) {
  const Subject &subject = findings.subjects.front();
  switch (kind) {
  case Kind::Machine:
    return machinePicture(subject.topology, findings.boxes, &subject, use());
  case Kind::Frontier:
    if (auto marks = flags.marks(findings))
      return frontierPicture(*marks, findings.anySteps(), use());
    return std::nullopt;
  case Kind::Time:
    return timePicture(timeCurves(findings), use());
  case Kind::Steps:
    return stepsPicture(subject, groupsToDraw(subject.topology, findings.boxes),
                        use());
  case Kind::Trees:
    return treesPicture(subject, trees, use());
  }
  return std::nullopt;
}

int driver::plotMain() {
  std::optional<CostModel> model = flags.model();
  std::optional<std::vector<uint64_t>> sizes = flags.sizes();
  if (!model || !sizes)
    return BadInput;
  if (!llvm::is_contained({"", ".svg", ".png"}, extension()))
    return fail("pictures are .svg or .png files, and -o is '" + output + "'");
  if (!topologyName.empty())
    return plotTopology();
  if (inputs.empty())
    return fail("no schedule is given, and no --topology");
  std::optional<std::vector<Subject>> subjects =
      loadComparable(std::vector<std::string>(inputs.begin(), inputs.end()));
  if (!subjects)
    return BadInput;
  if (std::string mistake = findMistake(subjects->size()); !mistake.empty())
    return fail(mistake);
  Findings findings;
  if (kind == Kind::Frontier || kind == Kind::Time) {
    std::optional<Findings> known = findOut(std::move(*subjects), *model);
    if (!known)
      return BadInput;
    findings = std::move(*known);
    takeOwnSpeeds(findings, flags.hasModel());
  } else {
    findings.boxes = boxesOf(subjects->front());
    findings.subjects = std::move(*subjects);
  }
  findings.sizes = std::move(*sizes);
  if (!flags.takeMeasured(findings))
    return BadInput;
  std::optional<std::string> picture = draw(findings);
  return picture ? write(*picture) : BadInput;
}
