//===- MachineMeasure.cpp - sccl machine --measure ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what links of a machine do, one of each class, and writes the
// machine with these numbers.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "DeviceFlags.h"
#include "MachineFlags.h"
#include "Output.h"
#include "Plans.h"

#include "sccl/Machine/Profile.h"
#include "sccl/Measure/LinkProbe.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::opt<bool>
    measures("measure",
             cl::desc("Measure the links, one of each class, and with -o write "
                      "the machine with these numbers"),
             cl::sub(machineCommand()));
static cl::opt<unsigned>
    hostRanks("ranks", cl::desc("In place of a machine: ranks of this host"),
              cl::sub(machineCommand()));
static cl::opt<std::string>
    ranksAs("ranks-as", cl::desc("threads or processes (the default)"),
            cl::init("processes"), cl::sub(machineCommand()));
static cl::opt<std::string>
    launcher("launcher", cl::desc("Ranks of mpirun: mpi, openmpi or mpich"),
             cl::sub(machineCommand()));
static DeviceFlags device(machineCommand());
static cl::opt<std::string>
    target("target", cl::desc("Chip of --device, as sm_90 or gfx942"),
           cl::sub(machineCommand()));
static cl::opt<std::string> size("bytes", cl::desc("The longest message"),
                                 usually("32MiB"), cl::sub(machineCommand()));
static cl::opt<unsigned> batches("batches", cl::desc("Timed; the best counts"),
                                 usually(20), cl::sub(machineCommand()),
                                 cl::Hidden);
static cl::opt<double> timeout("timeout", cl::desc("Seconds for one launch"),
                               usually(30), cl::sub(machineCommand()),
                               cl::Hidden);

bool driver::isMeasuring() { return measures; }

std::string driver::findMeasureOption() {
  std::string option = findGiven(
      {&hostRanks, &ranksAs, &launcher, &target, &size, &batches, &timeout});
  return option.empty() ? device.findGiven() : option;
}

namespace {
/// A machine, and plans that measure its links.
struct Profile {
  Derivation derivation;
  std::vector<LinkClass> classes;
  LinkProbe idle;                ///< without a send
  std::vector<LinkProbe> probes; ///< by class
  LinkProbeOptions options;
};
} // namespace

/// What is wrong with the options; empty if nothing.
static std::string findMistake(llvm::StringRef name) {
  if ((name.empty() && !isImport()) == !hostRanks.getNumOccurrences())
    return "--measure needs a machine or --ranks, one of them";
  if (batches == 0 || !(timeout > 0))
    return "--batches must be at least 1 and --timeout more than 0";
  if (device.isGPU() == target.empty())
    return "--target is the chip of --device=cuda or hip";
  return "";
}

/// Prints an error and returns nothing if there is none.
static std::optional<Machine> machineToMeasure(llvm::StringRef name) {
  if (hostRanks.getNumOccurrences()) {
    Result<Machine> made = makeHostMachine(hostRanks);
    if (made)
      return std::move(*made);
    fail(made.error());
    return std::nullopt;
  }
  return isImport() ? importGivenMachine() : loadMachine(name);
}

/// Prints an error and returns nothing if there is no such machine, or its
/// links cannot be measured.
static std::optional<Profile> prepare(llvm::StringRef name, uint64_t bytes,
                                      bool messages) {
  std::optional<Machine> machine = machineToMeasure(name);
  if (!machine || !applyNetwork(*machine) || !applyFaults(*machine))
    return std::nullopt;
  std::optional<Derivation> derivation = derive(*machine);
  if (!derivation)
    return std::nullopt;
  std::vector<LinkClass> classes = classifyLinks(*derivation);
  auto idle = compileLinkProbe(derivation->topology, std::nullopt,
                               target.getValue(), messages);
  if (failed(idle))
    return std::nullopt;
  std::vector<LinkProbe> probes;
  for (const LinkClass &links : classes) {
    auto probe = compileLinkProbe(derivation->topology, links.link,
                                  target.getValue(), messages);
    if (failed(probe))
      return std::nullopt;
    probes.push_back(std::move(*probe));
  }
  return Profile{std::move(*derivation),
                 std::move(classes),
                 std::move(*idle),
                 std::move(probes),
                 {bytes, batches}};
}

/// Measures one link of each class. Collective.
static Result<std::vector<LinkMeasurement>> measure(const Profile &profile,
                                                    const RankEnd &end) {
  scclConfig config = device.config(end.rank, timeout);
  Result<LinkTimes> idle =
      measureLink(profile.idle, end, config, profile.options);
  if (!idle)
    return Error{idle.error()};
  std::vector<LinkMeasurement> measurements;
  for (size_t i = 0; i < profile.probes.size(); ++i) {
    Result<LinkTimes> times =
        measureLink(profile.probes[i], end, config, profile.options);
    if (!times)
      return Error{times.error()};
    measurements.push_back(
        {profile.classes[i].link,
         std::max(times->first - idle->first, 0.0) / times->hops,
         1e-3 / times->per});
  }
  return measurements;
}

/// "25.00", or three digits of what is less than 1: "0.00589".
static std::string formatRate(double gigabytes) {
  char text[32];
  std::snprintf(text, sizeof(text), gigabytes < 1 ? "%.3g" : "%.2f", gigabytes);
  return text;
}

static void print(const Profile &profile,
                  const std::vector<LinkMeasurement> &measurements, bool json) {
  const Topology &topology = profile.derivation.topology;
  if (!json)
    out() << llvm::formatv("{0,-32} {1,7} {2,10} {3,12} {4,10} {5,10}\n",
                           "links", "number", "measured", "latency (us)",
                           "GB/s", "as said");
  for (size_t i = 0; i < measurements.size(); ++i) {
    const LinkClass &links = profile.classes[i];
    const Link &link = topology.links()[links.link];
    std::string which =
        std::to_string(link.src) + "->" + std::to_string(link.dst);
    double said =
        topology.capacity(links.link) * profile.derivation.quantum.toDouble();
    if (json)
      llvm::outs() << llvm::json::Value(llvm::json::Object{
                          {"links", links.name},
                          {"number", links.count},
                          {"src", link.src},
                          {"dst", link.dst},
                          {"latency_us", measurements[i].latency},
                          {"gigabytes_per_second", measurements[i].bandwidth},
                          {"said_gigabytes_per_second", said}})
                   << '\n';
    else
      out() << llvm::formatv(
          "{0,-32} {1,7} {2,10} {3,12:f2} {4,10} {5,10}\n", links.name,
          links.count, which, measurements[i].latency,
          formatRate(measurements[i].bandwidth), formatRate(said));
  }
  llvm::outs().flush();
}

/// What one rank does. Rank 0 prints and writes.
static int measureRank(const Profile &profile, llvm::StringRef source,
                       llvm::StringRef output, bool json, const RankEnd &end) {
  Result<std::vector<LinkMeasurement>> measurements = measure(profile, end);
  if (end.rank != 0)
    return measurements ? Done : BadInput;
  if (!measurements)
    return fail(measurements.error());
  Result<Machine> measured =
      withMeasurements(profile.derivation, *measurements, source.str());
  if (!measured)
    return fail(measured.error());
  if (!output.empty() && !writeFile(output, machineText(*measured)))
    return BadInput;
  print(profile, *measurements, json);
  return Done;
}

int driver::measureMachine(llvm::StringRef name, llvm::StringRef output,
                           bool json) {
  if (std::string mistake = findMistake(name); !mistake.empty())
    return fail(mistake);
  std::optional<uint64_t> bytes = readBytes("--bytes", size);
  if (!bytes)
    return BadInput;
  if (*bytes < 4096 || *bytes > uint64_t(1) << 34)
    return fail("--bytes is '" + size + "', expected 4 KiB to 16 GiB");
  std::optional<RanksAs> kind = chooseRanksAs(ranksAs, launcher);
  if (!kind || !device.check())
    return BadInput;
  std::optional<Profile> profile = prepare(name, *bytes, isMPI(*kind));
  if (!profile)
    return BadInput;
  std::string source = "measured on " + device.name() + ", ranks as " +
                       ranksAsName(*kind).str() + ", up to " +
                       formatBytes(*bytes);
  return startRanks(profile->derivation.topology.numRanks(), *kind, timeout,
                    [&](const RankEnd &end) {
                      return measureRank(*profile, source, output, json, end);
                    });
}
