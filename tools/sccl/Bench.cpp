//===- Bench.cpp - sccl bench ---------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "DeviceFlags.h"
#include "MeasuredTrace.h"
#include "Output.h"
#include "Plans.h"
#include "Progress.h"
#include "Tune.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("bench",
                              "Measure a plan; columns as in nccl-tests");
static cl::opt<std::string> input(cl::Positional, cl::desc("FILE.sccl"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string>
    from("from", cl::desc("Smallest size; with --tune of a send buffer"),
         usually("8"), cl::sub(command));
static cl::opt<std::string> upTo("to", cl::desc("Largest size"),
                                 usually("64MiB"), cl::sub(command));
static cl::opt<unsigned>
    factor("factor", cl::desc("From size to size (default: 8, with --tune 4)"),
           cl::init(0), cl::sub(command), cl::Hidden);
static cl::opt<Element> element("element", cl::desc("Element type"),
                                usually(Element::F32), cl::sub(command));
static cl::opt<Reduction> reduction("reduction", cl::desc("Reduction"),
                                    usually(Reduction::Sum), cl::sub(command));
static cl::opt<std::string> ranksAs("ranks-as",
                                    cl::desc("threads or processes"),
                                    usually("processes"), cl::sub(command));
static cl::opt<std::string>
    launcher("launcher", cl::desc("Ranks of mpirun: mpi, openmpi or mpich"),
             cl::sub(command));
static cl::opt<std::string>
    buffers("buffers", cl::desc("registered (scclMemAlloc) or any (malloc)"),
            usually("registered"), cl::sub(command), cl::Hidden);
static DeviceFlags device(command);
static cl::opt<unsigned>
    batches("batches",
            cl::desc("Timed; the best counts (default: 50, with --tune 20)"),
            cl::init(50), cl::sub(command), cl::Hidden);
static cl::opt<unsigned> launches("launches", cl::desc("Per batch; 0: by size"),
                                  cl::init(0), cl::sub(command), cl::Hidden);
static cl::opt<double> timeout("timeout", cl::desc("Seconds for one launch"),
                               usually(30), cl::sub(command), cl::Hidden);
static cl::opt<std::string>
    tracePath("trace",
              cl::desc("Write what channels did when here, for Perfetto: the "
                       "last batch out of place; for one size"),
              cl::value_desc("FILE.json"), cl::sub(command));
static cl::opt<bool> tunes("tune",
                           cl::desc("Find the fastest program for each size, "
                                    "and have the plan take it there"),
                           cl::sub(command));
static cl::opt<std::string>
    output("o", cl::desc("With --tune: plan to write (default: the same)"),
           cl::value_desc("FILE.sccl"), cl::sub(command));
static cl::opt<bool> json("json", cl::desc("Print one JSON object per line"),
                          cl::sub(command));

bool driver::benchChosen() { return bool(command); }

static unsigned elementBytes() { return elementType(element).bytes; }

uint64_t driver::segmentsOfSize(const plan::Manifest &manifest) {
  uint64_t most = 1;
  for (const plan::RankLayout &layout : manifest.layout)
    most =
        std::max<uint64_t>({most, layout.inputSegments, layout.outputSegments});
  return most;
}

unsigned driver::launchesForSize(uint64_t bytes) {
  // Some 100 us: a batch that the scheduler interrupts is lost.
  return std::clamp<uint64_t>((1 << 20) / std::max<uint64_t>(bytes, 1), 1, 100);
}

std::optional<std::vector<uint64_t>> driver::sizesBetween(llvm::StringRef from,
                                                          llvm::StringRef upTo,
                                                          unsigned factor) {
  std::optional<uint64_t> first = readBytes("--from", from);
  std::optional<uint64_t> last = first ? readBytes("--to", upTo) : std::nullopt;
  if (!last)
    return std::nullopt;
  constexpr uint64_t limit = uint64_t(1) << 40;
  if (*first == 0 || *first > *last || *last > limit || factor < 2) {
    fail("--from and --to must be sizes with 0 < from <= to <= 1 TiB, and "
         "--factor at least 2");
    return std::nullopt;
  }
  std::vector<uint64_t> sizes;
  for (uint64_t size = *first; size <= *last; size *= factor) {
    sizes.push_back(size);
    if (size > *last / factor)
      break; // the next one would be too large, or even for 64 bits
  }
  return sizes;
}

bool driver::dropEmpty(std::vector<uint64_t> &sizes, uint64_t least) {
  llvm::erase_if(sizes, [&](uint64_t size) { return size < least; });
  if (sizes.empty())
    fail("--to is less than one element per segment, " + llvm::Twine(least) +
         " bytes");
  return !sizes.empty();
}

/// Bus bandwidth over algorithm bandwidth, as nccl-tests define it; 1 for a
/// user-defined collective.
static double busFactor(const plan::Manifest &manifest) {
  double n = manifest.ranks;
  llvm::StringRef name = manifest.collective;
  if (manifest.conditions)
    return 1;
  if (name == "all_reduce")
    return 2 * (n - 1) / n;
  if (name == "broadcast" || name == "reduce")
    return 1;
  return (n - 1) / n;
}

namespace {
/// Prints one line per size.
class BenchTable {
public:
  BenchTable(const plan::Manifest &manifest) : manifest(manifest) {}

  void printHead() const {
    if (json)
      return;
    out() << "# " << manifest.collective << ", " << manifest.ranks
          << " ranks as " << ranksAs << ", " << buffers << " buffers, best of "
          << batches << " batches\n"
          << "#                                                     "
             "out-of-place                       in-place\n"
          << "#       size         count   type redop  root     time   algbw   "
             "busbw #wrong     time   algbw   busbw #wrong\n"
          << "#        (B)    (elements)                        (us)  (GB/s)  "
             "(GB/s)            (us)  (GB/s)  (GB/s)\n";
  }

  void print(uint64_t bytes, uint64_t count, const Measurement &apart,
             const Measurement &inPlace, const scclChoice &choice) const {
    bool rooted = !manifest.conditions &&
                  isRooted(*parseCollectiveName(manifest.collective));
    int root = rooted ? int(manifest.root) : -1;
    std::string op =
        manifest.combining ? optionText(reduction.getValue()) : "none";
    if (json) {
      llvm::outs() << llvm::json::Value(llvm::json::Object{
                          {"collective", manifest.collective},
                          {"size", bytes},
                          {"send_bytes",
                           count * elementBytes() * manifest.sendSegments},
                          {"count", count},
                          {"type", elementType(element).name},
                          {"redop", op},
                          {"root", root},
                          {"ranks", manifest.ranks},
                          {"ranks_as", ranksAs},
                          {"buffers", buffers},
                          {"program", choice.program},
                          {"schedule", choice.schedule},
                          {"reason", choice.reason},
                          {"out_of_place", entry(bytes, apart)},
                          {"in_place", entry(bytes, inPlace)}})
                   << '\n';
    } else {
      out() << llvm::formatv("{0,12} {1,13} {2,6} {3,5} {4,5}", bytes, count,
                             elementType(element).name, op, root);
      for (const Measurement *measurement : {&apart, &inPlace})
        out() << llvm::formatv(
            " {0,8:f2} {1,7:f2} {2,7:f2} {3,6}", measurement->seconds * 1e6,
            bandwidth(bytes, *measurement),
            bandwidth(bytes, *measurement) * busFactor(manifest),
            measurement->wrong);
      out() << '\n';
    }
    llvm::outs().flush();
  }

private:
  static double bandwidth(uint64_t bytes, const Measurement &measurement) {
    return measurement.seconds > 0 ? bytes / measurement.seconds * 1e-9 : 0;
  }
  llvm::json::Object entry(uint64_t bytes,
                           const Measurement &measurement) const {
    double algorithm = bandwidth(bytes, measurement);
    return llvm::json::Object{{"time_us", measurement.seconds * 1e6},
                              {"algbw", algorithm},
                              {"busbw", algorithm * busFactor(manifest)},
                              {"wrong", measurement.wrong}};
  }

  const plan::Manifest &manifest;
};
} // namespace

static MeasureRequest requestFor(const plan::Manifest &manifest,
                                 uint64_t size) {
  MeasureRequest request;
  request.count = size / segmentsOfSize(manifest) / elementBytes();
  request.element = elementType(element);
  request.reduction = reduction;
  request.registered = buffers == "registered";
  request.batches = batches;
  request.launches = launches ? launches : launchesForSize(size);
  return request;
}

/// What one rank does. Rank 0 prints.
static int benchRank(const LoadedPlan &plan, const std::vector<uint64_t> &sizes,
                     const RankEnd &end) {
  const plan::Manifest &manifest = plan.view.manifest;
  auto report = [&](llvm::StringRef error) { return failOnRank(end, error); };
  Result<std::unique_ptr<PlanRank>> rank = PlanRank::create(
      plan.file->getBuffer(), manifest, end, device.config(end.rank, timeout));
  if (!rank)
    return report(rank.error());
  if (!tracePath.empty())
    if (std::optional<Error> error =
            checkTraced(**rank, requestFor(manifest, sizes.front())))
      return report(error->message);
  BenchTable table(manifest);
  std::optional<Progress> progress;
  if (end.rank == 0) {
    table.printHead();
    progress.emplace("measuring");
  }
  uint64_t wrong = 0;
  for (uint64_t size : sizes) {
    if (progress)
      progress->setDetail(formatBytes(size));
    MeasureRequest request = requestFor(manifest, size);
    Measurement results[2];
    for (bool inPlace : {false, true}) {
      request.inPlace = inPlace;
      request.traced = !inPlace && !tracePath.empty();
      Result<Measurement> measured =
          measureTraced(**rank, request, end.rank, tracePath, input);
      if (!measured)
        return report(measured.error());
      results[inPlace] = *measured;
      wrong += measured->wrong;
    }
    if (!progress)
      continue;
    Result<scclChoice> choice = (*rank)->choice(request);
    if (!choice)
      return report(choice.error());
    auto paused = progress->pause();
    table.print(request.count * elementBytes() * segmentsOfSize(manifest),
                request.count, results[0], results[1], *choice);
    paused.unlock();
    for (const Measurement &result : results)
      if (result.wrong != 0)
        fail("wrong result in " + result.firstWrong);
  }
  return wrong == 0 ? Done : BadInput;
}

/// What is wrong with the options; empty if nothing is.
static std::string findMistake() {
  std::string idle = tunes ? findGiven({&buffers, &launches, &tracePath, &json})
                           : findGiven({&output});
  if (!idle.empty())
    return idle + (tunes ? " is not for --tune" : " needs --tune");
  if (buffers != "registered" && buffers != "any")
    return "--buffers is '" + buffers + "', expected registered or any";
  if (batches == 0 || !(timeout > 0))
    return "--batches must be at least 1 and --timeout more than 0";
  return "";
}

static int tune(const LoadedPlan &plan, std::vector<uint64_t> sizes,
                RanksAs kind) {
  constexpr unsigned usualBatches = 20;
  return tunePlan({plan, std::move(sizes), kind, element, reduction,
                   batches.getNumOccurrences() ? batches : usualBatches,
                   timeout, device, output.empty() ? input : output});
}

int driver::benchMain() {
  std::optional<LoadedPlan> plan = loadPlanToRun(input);
  unsigned usualFactor = tunes ? 4 : 8;
  std::optional<std::vector<uint64_t>> sizes = sizesBetween(
      from, upTo, factor.getNumOccurrences() ? factor : usualFactor);
  if (!plan || !sizes || !reduces(plan->view.manifest, findGiven({&reduction})))
    return BadInput;
  std::optional<RanksAs> kind = chooseRanksAs(ranksAs, launcher);
  if (!kind)
    return BadInput;
  if (std::string mistake = findMistake(); !mistake.empty())
    return fail(mistake);
  if (!device.check() || !checkLaunchLimit(timeout))
    return BadInput;
  if (tunes)
    return tune(*plan, std::move(*sizes), *kind);
  if (device.isGPU() && buffers != "registered")
    return fail("--buffers=any is memory of the host, which --device=" +
                device.name() + " cannot access");
  if (!tracePath.empty() && sizes->size() != 1)
    return fail("--trace is for one size, with --from and --to alike");
  if (!tracePath.empty() && !checkWritable(tracePath))
    return BadInput;
  if (!dropEmpty(*sizes, segmentsOfSize(plan->view.manifest) * elementBytes()))
    return BadInput;
  return startRanks(
      plan->view.manifest.ranks, *kind, timeout,
      [&](const RankEnd &end) { return benchRank(*plan, *sizes, end); });
}
