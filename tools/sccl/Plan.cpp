//===- Plan.cpp - sccl plan -----------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Interrupt.h"
#include "LoweringFlags.h"
#include "Progress.h"

#include "sccl/Advice/Advice.h"
#include "sccl/Advice/MachineTiming.h"
#include "sccl/Machine/Presets.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <set>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand
    command("plan", "Find the best schedule of a collective for each size");
static cl::opt<std::string>
    machineName("machine", cl::desc("A machine that sccl topo lists"),
                cl::value_desc("NAME"), cl::sub(command));
static cl::opt<std::string>
    topologyName("topology",
                 cl::desc("In place of a machine: built-in topology or .mlir "
                          "file"),
                 cl::sub(command));
static cl::opt<std::string> collectiveSpelling("collective",
                                               cl::desc("all_gather, ..."),
                                               cl::Required, cl::sub(command));
static cl::opt<unsigned> root("root", cl::desc("Root rank"), cl::init(0),
                              cl::sub(command));
static cl::list<std::string> latencies(
    "latency", cl::desc("Microseconds of an edge, for all or one kind of them"),
    cl::value_desc("[KIND=]US"), cl::CommaSeparated, cl::sub(command));
static cl::opt<double>
    bandwidth("bandwidth",
              cl::desc("With --topology: GB/s of a link of bandwidth 1"),
              cl::init(25), cl::sub(command));
static cl::opt<double>
    copyBandwidth("copy-bandwidth",
                  cl::desc("GB/s of copies within a rank; 0 means that they "
                           "take no time"),
                  cl::init(1000), cl::sub(command));
static cl::opt<std::string> from("from", cl::desc("Smallest send buffer"),
                                 cl::init("1KiB"), cl::sub(command));
static cl::opt<std::string> upTo("to", cl::desc("Largest send buffer"),
                                 cl::init("1GiB"), cl::sub(command));
static cl::opt<unsigned> maxSteps("max-steps",
                                  cl::desc("Largest S (default: 8)"),
                                  cl::init(8), cl::sub(command));
static cl::opt<double> timeout("timeout",
                               cl::desc("Limit of the search in seconds"),
                               cl::sub(command));
static LoweringFlags lowering(command, {OptionGroup::Data});
static cl::opt<bool> json("json", cl::desc("Print results as JSON"),
                          cl::sub(command));
static cl::opt<std::string>
    directory("o", cl::desc("Write the schedules and certificates here"),
              cl::value_desc("DIR"), cl::sub(command));

bool driver::planChosen() { return bool(command); }

namespace {
struct NamedFabric {
  Fabric fabric;
  std::vector<std::string> assumptions;
};
} // namespace

/// Reads --latency. Prints an error and returns nothing if it makes no sense.
static std::optional<LatencyByKind> readLatencies() {
  LatencyByKind result;
  for (llvm::StringRef text : latencies) {
    auto [kind, number] = text.contains('=')
                              ? text.split('=')
                              : std::pair(llvm::StringRef(), text);
    double value;
    if (number.getAsDouble(value) || !(value >= 0) || !std::isfinite(value)) {
      fail("--latency is '" + text +
           "', expected microseconds, or a kind of edges, = and microseconds");
      return std::nullopt;
    }
    result[kind.str()] = value;
  }
  return result;
}

static std::optional<NamedFabric> loadMachine(const LatencyByKind &given) {
  Result<Machine> machine = makeMachinePreset(machineName);
  if (!machine) {
    fail(machine.error());
    return std::nullopt;
  }
  Result<Derivation> derivation = deriveTopology(*machine);
  if (!derivation) {
    fail(derivation.error());
    return std::nullopt;
  }
  MachineTiming timing = timingOf(*derivation, given);
  return NamedFabric{{derivation->topology, std::move(timing.timing),
                      1 / (derivation->quantum.toDouble() * 1e3)},
                     std::move(timing.assumptions)};
}

static std::optional<NamedFabric>
loadPlainTopology(const LatencyByKind &given) {
  if (!(bandwidth > 0) || !std::isfinite(bandwidth)) {
    fail("--bandwidth must be more than 0, and finite");
    return std::nullopt;
  }
  std::optional<Topology> topology = loadTopology(topologyName);
  if (!topology)
    return std::nullopt;
  auto it = given.find("");
  bool isGiven = it != given.end();
  double latency = isGiven ? it->second : assumedLatencies().find("")->second;
  NamedFabric result{{*topology,
                      Timing::uniform(*topology, latency, bandwidth * 1e3),
                      1 / (bandwidth * 1e3)},
                     {}};
  if (!isGiven)
    result.assumptions.push_back(
        llvm::formatv("latency of {0} us for each link (assumed)", latency));
  return result;
}

static std::optional<NamedFabric> loadFabric() {
  std::optional<LatencyByKind> given = readLatencies();
  if (!given)
    return std::nullopt;
  if (machineName.empty() == topologyName.empty()) {
    fail("expected one of --machine and --topology");
    return std::nullopt;
  }
  if (!machineName.empty() && bandwidth.getNumOccurrences()) {
    fail("--bandwidth is for topologies; machines have GB/s of their own");
    return std::nullopt;
  }
  if (!(copyBandwidth >= 0) || !std::isfinite(copyBandwidth)) {
    fail("--copy-bandwidth must be at least 0, and finite");
    return std::nullopt;
  }
  std::optional<NamedFabric> named =
      machineName.empty() ? loadPlainTopology(*given) : loadMachine(*given);
  if (!named)
    return std::nullopt;
  named->fabric.timing.copyRate = copyBandwidth * 1e3;
  if (!copyBandwidth.getNumOccurrences())
    named->assumptions.push_back(
        llvm::formatv("copies within a rank at {0} GB/s (assumed)",
                      copyBandwidth.getValue()));
  return named;
}

static std::string nameOf(const FrontierPoint &point) {
  return llvm::formatv("C = {0}, S = {1}, R = {2}", point.chunks, point.steps,
                       point.rounds);
}

static void printTable(const Advice &advice) {
  llvm::outs() << llvm::formatv("{0,12}{1,14}{2,14}{3,8}   {4}\n", "size", "us",
                                "bound us", "gap", "schedule");
  for (const SizeAdvice &size : advice.sizes)
    llvm::outs() << llvm::formatv(
        "{0,12}{1,14:f1}{2,14:f1}{3,8:P0}   {4}, {5}\n",
        formatBytes(size.bytes), size.microseconds, size.bound, size.gap(),
        nameOf(advice.frontier.points[size.point]), size.way);
}

static void printJson(const Advice &advice) {
  for (const SizeAdvice &size : advice.sizes) {
    const FrontierPoint &point = advice.frontier.points[size.point];
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"bytes", size.bytes},
                                           {"microseconds", size.microseconds},
                                           {"bound_microseconds", size.bound},
                                           {"gap", size.gap()},
                                           {"chunks", point.chunks},
                                           {"steps", point.steps},
                                           {"rounds", point.rounds},
                                           {"cost", point.bandwidth().str()},
                                           {"lowering", size.way}})
                 << '\n';
  }
}

static void print(const NamedFabric &named, const CollectiveFamily &family,
                  const Advice &advice) {
  if (json)
    return printJson(advice);
  llvm::outs() << collectiveName(family.kind) << " on "
               << named.fabric.topology.name() << ", "
               << named.fabric.topology.numRanks() << " ranks\n";
  for (const std::string &line : named.assumptions)
    llvm::outs() << "  " << line << '\n';
  printTable(advice);
  llvm::outs() << "frontier "
               << (advice.frontier.complete ? "complete: " : "incomplete: ")
               << advice.frontier.why << '\n';
}

/// Writes the schedules that are best for some size. False after an error.
static bool writeSchedules(const Topology &topology,
                           const CollectiveFamily &family,
                           const Advice &advice) {
  if (std::error_code error = llvm::sys::fs::create_directories(directory)) {
    fail("cannot create " + directory + ": " + error.message());
    return false;
  }
  std::set<size_t> chosen;
  for (const SizeAdvice &size : advice.sizes)
    chosen.insert(size.point);
  for (size_t number : chosen) {
    const FrontierPoint &point = advice.frontier.points[number];
    Result<Collective> collective = Collective::make(
        family.kind, topology.numRanks(), point.chunks, family.root);
    Result<Instance> instance =
        Instance::make(topology, *collective, point.steps, point.rounds);
    llvm::SmallString<128> path(directory.getValue());
    llvm::sys::path::append(path, llvm::formatv("{0}_c{1}_s{2}_r{3}.mlir",
                                                collectiveName(family.kind),
                                                point.chunks, point.steps,
                                                point.rounds));
    std::string certificate =
        point.bound ? printCertificate(point.bound->certificate) : "";
    if (!writeFile(path, scheduleText(*instance, point.schedule, certificate)))
      return false;
  }
  return true;
}

int driver::planMain() {
  std::optional<std::vector<uint64_t>> sizes = sizesByFour(from, upTo);
  if (!sizes)
    return BadInput;
  if (timeout.getNumOccurrences() && !(timeout > 0))
    return fail("--timeout must be more than 0 seconds");
  std::optional<CollectiveKind> kind = parseCollective(collectiveSpelling);
  if (!kind)
    return BadInput;
  std::optional<NamedFabric> named = loadFabric();
  if (!named)
    return BadInput;
  InterruptScope interrupt;
  FrontierOptions options;
  options.maxSteps = maxSteps;
  options.timeoutSeconds = timeout;
  options.solver.interrupt = interrupt.flag();
  CollectiveFamily family{*kind, root};
  Session session;
  Result<Advice> advice = Error{};
  {
    Progress progress("plan");
    advice = advise(session.context(), named->fabric, family, *sizes, options,
                    usualWays(lowering.get()));
  }
  if (!advice)
    return fail(advice.error());
  print(*named, family, *advice);
  if (!directory.empty() &&
      !writeSchedules(named->fabric.topology, family, *advice))
    return BadInput;
  return advice->frontier.stopped ? NotKnown : Done;
}
