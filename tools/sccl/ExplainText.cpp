//===- ExplainText.cpp - sccl explain in words ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "Interrupt.h"
#include "Output.h"
#include "Plans.h"
#include "Progress.h"
#include "SumReport.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Plan/SizeTables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::report;

namespace {
using Sentences = std::vector<std::string>;

/// All that is said of one thing: sentences by heading.
struct Chapter {
  const char *heading; ///< also the name of the field of JSON
  Sentences sentences;
};
} // namespace

static void printChapters(const std::vector<Chapter> &chapters) {
  for (const Chapter &chapter : chapters)
    for (auto [number, sentence] : llvm::enumerate(chapter.sentences))
      out() << llvm::formatv("  {0,-13}{1}\n",
                             number == 0 ? chapter.heading : "", sentence);
}

static void addChapters(const std::vector<Chapter> &chapters,
                        llvm::json::Object &object) {
  for (const Chapter &chapter : chapters)
    object[chapter.heading] = llvm::json::Array(chapter.sentences);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// How far from the bound `measured` ran.
static std::string distanceSentence(const ExplainedSchedules &findings,
                                    size_t number,
                                    const MeasuredTime &measured) {
  double bytes = double(measured.bytes);
  double least = leastMicroseconds(
      findings, findings.explanations[number].anySteps, bytes);
  double predicted =
      findings.model.microseconds(findings.subjects[number].cost(), bytes);
  return llvm::formatv(
      "{0} took {1} ({2}): {3:f2} times the bound of {4}, {5:f2} times the "
      "{6} of the model",
      sizeText(bytes), timeText(measured.microseconds), measured.source,
      measured.microseconds / least, timeText(least),
      measured.microseconds / predicted, timeText(predicted));
}

/// "all_gather_c6_s3" of "ag.mlir:@all_gather_c6_s3".
static llvm::StringRef symbolOf(const Subject &subject) {
  return llvm::StringRef(subject.name).rsplit(":@").second;
}

static Sentences distancesOf(const ExplainedSchedules &findings,
                             size_t number) {
  Sentences sentences;
  for (const MeasuredTime &time : findings.measured)
    if (time.schedule.empty() ||
        symbolOf(findings.subjects[number]) == time.schedule)
      sentences.push_back(distanceSentence(findings, number, time));
  return sentences;
}

/// What a schedule takes for `bytes` on the machine of `findings`, lowered in
/// the way and cut into the pieces that are the fastest there, and the bound.
/// Prints an error and returns nothing if it cannot be lowered.
static std::optional<SizeAdvice> simulateOn(const ExplainedSchedules &findings,
                                            size_t number, double bytes) {
  const Subject &subject = findings.subjects[number];
  InterruptScope interrupt;
  Session session;
  Progress progress("simulating " + subject.name);
  Result<std::vector<SizeAdvice>> times =
      timesOf(session.context(), findings.speeds->fabric,
              {subject.collective, subject.schedule}, {uint64_t(bytes)},
              usualWays(LoweringOptions()), {0, 10'000'000, interrupt.flag()});
  if (!times) {
    fail(subject.name + ": " + times.error());
    return std::nullopt;
  }
  times->front().bound = leastMicroseconds(
      findings, findings.explanations[number].anySteps, bytes);
  return times->front();
}

/// The time on the machine, and how far from the bound it is.
static std::string simulatedSentence(const SizeAdvice &time,
                                     const MachineSpeeds &speeds) {
  return llvm::formatv("{0} takes {1} on {2}, lowered as {3}: a gap of {4:F0} "
                       "% to the bound of {5}, which holds for {6}",
                       sizeText(double(time.bytes)),
                       timeText(time.microseconds), speeds.placement.name,
                       time.way, time.gap() * 100, timeText(time.bound),
                       speeds.boundClass);
}

static llvm::json::Object limitObject(const Subject &subject, unsigned limit) {
  const BandwidthLimit &of = subject.topology.limits()[limit];
  return llvm::json::Object{{"limit", limit},
                            {"links", nameOf(subject.topology, of)}};
}

static llvm::json::Object factsOf(const ExplainedSchedules &findings,
                                  size_t number, double bytes) {
  const Subject &subject = findings.subjects[number];
  const Explanation &explanation = findings.explanations[number];
  llvm::json::Array fullest, priced;
  for (size_t i = 0; i < explanation.numFullest; ++i) {
    const LimitLoad &load = explanation.loads[i];
    llvm::json::Object object = limitObject(subject, load.limit);
    object["chunks"] = load.chunks;
    object["rounds"] = load.rounds.str();
    fullest.push_back(std::move(object));
  }
  for (const PricedLimit &limit : explanation.priced) {
    llvm::json::Object object = limitObject(subject, limit.limit);
    object["share"] = limit.share;
    priced.push_back(std::move(object));
  }
  Cost cost = subject.cost();
  llvm::json::Object object{
      {"name", subject.name},
      {"collective", subject.collective.name()},
      {"topology", subject.topology.name()},
      {"ranks", subject.topology.numRanks()},
      {"chunks", subject.collective.chunks()},
      {"steps", cost.steps},
      {"rounds", subject.schedule.rounds()},
      {"cost", cost.bandwidth.str()},
      {"optimal", explanation.isOptimal},
      {"bytes", uint64_t(bytes)},
      {"alpha_microseconds", findings.model.alphaMicroseconds},
      {"gigabytes_per_second", 1e-3 / findings.model.betaMicrosecondsPerByte},
      {"model_microseconds", findings.model.microseconds(cost, bytes)},
      {"bound_microseconds",
       leastMicroseconds(findings, explanation.anySteps, bytes)},
      {"fullest_limits", std::move(fullest)},
      {"limits_of_bound", std::move(priced)}};
  if (explanation.certificate)
    object["bound"] = explanation.certificate->bound->str();
  if (explanation.anySteps)
    object["bound_any_steps"] = explanation.anySteps->str();
  return object;
}

/// Where `sccl plan` found the schedule the best, in sizes of a send buffer.
static Sentences plannedSentences(const Subject &subject) {
  if (!subject.bestAt)
    return {};
  if (subject.bestAt->empty())
    return {"sccl plan found it the best nowhere, and wrote it for sccl bench "
            "--tune"};
  std::string text = "sccl plan found it the best, by simulation, at ";
  llvm::interleave(
      *subject.bestAt,
      [&](const Subject::BestAt &entry) {
        text += sizeText(double(entry.bytes)) + " (" +
                timeText(entry.microseconds) + ", " + entry.way + ")";
      },
      [&] { text += ", "; });
  return {text};
}

namespace {
/// What `sccl compile` takes for a size, and why, if not by the model that the
/// other sentences are of.
struct Compiled {
  size_t schedule;
  std::string reason;
};
} // namespace

/// What a plan of all `subjects` takes that is compiled with the same --alpha
/// and --bandwidth.
static Compiled compiledFor(const std::vector<Subject> &subjects,
                            const CostModel &model,
                            const ModelFlags &modelFlags, double bytes) {
  std::vector<SizedSchedule> schedules;
  std::vector<AdvisedProgram> advised;
  bool isAdvised = true;
  for (const Subject &subject : subjects) {
    schedules.push_back({subject.cost(), unsigned(schedules.size())});
    isAdvised &= subject.bestAt.has_value();
    advised.push_back({schedules.back().program, {}});
    if (!subject.bestAt)
      continue;
    for (const Subject::BestAt &at : *subject.bestAt)
      advised.back().bestAt.push_back(
          {at.bytes, wholeNanoseconds(at.microseconds * 1e3)});
  }
  if (!modelFlags.findGiven().empty() || !isAdvised || !areAdvised(advised)) {
    CostModel plans = modelFlags.over(usualModel);
    unsigned taken = choiceFor(tableOfModel(schedules, plans), bytes)->program;
    if (taken == choiceFor(tableOfModel(schedules, model), bytes)->program)
      return {taken, ""};
    return {taken,
            llvm::formatv("at {0} sccl compile takes {1}, as it goes by {2:f1} "
                          "us per step and {3:f1} GB/s, unless it is told "
                          "other ones",
                          sizeText(bytes), subjects[taken].name,
                          plans.alphaMicroseconds,
                          1e-3 / plans.betaMicrosecondsPerByte)};
  }
  size_t taken = choiceFor(tableOfAdvice(advised), bytes)->program;
  auto distance = [&](const Subject::BestAt &at) {
    return std::abs(std::log(double(at.bytes) / bytes));
  };
  const Subject::BestAt &at =
      *std::ranges::min_element(*subjects[taken].bestAt, {}, distance);
  return {taken, "at " + sizeText(bytes) + " " + subjects[taken].name +
                     ", which sccl plan found the best at " +
                     sizeText(double(at.bytes)) +
                     ", of its sizes the nearest, with " +
                     timeText(at.microseconds) + " as " + at.way};
}

/// Explains each of the schedules. False after an error.
static bool explainSchedules(const ExplainRequest &request,
                             const ExplainedSchedules &findings) {
  double bytes = double(request.bytes);
  const CostModel &model = findings.model;
  std::vector<Cost> costs;
  std::vector<std::string> names;
  for (const Subject &subject : findings.subjects) {
    costs.push_back(subject.cost());
    names.push_back(subject.name);
  }
  Sentences chosen = {"at " + sizeText(bytes) + " " +
                      choiceSentence(chooseFor(costs, model, bytes), names)};
  auto [taken, reason] =
      compiledFor(findings.subjects, model, request.flags.ofModel(), bytes);
  if (!reason.empty())
    chosen.insert(chosen.begin(), reason);
  for (size_t number = 0; number < costs.size(); ++number) {
    const Subject &subject = findings.subjects[number];
    const Explanation &explanation = findings.explanations[number];
    std::optional<SizeAdvice> simulated;
    if (findings.speeds && !(simulated = simulateOn(findings, number, bytes)))
      return false;
    std::vector<Chapter> chapters{
        {"clock", {clockText(model, findings.modelSource)}},
        {"limits", limitSentences(subject, explanation, model, bytes)},
        {"faster", remedySentences(subject, explanation, model, bytes)},
        {"certificate", certificateSentences(subject, explanation)},
        {"planned", plannedSentences(subject)},
        {"simulated",
         simulated ? Sentences{simulatedSentence(*simulated, *findings.speeds)}
                   : Sentences{}},
        {"ran", distancesOf(findings, number)}};
    bool isChosen = number == taken;
    if (costs.size() > 1) {
      chapters.push_back({"choice", chosen});
      std::string &first = chapters.back().sentences.front();
      first = (isChosen ? "chosen: " : "not chosen: ") + first;
    }
    if (request.json) {
      llvm::json::Object object = factsOf(findings, number, bytes);
      object["chosen"] = isChosen;
      if (simulated) {
        object["simulated_microseconds"] = simulated->microseconds;
        object["gap"] = simulated->gap();
      }
      addChapters(chapters, object);
      llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
      continue;
    }
    out() << llvm::formatv("{0}: {1} on {2}, {3}, R/C = {4}\n", subject.name,
                           describe(subject.collective),
                           subject.topology.name(), describeSize(subject),
                           subject.cost().bandwidth.str());
    printChapters(chapters);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Microseconds for `bytes`, on straight lines between the sizes that the table
/// has; nothing beyond them.
static std::optional<double> timeOf(const plan::SizeTable &table,
                                    double bytes) {
  const std::vector<SizedTime> &times = table.times;
  auto above = llvm::find_if(times, [&](const SizedTime &entry) {
    return double(entry.bytes) >= bytes;
  });
  if (above == times.end() ||
      (above == times.begin() && double(above->bytes) > bytes))
    return std::nullopt;
  double after = double(above->nanoseconds) * 1e-3;
  if (double(above->bytes) == bytes)
    return after;
  const SizedTime &below = *std::prev(above);
  double before = double(below.nanoseconds) * 1e-3;
  double part = (bytes - double(below.bytes)) /
                (double(above->bytes) - double(below.bytes));
  return before + part * (after - before);
}

/// What a table of a plan takes for `bytes`.
static std::string choiceSentence(const plan::Manifest &manifest,
                                  const plan::SizeTable &table,
                                  uint64_t bytes) {
  auto taken = choiceFor(table, double(bytes)), next = std::next(taken);
  const plan::SizeChoice &choice = *taken;
  const plan::ProgramEntry &program = manifest.programs[choice.program];
  const plan::ScheduleInfo &schedule = manifest.schedules[program.schedule];
  std::string text = llvm::formatv(
      "{0}: {1} takes {2} (S = {3}, R/C = {4}) as {5}, from {6}{7}",
      sourceOf(manifest, table), sizeText(double(bytes)), schedule.name,
      schedule.steps, schedule.cost, program.variant,
      sizeText(double(choice.firstByte)),
      next == table.choices.end() ? " on"
                                  : " to " + sizeText(double(next->firstByte)));
  if (std::optional<double> time = timeOf(table, double(bytes)))
    text += ", " + timeText(*time) + " for " + sizeText(double(bytes));
  return text;
}

static int explainPlan(llvm::StringRef path, const ExplainRequest &request,
                       std::vector<std::string> &schedules) {
  uint64_t bytes = request.bytes;
  const CostModel &model = request.model;
  std::optional<driver::LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return BadInput;
  const plan::Manifest &manifest = plan->view.manifest;
  std::optional<std::vector<std::string>> errors = errorsOfPlan(path, manifest);
  if (!errors)
    return BadInput;
  std::vector<Chapter> chapters{
      {"choice", {}},
      {"model", {}},
      {"error", std::move(*errors)},
      {"clock",
       {clockText(model, request.flags.hasModel() ? "as given" : "assumed")}}};
  if (!sourceBlobs(manifest).empty())
    schedules.push_back(path.str());
  else
    chapters.push_back({"links",
                        {"the plan does not hold its schedules: explain the "
                         "files that it was compiled of"}});
  for (const plan::SizeTable &table : manifest.tables)
    chapters[0].sentences.push_back(choiceSentence(manifest, table, bytes));
  std::vector<Cost> costs;
  std::vector<std::string> names;
  for (const plan::ScheduleInfo &schedule : manifest.schedules) {
    costs.push_back(
        {schedule.steps, Rational(schedule.rounds, schedule.chunks)});
    names.push_back(schedule.name);
  }
  chapters[1].sentences.push_back(
      "at " + sizeText(double(bytes)) + " " +
      choiceSentence(chooseFor(costs, model, double(bytes)), names));
  if (request.json) {
    llvm::json::Object object{{"name", path},
                              {"collective", manifest.collective},
                              {"topology", manifest.topology},
                              {"ranks", manifest.ranks},
                              {"bytes", bytes}};
    addChapters(chapters, object);
    llvm::outs() << llvm::json::Value(std::move(object)) << '\n';
    return Done;
  }
  out() << path << ": " << manifest.collective << " on " << manifest.topology
        << ", " << manifest.ranks << " ranks\n";
  printChapters(chapters);
  return Done;
}

int driver::explainInWords(const ExplainRequest &request) {
  bool hasMachine = !request.machine.empty();
  if (hasMachine && request.flags.hasModel())
    return fail("--machine says what --alpha and --bandwidth would");
  std::vector<std::string> plans, schedules;
  for (const std::string &path : request.inputs)
    (isPlanFile(path) ? plans : schedules).push_back(path);
  for (const std::string &path : plans)
    if (int code = explainPlan(path, request, schedules))
      return code;
  if (schedules.empty() && request.flags.hasMeasured())
    return fail("--measured needs the schedules, to know the bound");
  if (schedules.empty() && hasMachine)
    return fail("--machine needs the schedules, to know what links carry");
  if (schedules.empty())
    return Done;
  std::optional<MachineSpeeds> speeds;
  if (hasMachine && !(speeds = loadSpeeds(request.machine)))
    return BadInput;
  std::optional<std::vector<Subject>> subjects =
      loadComparable(schedules, speeds ? &speeds->placement : nullptr);
  std::optional<ExplainedSchedules> findings;
  if (subjects)
    findings = findOut(std::move(*subjects), request.model);
  if (!findings || (speeds && !takeSpeeds(*speeds, *findings)))
    return BadInput;
  if (!hasMachine)
    takeOwnSpeeds(*findings, request.flags.hasModel());
  if (!request.flags.takeMeasured(*findings))
    return BadInput;
  return explainSchedules(request, *findings) ? Done : BadInput;
}
