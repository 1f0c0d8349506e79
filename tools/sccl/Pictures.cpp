//===- Pictures.cpp - What plots and reports show -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pictures.h"

#include "Arguments.h"
#include "CsvTable.h"
#include "Interrupt.h"
#include "MachineFlags.h"
#include "Progress.h"

#include "sccl/Advice/MachineTiming.h"
#include "sccl/Advice/TimeBound.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/Baselines.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Report/Page.h"
#include "sccl/Simulate/TimingOps.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <map>
#include <set>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

std::optional<MachineSpeeds> driver::loadSpeeds(llvm::StringRef name) {
  std::optional<Machine> machine = loadMachine(name);
  std::optional<Derivation> derivation;
  if (machine)
    derivation = derive(*machine);
  if (!derivation)
    return std::nullopt;
  Result<MachineFabric> made = fabricOf(*derivation);
  if (!made) {
    fail(made.error());
    return std::nullopt;
  }
  return MachineSpeeds{{name.str(), std::move(derivation->topology)},
                       std::move(made->fabric),
                       std::move(made->boundClass)};
}

CostModel MachineSpeeds::model() const {
  const std::vector<double> &latencies = fabric.timing.latencies;
  return {latencies.empty() ? 0 : std::ranges::max(latencies), fabric.unitTime};
}

bool driver::isOf(const Placement &machine, llvm::StringRef subject,
                  const Topology &topology) {
  // What switches do is said by the subject: speeds are those of links.
  Topology asked = machine.topology;
  for (const Switch &added : topology.switches())
    (void)asked.addSwitch(added);
  if (fingerprint(asked) == fingerprint(topology))
    return true;
  fail("--machine=" + machine.name + " has another topology than " + subject);
  return false;
}

/// The ends of the links of `limit`.
static std::set<std::pair<unsigned, unsigned>>
endsOf(const Topology &topology, const BandwidthLimit &limit) {
  std::set<std::pair<unsigned, unsigned>> ends;
  for (unsigned link : limit.links)
    ends.emplace(topology.links()[link].src, topology.links()[link].dst);
  return ends;
}

Timing MachineSpeeds::clockOn(const Topology &topology) const {
  const Topology &known = placement.topology;
  const Timing &clock = fabric.timing;
  Timing timing = clock;
  for (auto [number, link] : llvm::enumerate(topology.links()))
    timing.latencies[number] =
        clock.latencies[*known.findLink(link.src, link.dst)];
  std::map<std::set<std::pair<unsigned, unsigned>>, double> rates;
  for (auto [number, limit] : llvm::enumerate(known.limits()))
    rates.try_emplace(endsOf(known, limit), clock.rates[number]);
  for (auto [number, limit] : llvm::enumerate(topology.limits()))
    timing.rates[number] = rates.at(endsOf(topology, limit));
  return timing;
}

bool driver::setClocks(mlir::ModuleOp module, const MachineSpeeds &machine,
                       llvm::StringRef subject) {
  for (auto schedule : module.getOps<coll::ScheduleOp>()) {
    auto topology =
        mlir::SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
            schedule, schedule.getTopologyAttr());
    mlir::FailureOr<coll::Problem> problem = coll::importProblem(schedule);
    if (failed(problem) || !isOf(machine.placement, subject, problem->topology))
      return false;
    if (topology && !coll::timingOf(topology, problem->topology))
      coll::setTiming(topology, problem->topology,
                      machine.clockOn(problem->topology));
  }
  return true;
}

bool driver::takeSpeeds(const MachineSpeeds &speeds,
                        ExplainedSchedules &findings) {
  const Subject &first = findings.subjects.front();
  if (!isOf(speeds.placement, first.name, first.topology))
    return false;
  const Fabric &fabric = speeds.fabric;
  findings.model = speeds.model();
  findings.modelSource = "of " + speeds.placement.name;
  InterruptScope interrupt;
  findings.machineBound =
      machineTimeBound(fabric, first.collective, findings.anySteps(),
                       {0, 10'000'000, interrupt.flag()});
  findings.speeds = speeds;
  return true;
}

void driver::takeOwnSpeeds(ExplainedSchedules &findings, bool isGiven) {
  const Subject &first = findings.subjects.front();
  if (isGiven)
    findings.modelSource = "as given";
  if (isGiven || !first.timing)
    return;
  findings.modelSource = "as the file says";
  findings.model = modelOf(first.topology, *first.timing);
  findings.machineBound =
      timeBound(first.topology, first.collective, *first.timing,
                findings.anySteps(), findings.model.betaMicrosecondsPerByte);
}

double driver::leastMicroseconds(const ExplainedSchedules &findings,
                                 const std::optional<Rational> &anySteps,
                                 double bytes) {
  const Subject &subject = findings.subjects.front();
  const CostModel &model = findings.model;
  if (findings.machineBound)
    return findings.machineBound->microseconds(bytes);
  Timing timing = Timing::uniform(subject.topology, model.alphaMicroseconds,
                                  1 / model.betaMicrosecondsPerByte);
  return timeBound(subject.topology, subject.collective, timing, anySteps,
                   model.betaMicrosecondsPerByte)
      .microseconds(bytes);
}

std::optional<Rational> ExplainedSchedules::anySteps() const {
  std::optional<Rational> best;
  for (const Explanation &explanation : explanations)
    if (explanation.anySteps && (!best || *explanation.anySteps > *best))
      best = explanation.anySteps;
  return best;
}

/// Prints an error and returns nothing on failure.
static std::optional<std::vector<Explanation>>
explainAll(const std::vector<Subject> &subjects) {
  InterruptScope interrupt;
  // Seconds for what files do not say.
  SearchLimits limits{0, 10'000'000, interrupt.flag()};
  std::vector<Explanation> explanations;
  for (const Subject &subject : subjects) {
    Progress progress("bounds for " + subject.name);
    Result<Explanation> explanation = explain(subject, limits);
    if (!explanation) {
      fail(explanation.error());
      return std::nullopt;
    }
    explanations.push_back(std::move(*explanation));
  }
  return explanations;
}

std::optional<ExplainedSchedules> driver::findOut(std::vector<Subject> subjects,
                                                  const CostModel &model) {
  std::optional<std::vector<Explanation>> explanations = explainAll(subjects);
  if (!explanations)
    return std::nullopt;
  RankGroups boxes = boxesOf(subjects.front());
  ExplainedSchedules findings;
  findings.subjects = std::move(subjects);
  findings.explanations = std::move(*explanations);
  findings.boxes = std::move(boxes);
  findings.model = model;
  return findings;
}

/// A whole number of at least 1 in a field of a table, or nothing.
static std::optional<unsigned> numberIn(const CsvRow &row,
                                        const std::string &column) {
  unsigned number = 0;
  llvm::StringRef text = row.fields.at(column);
  if (text.getAsInteger(10, number) || number == 0)
    return std::nullopt;
  return number;
}

/// Adds the rows that are of the same topology and collective.
static bool addTable(const Subject &subject, llvm::StringRef path,
                     std::vector<FrontierMark> &marks) {
  auto buffer = readInput(path);
  if (!buffer) {
    fail(buffer.error());
    return false;
  }
  auto rows =
      readCsvTable(path, (*buffer)->getBuffer(),
                   {"topology", "collective", "chunks", "steps", "rounds"});
  if (!rows)
    return false;
  std::string series = llvm::sys::path::stem(path).str();
  for (const CsvRow &row : *rows) {
    if (row.fields.at("topology") != subject.topology.name() ||
        row.fields.at("collective") != subject.collective.name())
      continue;
    auto chunks = numberIn(row, "chunks"), steps = numberIn(row, "steps"),
         rounds = numberIn(row, "rounds");
    if (!chunks || !steps || !rounds) {
      fail(path + ":" + llvm::Twine(row.line) +
           ": chunks, steps and rounds must be numbers, and at least 1");
      return false;
    }
    Rational cost(*rounds, *chunks);
    marks.push_back({series,
                     series + ": C = " + std::to_string(*chunks) +
                         ", S = " + std::to_string(*steps) +
                         ", R = " + std::to_string(*rounds),
                     double(*steps), cost.toDouble()});
  }
  return true;
}

/// NCCL's ring for the same, if there is one.
static void addRing(const Subject &subject, std::vector<FrontierMark> &marks) {
  const Collective &collective = subject.collective;
  if (collective.kind() == CollectiveKind::Custom)
    return;
  Result<std::vector<Ring>> rings = findRings(subject.topology);
  if (!rings)
    return;
  Result<Implementation> ring =
      makeRingBaseline(subject.topology, *rings, collective.kind(),
                       /*chunksPerRing=*/1, collective.root());
  if (!ring)
    return;
  Cost cost = costOf(ring->schedule, ring->collective);
  marks.push_back({"NCCL's ring",
                   "NCCL's ring: S = " + std::to_string(cost.steps) +
                       ", R/C = " + cost.bandwidth.str(),
                   double(cost.steps), cost.bandwidth.toDouble()});
}

PictureFlags::PictureFlags(llvm::cl::SubCommand &command)
    : points("points",
             llvm::cl::desc("More points of the frontier: a table with "
                            "topology, collective, chunks, steps and rounds"),
             llvm::cl::value_desc("FILE.csv"), llvm::cl::sub(command)),
      measured("measured",
               llvm::cl::desc("What sccl bench or sccl run printed with "
                              "--json"),
               llvm::cl::value_desc("FILE"), llvm::cl::sub(command)),
      from("from", llvm::cl::desc("Smallest send buffer"), usually("1KiB"),
           llvm::cl::sub(command)),
      upTo("to", llvm::cl::desc("Largest send buffer"), usually("1GiB"),
           llvm::cl::sub(command)),
      modelFlags(command) {}

std::optional<std::vector<uint64_t>> PictureFlags::sizes() const {
  return sizesByFour(from, upTo);
}

std::string PictureFlags::findOfFiles() const {
  return driver::findGiven({&points, &from, &upTo});
}

std::string PictureFlags::findOfTimes() const {
  std::string given = driver::findGiven({&from, &upTo});
  return given.empty() ? modelFlags.findGiven() : given;
}

std::string PictureFlags::findGiven() const {
  std::string given = driver::findGiven({&points, &measured});
  return given.empty() ? findOfTimes() : given;
}

bool PictureFlags::takeMeasured(ExplainedSchedules &findings) const {
  if (measured.empty())
    return true;
  auto times = loadMeasuredOf(findings.subjects.front(), measured);
  if (times)
    findings.measured = std::move(*times);
  return times.has_value();
}

std::optional<std::vector<FrontierMark>>
PictureFlags::marks(const ExplainedSchedules &findings) const {
  std::vector<FrontierMark> bounds, found;
  for (auto [subject, explanation] :
       llvm::zip(findings.subjects, findings.explanations)) {
    Cost cost = subject.cost();
    found.push_back({"schedules", titleOfPoint(subject, explanation),
                     double(cost.steps), cost.bandwidth.toDouble()});
    if (!explanation.certificate || explanation.certificate->pipelined)
      continue;
    Rational bound = *explanation.certificate->bound;
    bounds.push_back(
        {"certified bounds",
         claimText(*explanation.certificate, subject.collective.name()),
         double(cost.steps), bound.toDouble()});
  }
  std::vector<FrontierMark> marks = std::move(bounds);
  llvm::append_range(marks, found);
  addRing(findings.subjects.front(), marks);
  if (hasPoints() && !addTable(findings.subjects.front(), points, marks))
    return std::nullopt;
  return marks;
}

std::vector<TimeCurve> driver::timeCurves(const ExplainedSchedules &findings) {
  std::vector<TimeCurve> curves(1);
  curves[0].name = "bound for any program";
  for (uint64_t size : findings.sizes)
    curves[0].points.emplace_back(
        size, leastMicroseconds(findings, findings.anySteps(), double(size)));
  for (const Subject &subject : findings.subjects) {
    curves.push_back({"model, " + describeSize(subject), true, {}});
    for (uint64_t size : findings.sizes)
      curves.back().points.emplace_back(
          size, findings.model.microseconds(subject.cost(), double(size)));
  }
  std::map<std::string, TimeCurve> measured;
  for (const MeasuredTime &time : findings.measured) {
    std::string name =
        "measured" + (time.schedule.empty() ? "" : ", " + time.schedule);
    TimeCurve &curve = measured[name];
    curve.name = name;
    curve.isLine = false;
    curve.points.emplace_back(time.bytes, time.microseconds);
  }
  for (auto &[name, curve] : measured)
    curves.push_back(std::move(curve));
  return curves;
}
