//===- Subjects.cpp - What explanations and pictures are about ------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Subjects.h"

#include "Arguments.h"
#include "Plans.h"
#include "Progress.h"
#include "TopologyNotes.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Pipelines/Ways.h"
#include "sccl/Simulate/TimingOps.h"
#include "sccl/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <algorithm>
#include <set>

using namespace sccl;
using namespace sccl::driver;
namespace fs = llvm::sys::fs;

std::optional<std::vector<std::string>>
driver::schedulesIn(llvm::StringRef path) {
  if (!fs::is_directory(path))
    return std::vector<std::string>{path.str()};
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".mlir"))
      files.push_back(it->path());
  if (error)
    fail("cannot read " + path + ": " + error.message());
  else if (files.empty())
    fail(path + " holds no .mlir file");
  if (error || files.empty())
    return std::nullopt;
  llvm::sort(files);
  return files;
}

/// Emits an error and fails if what the file says of its optimality is no
/// certificate.
static mlir::FailureOr<report::Subject> subjectOf(coll::ScheduleOp op,
                                                  llvm::StringRef path) {
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  if (failed(problem))
    return mlir::failure();
  noteUnlimitedLinks(problem->topology);
  report::Subject subject{
      (llvm::sys::path::filename(path) + ":@" + op.getSymName()).str(),
      std::move(problem->topology), std::move(problem->collective),
      coll::importSchedule(op), std::nullopt};
  auto topology = mlir::SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
      op, op.getTopologyAttr());
  mlir::FailureOr<RankGroups> boxes = coll::boxesOf(topology);
  if (failed(boxes))
    return mlir::failure();
  if (boxes->size() > 1)
    subject.boxes = std::move(*boxes);
  subject.timing = coll::timingOf(topology, subject.topology);
  if (op.getWays()) {
    subject.bestAt.emplace();
    for (const coll::Way &way : coll::importWays(op))
      for (const SizedTime &size : way.bestAt)
        subject.bestAt->push_back(
            {size.bytes, double(size.nanoseconds) * 1e-3, describe(way)});
    llvm::sort(*subject.bestAt,
               [](const auto &a, const auto &b) { return a.bytes < b.bytes; });
  }
  std::optional<llvm::StringRef> text = op.getCertificate();
  if (!text)
    return subject;
  Result<Certificate> certificate =
      parseCertificate({text->data(), text->size()});
  if (!certificate) {
    op.emitOpError("has no certificate that can be read: ")
        << certificate.error();
    return mlir::failure();
  }
  subject.certificate = std::move(*certificate);
  return subject;
}

/// Adds the schedules of one file, or of the module `text` if it is not empty.
/// Prints an error and returns false on failure.
static bool addFile(llvm::StringRef path, llvm::StringRef text,
                    const Placement *placement,
                    std::vector<report::Subject> &subjects) {
  Progress progress(("reading " + path).str());
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      text.empty() ? session.parseSchedules(path, placement)
                   : session.parseText(text, path);
  if (!module || failed(runPasses(*module, [](mlir::OpPassManager &manager) {
        manager.addNestedPass<coll::ScheduleOp>(coll::createCheckSchedule());
      })))
    return false;
  size_t before = subjects.size();
  for (auto op : module->getOps<coll::ScheduleOp>()) {
    mlir::FailureOr<report::Subject> subject = subjectOf(op, path);
    if (failed(subject))
      return false;
    subjects.push_back(std::move(*subject));
  }
  if (subjects.size() == before)
    fail(path + " holds no schedule");
  return subjects.size() > before;
}

/// Those that a plan was compiled of.
static std::optional<std::vector<report::Subject>>
loadSubjectsOfPlan(llvm::StringRef path) {
  std::optional<LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return std::nullopt;
  std::set<unsigned> blobs = sourceBlobs(plan->view.manifest);
  if (blobs.empty()) {
    fail(path + " does not hold the schedules that it was compiled of; name "
                "them");
    return std::nullopt;
  }
  std::vector<report::Subject> subjects;
  for (unsigned blob : blobs) {
    std::optional<std::string> text = sourceText(path, *plan, blob);
    if (!text || !addFile(path, *text, /*placement=*/nullptr, subjects))
      return std::nullopt;
  }
  return subjects;
}

std::optional<std::vector<report::Subject>>
driver::loadSubjects(llvm::StringRef path, const Placement *placement) {
  if (isPlanFile(path))
    return loadSubjectsOfPlan(path);
  std::optional<std::vector<std::string>> files = schedulesIn(path);
  std::vector<report::Subject> subjects;
  if (!files)
    return std::nullopt;
  for (const std::string &file : *files)
    if (!addFile(file, "", placement, subjects))
      return std::nullopt;
  return subjects;
}

/// Puts their folders before names that several have. `paths` says where each
/// is from: a file, or a folder.
static void tellApart(std::vector<report::Subject> &subjects,
                      llvm::ArrayRef<llvm::StringRef> paths) {
  llvm::StringMap<unsigned> times;
  for (const report::Subject &subject : subjects)
    ++times[subject.name];
  for (auto [subject, path] : llvm::zip_equal(subjects, paths)) {
    if (times[subject.name] == 1)
      continue;
    bool isFolder = llvm::sys::fs::is_directory(path);
    llvm::SmallString<128> name(isFolder ? path
                                         : llvm::sys::path::parent_path(path));
    llvm::sys::path::append(name, subject.name);
    subject.name = name.str();
  }
}

std::optional<std::vector<report::Subject>>
driver::loadComparable(llvm::ArrayRef<std::string> paths,
                       const Placement *placement) {
  std::vector<report::Subject> subjects;
  std::vector<llvm::StringRef> origins;
  for (const std::string &path : paths) {
    std::optional<std::vector<report::Subject>> more =
        loadSubjects(path, placement);
    if (!more)
      return std::nullopt;
    origins.insert(origins.end(), more->size(), path);
    std::ranges::move(*more, std::back_inserter(subjects));
  }
  tellApart(subjects, origins);
  auto claimOf = [](const report::Subject &subject) {
    return makeClaim(subject.topology, subject.collective, std::nullopt);
  };
  const report::Subject &first = subjects.front();
  for (const report::Subject &other : subjects)
    if (!(claimOf(other) == claimOf(first))) {
      fail(other.name + " and " + first.name +
           " are of two collectives or two topologies");
      return std::nullopt;
    }
  return subjects;
}

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// A line of sccl bench or sccl run; nothing if it is neither.
static std::optional<MeasuredTime> readMeasured(const llvm::json::Object &line,
                                                llvm::StringRef path) {
  MeasuredTime time;
  time.source = llvm::sys::path::filename(path);
  time.collective = line.getString("collective").value_or("").str();
  time.ranks = unsigned(line.getInteger("ranks").value_or(0));
  if (const llvm::json::Object *apart = line.getObject("out_of_place")) {
    std::optional<double> microseconds = apart->getNumber("time_us");
    std::optional<int64_t> bytes = line.getInteger("send_bytes");
    if (!microseconds || !(*microseconds > 0) || !bytes || *bytes <= 0)
      return std::nullopt;
    time.schedule = line.getString("schedule").value_or("").str();
    time.bytes = uint64_t(*bytes);
    time.microseconds = *microseconds;
    if (std::optional<llvm::StringRef> kind = line.getString("ranks_as"))
      time.source += (", ranks as " + *kind).str();
    return time;
  }
  std::optional<double> seconds = line.getNumber("seconds");
  std::optional<int64_t> bytes = line.getInteger("bytes");
  if (!seconds || !(*seconds > 0) || !bytes || *bytes <= 0 ||
      !line.get("gigabytes_per_second"))
    return std::nullopt;
  time.bytes = uint64_t(*bytes);
  time.microseconds = *seconds * 1e6;
  return time;
}

static std::optional<std::vector<MeasuredTime>>
loadMeasured(llvm::StringRef path) {
  std::unique_ptr<llvm::MemoryBuffer> buffer = readText(path);
  if (!buffer)
    return std::nullopt;
  std::vector<MeasuredTime> times;
  llvm::SmallVector<llvm::StringRef> lines;
  buffer->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/true);
  for (auto [number, line] : llvm::enumerate(lines)) {
    if (line.trim().empty())
      continue;
    auto complain = [&, number = number](const llvm::Twine &message) {
      fail(path + ":" + llvm::Twine(number + 1) + ": " + message);
      return std::nullopt;
    };
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(line);
    if (!value)
      return complain(llvm::toString(value.takeError()));
    const llvm::json::Object *object = value->getAsObject();
    std::optional<MeasuredTime> time =
        object ? readMeasured(*object, path) : std::nullopt;
    if (!time)
      return complain("no line of sccl bench or sccl run with --json");
    times.push_back(std::move(*time));
  }
  if (!times.empty())
    return times;
  fail(path + " holds no measurements");
  return std::nullopt;
}

std::optional<std::vector<MeasuredTime>>
driver::loadMeasuredOf(const report::Subject &subject, llvm::StringRef path) {
  std::optional<std::vector<MeasuredTime>> times = loadMeasured(path);
  if (!times)
    return std::nullopt;
  for (const MeasuredTime &time : *times)
    if (time.collective != subject.collective.name() ||
        time.ranks != subject.topology.numRanks()) {
      fail(path + " is of " + time.collective + " on " +
           llvm::Twine(time.ranks) + " ranks, but " + subject.name + " of " +
           subject.collective.name() + " on " +
           llvm::Twine(subject.topology.numRanks()));
      return std::nullopt;
    }
  return times;
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

CostModel driver::modelOf(const Topology &topology, const Timing &timing) {
  // Rates of machines are not quite the multiples that bandwidths are: what is
  // the least keeps bounds below the machine.
  double unitTime = 0;
  for (auto [limit, rate] : llvm::zip_equal(topology.limits(), timing.rates)) {
    double own = limit.bandwidth / rate;
    unitTime = unitTime == 0 ? own : std::min(unitTime, own);
  }
  return {timing.latencies.empty() ? 0 : std::ranges::max(timing.latencies),
          unitTime};
}

std::string driver::clockText(const CostModel &model, llvm::StringRef source) {
  return llvm::formatv("{0} us a step and {1} GB/s at bandwidth 1 ({2})",
                       model.alphaMicroseconds,
                       1e-3 / model.betaMicrosecondsPerByte, source);
}

ModelFlags::ModelFlags(llvm::cl::SubCommand &command)
    : alpha("alpha", llvm::cl::desc("Microseconds per step"),
            usually(usualMicroseconds), llvm::cl::sub(command)),
      bandwidth("bandwidth",
                llvm::cl::desc("GB/s of a link of bandwidth 1 (1/beta)"),
                usually(usualGigabytes), llvm::cl::sub(command)) {}

std::string ModelFlags::findGiven() const {
  return driver::findGiven({&alpha, &bandwidth});
}

CostModel ModelFlags::over(CostModel usual) const {
  if (alpha.getNumOccurrences())
    usual.alphaMicroseconds = alpha;
  if (bandwidth.getNumOccurrences())
    usual.betaMicrosecondsPerByte = 1 / (bandwidth * 1e3);
  return usual;
}

std::optional<CostModel> ModelFlags::get() const {
  return makeCostModel(alpha, bandwidth);
}
