//===- Pipelined.cpp - sccl synth --pipelined -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Interrupt.h"
#include "Output.h"
#include "Progress.h"

#include "sccl/Solver/Pipelined.h"

#include "llvm/Support/FormatVariadic.h"

#include <chrono>

using namespace sccl;
using namespace sccl::driver;

/// Writes the schedule and, if asked for, its certificate.
static bool writeResult(const SynthesisRequest &request,
                        const Instance &instance, const RankGroups &boxes,
                        const PipelinedSchedule &result) {
  std::string certificate;
  if (result.bound)
    certificate = printCertificate(result.bound->certificate);
  std::string path = request.output;
  if (path.empty() && !request.json)
    path = "-";
  if (!path.empty() &&
      !writeFile(path,
                 scheduleText(instance, boxes, result.implementation.schedule,
                              certificate)))
    return false;
  if (request.certificate.empty())
    return true;
  if (certificate.empty()) {
    fail("no certificate for " + request.certificate +
         ": no bound on the load was found");
    return false;
  }
  return writeFile(request.certificate, certificate);
}

llvm::json::Object driver::pipelinedObject(const Topology &topology,
                                           const PipelinedSchedule &result,
                                           double seconds) {
  const auto &[collective, schedule] = result.implementation;
  llvm::json::Object object{
      {"topology", topology.name()},
      {"collective", collective.name()},
      {"root", isRooted(collective.kind())
                   ? llvm::json::Value(collective.root())
                   : llvm::json::Value(nullptr)},
      {"pipelined", true},
      {"chunks", collective.chunks()},
      {"steps", result.cost().steps},
      {"rounds", schedule.rounds()},
      {"period", schedule.period},
      {"load", result.cost().load.str()},
      {"status", result.optimal ? "optimal" : "not proven"},
      {"seconds", seconds}};
  if (result.bound && result.bound->value)
    object["lower_bound"] = result.bound->value->str();
  if (result.bound)
    object["claim"] = claimText(result.bound->certificate);
  return object;
}

std::string driver::pipelinedText(const PipelinedSchedule &result) {
  std::string text = llvm::formatv(
      "C = {0,-4} S = {1,-3} P = {2,-4} P/C = {3,-7} pipelined, ",
      result.implementation.collective.chunks(), result.cost().steps,
      result.implementation.schedule.period, result.cost().load.str());
  if (result.optimal)
    return text + (result.holdsForAnyDepth() ? "optimal, certified"
                                             : "optimal for S, certified");
  text += "not proven optimal";
  if (result.bound && result.bound->value)
    text += ", bound " + result.bound->value->str();
  return text;
}

/// Of `request.steps` steps, or of any number.
static DepthAnswer answerTo(const Topology &topology, CollectiveKind kind,
                            const SynthesisRequest &request,
                            const SearchLimits &limits) {
  unsigned root = request.root.value_or(0);
  if (request.steps == 0)
    return {synthesizePipelined(topology, kind, root, limits)};
  return PipelinedDepths(topology, kind, root).at(request.steps, limits);
}

/// Says, and writes if asked to, that there is no schedule of so few steps.
static int reportImpossible(const SynthesisRequest &request,
                            const LowerBound &proof) {
  std::string claim = claimText(proof.certificate);
  if (!request.certificate.empty() &&
      !writeFile(request.certificate, printCertificate(proof.certificate)))
    return BadInput;
  if (request.json)
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"pipelined", true},
                                           {"steps", request.steps},
                                           {"status", "unsatisfiable"},
                                           {"claim", claim}})
                 << '\n';
  else
    err() << "unsatisfiable: " << claim << '\n';
  return ProvedUnsatisfiable;
}

int driver::synthesizePipelinedSchedule(const SynthesisRequest &request) {
  std::string where;
  RankGroups boxes;
  std::optional<Topology> topology = request.topology(&where, &boxes);
  std::optional<CollectiveKind> kind;
  if (topology)
    kind = parseCollective(request.collective);
  if (!kind)
    return BadInput;
  std::string name(collectiveName(*kind));
  if (!hasPipelinedSchedules(*kind))
    return fail("there are no pipelined schedules of " + name + " yet");
  if (request.root && !isRooted(*kind))
    return fail(name + " has no root");
  auto begin = std::chrono::steady_clock::now();
  DepthAnswer answer{Error{}};
  bool isStopped = false;
  {
    InterruptScope interrupt;
    Progress progress("synthesizing " + name + " on " + topology->name());
    SearchLimits limits;
    limits.timeoutSeconds = request.timeoutSeconds;
    limits.interrupt = interrupt.flag();
    Deadline deadline(limits);
    answer = answerTo(*topology, *kind, request, limits);
    isStopped = deadline.isOver();
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  Result<PipelinedSchedule> &result = answer.schedule;
  if (answer.impossible)
    return reportImpossible(request, *answer.impossible);
  if (!result) {
    fail(where + result.error());
    return isStopped || request.steps > 0 ? NotKnown : BadInput;
  }
  const auto &[collective, schedule] = result->implementation;
  Result<Instance> instance = Instance::make(
      *topology, collective, schedule.steps.size(), schedule.rounds());
  if (!instance)
    return fail(where + instance.error());
  if (!writeResult(request, *instance, boxes, *result))
    return BadInput;
  if (request.json)
    llvm::outs() << llvm::json::Value(
                        pipelinedObject(*topology, *result, time.count()))
                 << '\n';
  else
    err() << llvm::formatv("{0} on {1}: {2} ({3:f3} s)\n", name,
                           topology->name(), pipelinedText(*result),
                           time.count());
  return Done;
}
