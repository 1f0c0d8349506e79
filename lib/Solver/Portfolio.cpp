//===- Portfolio.cpp - Engines that take turns ----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Portfolio.h"

#include "Solver/Constants.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Model/OrderCheck.h"

#include <algorithm>

using namespace sccl;

void sccl::checkAnswer(const Instance &instance, SynthesisResult &result) {
  auto *satisfied = std::get_if<Satisfied>(&result.outcome);
  if (!satisfied)
    return;
  Schedule &schedule = satisfied->schedule;
  // Looking is much cheaper than sorting millions of sends again.
  for (Step &step : schedule.steps)
    if (!std::is_sorted(step.sends.begin(), step.sends.end()))
      std::sort(step.sends.begin(), step.sends.end());
  std::string complaint;
  if (auto violation =
          checkSchedule(instance.topology, instance.collective, schedule))
    complaint = violation->message;
  else if (schedule.steps.size() != instance.steps)
    complaint = "it has " + std::to_string(schedule.steps.size()) +
                " steps, S is " + std::to_string(instance.steps);
  else if (schedule.rounds() != instance.rounds)
    complaint = "it has " + std::to_string(schedule.rounds()) +
                " rounds, R is " + std::to_string(instance.rounds);
  else if (auto error =
               checkOrder(instance.collective, schedule, instance.order))
    complaint = error->message;
  if (!complaint.empty())
    result.outcome =
        Failed{"engine " + result.engine +
               " returned a schedule that the checker rejects: " + complaint};
}

/// The limits of the user alone.
static SearchLimits withoutWork(SearchLimits limits) {
  limits.maxWork = 0;
  return limits;
}

Portfolio::Portfolio(const Instance &instance, const SolverOptions &options,
                     std::vector<const SolverBackend *> backends)
    : instance(instance), options(options), deadline(withoutWork(options)),
      backends(std::move(backends)) {
  for (const SolverBackend *backend : this->backends)
    order.emplace_back(backend->name());
}

SynthesisResult Portfolio::ask(const SolverBackend &backend, uint64_t work) {
  SolverOptions part = options;
  part.timeoutSeconds = deadline.remainingLimit();
  part.maxWork = work;
  SynthesisResult result = backend.solve(instance, part);
  checkAnswer(instance, result);
  total += result.work;
  result.work = total;
  return result;
}

std::optional<SynthesisResult> Portfolio::takeTurn(uint64_t work) {
  std::vector<const SolverBackend *> unfinished;
  needsMoreWork = false;
  for (const SolverBackend *backend : backends) {
    last = ask(*backend, work);
    const auto *unknown = std::get_if<Unknown>(&last.outcome);
    if (unknown && deadline.isOver())
      last.outcome = Unknown{deadline.reason()};
    if (!unknown || deadline.isOver())
      return last;
    reasons[std::string(backend->name())] = unknown->reason;
    needsMoreWork |= unknown->needsMoreWork;
    if (unknown->needsMoreWork)
      unfinished.push_back(backend);
  }
  backends = std::move(unfinished);
  return std::nullopt;
}

/// True if there is nobody whose turn would come later. What asks others has to
/// share out its work, and so needs an amount.
bool Portfolio::isAlone() const {
  return backends.size() == 1 && !backends.front()->traits().asksOthers;
}

SynthesisResult Portfolio::undecided() const {
  SynthesisResult result = last;
  if (reasons.size() <= 1)
    return result;
  std::string text;
  for (const std::string &name : order)
    if (auto reason = reasons.find(name); reason != reasons.end())
      text += (text.empty() ? "" : "; ") + name + ": " + reason->second;
  result.outcome = Unknown{text, needsMoreWork};
  return result;
}

SynthesisResult Portfolio::finish(uint64_t work) {
  const uint64_t most = options.maxWork ? options.maxWork : Deadline::unlimited;
  while (!backends.empty()) {
    uint64_t turn = isAlone() ? most : std::min(work, most);
    if (std::optional<SynthesisResult> result =
            takeTurn(turn == Deadline::unlimited ? 0 : turn))
      return *result;
    if (turn == most)
      break;
    work =
        work > most / tuned::turnGrowth() ? most : work * tuned::turnGrowth();
  }
  return undecided();
}
