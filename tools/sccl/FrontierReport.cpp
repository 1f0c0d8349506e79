//===- FrontierReport.cpp - Prints and writes frontiers -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FrontierReport.h"

#include "Driver.h"
#include "Output.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Solver/Trees.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <set>
#include <utility>

using namespace sccl;
using namespace sccl::driver;

std::string driver::describe(const FrontierActivity &activity) {
  std::string steps = "S = " + std::to_string(activity.steps);
  if (activity.chunks == 0)
    return "bound for " + steps;
  return "trying C = " + std::to_string(activity.chunks) + ", " + steps +
         ", R = " + std::to_string(activity.rounds);
}

std::string driver::describe(const Topology &topology,
                             const CollectiveFamily &family) {
  std::string text = family.name() + " on " + topology.name();
  if (!family.groups.empty())
    text += ", groups " + printRankGroups(family.groups);
  if (isRooted(family.kind))
    text += ", root " + std::to_string(family.root);
  return text;
}

/// After a search that did not come to its end, what is proved about the
/// numbers of steps without an optimal point.
static std::vector<Certificate> openClaims(const Frontier &frontier) {
  std::vector<Certificate> claims;
  if (!frontier.stopped)
    return claims;
  std::set<unsigned> done;
  for (const FrontierPoint &point : frontier.points)
    if (point.optimal)
      done.insert(point.steps);
  for (const TreePoint &point : frontier.trees)
    if (point.optimal)
      done.insert(point.steps);
  for (unsigned s = 1; s < frontier.bounds.size(); ++s) {
    const SharedBound &bound = frontier.bounds[s];
    // What holds for any number of steps is said once, below.
    bool isForAny = bound && frontier.throughput &&
                    bound->value == frontier.throughput->value;
    if (bound && !isForAny && !done.count(s))
      claims.push_back(bound->certificate);
  }
  if (frontier.throughput)
    claims.push_back(frontier.throughput->certificate);
  return claims;
}

template <typename Point> static std::string optimality(const Point &point) {
  if (point.optimal)
    return point.bound ? "optimal, certified" : "optimal, nothing is sent";
  if (point.bound && point.bound->value)
    return "not proven optimal, bound " + point.bound->value->str();
  return "not proven optimal";
}

/// Only once there is something to print below it.
void FrontierReport::header() {
  if (output.json || std::exchange(hasHeader, true))
    return;
  out() << describe(topology, family) << '\n';
  for (const std::string &note : output.notes)
    out() << "  note: " << note << '\n';
}

//===----------------------------------------------------------------------===//
// As JSON
//===----------------------------------------------------------------------===//

llvm::json::Object FrontierReport::common() const {
  llvm::json::Object object{{"topology", topology.name()},
                            {"collective", family.name()},
                            {"root", isRooted(family.kind)
                                         ? llvm::json::Value(family.root)
                                         : llvm::json::Value(nullptr)}};
  if (!family.groups.empty())
    object["groups"] = printRankGroups(family.groups);
  if (!output.notes.empty())
    object["notes"] = llvm::json::Array(output.notes);
  return object;
}

template <typename Point>
llvm::json::Object FrontierReport::shared(const Point &point) const {
  llvm::json::Object result = common();
  result["chunks"] = point.chunks;
  result["steps"] = point.steps;
  result["rounds"] = point.rounds;
  result["cost"] = point.bandwidth().str();
  result["status"] = point.optimal ? "optimal" : "not proven";
  if (point.bound && point.bound->value) {
    result["lower_bound"] = point.bound->value->str();
    if (const SumOrder &order = point.bound->certificate.order; order.isTree())
      result["lower_bound_order"] = order.toString();
  }
  result["seconds"] = point.seconds;
  return result;
}

llvm::json::Object FrontierReport::object(const FrontierPoint &point) const {
  llvm::json::Object result = shared(point);
  result["engine"] = point.engine;
  return result;
}

llvm::json::Object FrontierReport::object(const TreePoint &point) const {
  llvm::json::Object result = shared(point);
  result["engine"] = std::string(TreeSynthesis::engine);
  result["sends"] = point.sends;
  return result;
}

llvm::json::Object FrontierReport::object(const Certificate &claim) const {
  llvm::json::Object result{{"claim", claimText(claim, family.name())}};
  result["steps"] = claim.steps ? llvm::json::Value(*claim.steps) : nullptr;
  result["lower_bound"] =
      claim.bound ? llvm::json::Value(claim.bound->str()) : nullptr;
  return result;
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

void FrontierReport::point(const FrontierPoint &point) {
  header();
  if (output.json)
    llvm::outs() << llvm::json::Value(object(point)) << '\n';
  else
    out() << llvm::formatv(
        "  C = {0,-4} S = {1,-3} R = {2,-4} R/C = {3,-7} {4} ({5}, {6:f3} "
        "s)\n",
        point.chunks, point.steps, point.rounds, point.bandwidth().str(),
        optimality(point), point.engine, point.seconds);
  llvm::outs().flush();
  if (!output.directory.empty())
    write(point);
}

void FrontierReport::point(const TreePoint &point) {
  header();
  if (output.json)
    llvm::outs() << llvm::json::Value(object(point)) << '\n';
  else
    out() << llvm::formatv(
        "  C = {0,-4} S = {1,-3} R = {2,-4} R/C = {3,-7} {4} ({5}, {6} "
        "sends, {7:f3} s)\n",
        point.chunks, point.steps, point.rounds, point.bandwidth().str(),
        optimality(point), TreeSynthesis::engine, point.sends, point.seconds);
  llvm::outs().flush();
  if (!output.directory.empty())
    write(point);
}

void FrontierReport::point(const PipelinedSchedule &result, double seconds) {
  header();
  if (output.json)
    llvm::outs() << llvm::json::Value(
                        pipelinedObject(topology, result, seconds))
                 << '\n';
  else
    out() << llvm::formatv("  {0} ({1:f3} s)\n", pipelinedText(result),
                           seconds);
  if (!output.directory.empty())
    write(result);
}

void FrontierReport::conclusion(const Frontier &frontier) {
  header();
  if (!output.directory.empty())
    writeGaps(frontier);
  llvm::StringRef status = frontier.complete ? "complete" : "incomplete";
  std::vector<Certificate> claims = openClaims(frontier);
  if (!output.json) {
    for (const Certificate &claim : claims)
      out() << "  certified: " << claimText(claim, family.name()) << '\n';
    out() << "  frontier " << status << ": " << frontier.why << '\n';
    return;
  }
  llvm::json::Object result = common();
  result["frontier"] = status;
  result["reason"] = frontier.why;
  result["points"] = int64_t(frontier.points.size() + frontier.trees.size());
  if (frontier.throughput && frontier.throughput->value)
    result["bandwidth_bound"] = frontier.throughput->value->str();
  llvm::json::Array certified;
  for (const Certificate &claim : claims)
    certified.push_back(object(claim));
  if (!certified.empty())
    result["certified"] = std::move(certified);
  llvm::outs() << llvm::json::Value(std::move(result)) << '\n';
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

void FrontierReport::write(const FrontierPoint &point) {
  Result<Collective> collective =
      family.make(topology.numRanks(), point.chunks);
  write(*collective, point.schedule.get(), point.bound.get(),
        "r" + std::to_string(point.rounds));
}

void FrontierReport::write(const TreePoint &point) {
  if (point.sends > maxSends) {
    err() << "not written: C = " << point.chunks << " of S = " << point.steps
          << ", more than " << maxSends << " sends\n";
    return;
  }
  Result<Implementation> written = writeOut(point, family, topology.numRanks());
  if (!written)
    return void(failed |= fail(written.error()) != Done);
  write(written->collective, written->schedule, point.bound.get(),
        "r" + std::to_string(point.rounds));
}

void FrontierReport::write(const PipelinedSchedule &result) {
  const auto &[collective, schedule] = result.implementation;
  write(collective, schedule, result.bound ? &*result.bound : nullptr,
        "p" + std::to_string(schedule.period));
}

/// Why there is no point of some numbers of steps between others.
void FrontierReport::writeGaps(const Frontier &frontier) {
  std::set<unsigned> written;
  for (const FrontierPoint &point : frontier.points)
    written.insert(point.steps);
  for (const TreePoint &point : frontier.trees)
    written.insert(point.steps);
  for (unsigned s = 1; s < frontier.bounds.size(); ++s) {
    const SharedBound &bound = frontier.bounds[s];
    if (bound && bound->certificate.steps == s && bound->value &&
        !written.count(s))
      failed |= !writeFile(pathOf("_s" + std::to_string(s) + ".cert"),
                           printCertificate(bound->certificate));
  }
}

/// Of a file in the directory: the collective, and `rest`.
std::string FrontierReport::pathOf(const std::string &rest) const {
  std::string stem = fileStem(family.name());
  if (isRooted(family.kind))
    stem += "_root" + std::to_string(family.root);
  llvm::SmallString<128> path(output.directory);
  llvm::sys::path::append(path, stem + rest);
  return path.str().str();
}

void FrontierReport::write(const Collective &collective,
                           const Schedule &schedule, const LowerBound *bound,
                           llvm::StringRef rounds) {
  std::string path = pathOf(llvm::formatv("_c{0}_s{1}_{2}", collective.chunks(),
                                          schedule.steps.size(), rounds));
  Result<Instance> instance =
      Instance::make(topology, collective, schedule.steps.size(),
                     schedule.rounds(), output.order);
  if (auto violation = checkSchedule(topology, collective, schedule)) {
    failed |= fail(violation->message) != Done;
    return;
  }
  std::string certificate;
  if (bound)
    certificate = printCertificate(bound->certificate);
  failed |= !writeFile(path + ".mlir", scheduleText(*instance, output.boxes,
                                                    schedule, certificate));
  if (bound)
    failed |= !writeFile(path + ".cert", certificate);
}
