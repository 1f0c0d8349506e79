//===- ModelTable.cpp - sccl simulate --model -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ModelTable.h"

#include "Output.h"
#include "Subjects.h"
#include "TopologyNotes.h"

#include "sccl/Check/Certificate.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Model/UsualModel.h"
#include "sccl/Simulate/TimingOps.h"

#include "llvm/Support/FormatVariadic.h"

using namespace sccl;
using namespace sccl::driver;

namespace {
struct NamedCost {
  std::string name;
  std::string purpose; ///< the collective, its root, and on how many ranks
  /// Of a user-defined collective, which its name does not define.
  uint64_t collectivePrint;
  std::string topology;
  uint64_t topologyPrint;
  Cost cost;
  /// Of a pipelined schedule, if it may be cut into pieces.
  std::optional<PipelinedCost> pipelined;
  unsigned mostPieces;            ///< of a chunk
  std::optional<CostModel> model; ///< by the clock in the file
};

/// What the best of several schedules is at one size.
struct BestAtSize {
  uint64_t bytes;
  size_t best;
};
} // namespace

/// The pieces that `named` takes for `bytes`: 1 is step by step.
static unsigned piecesOf(const NamedCost &named, const CostModel &model,
                         uint64_t bytes) {
  if (!named.pipelined)
    return 1;
  unsigned count =
      model.bestPieces(*named.pipelined, double(bytes), named.mostPieces);
  bool pays = model.microseconds(*named.pipelined, double(bytes), count) <
              model.microseconds(named.cost, double(bytes));
  return pays ? count : 1;
}

static double microseconds(const NamedCost &named, const CostModel &model,
                           uint64_t bytes) {
  unsigned count = piecesOf(named, model, bytes);
  return count == 1
             ? model.microseconds(named.cost, double(bytes))
             : model.microseconds(*named.pipelined, double(bytes), count);
}

static std::string describeWithRanks(const Collective &collective) {
  std::string text = collective.name();
  if (isRooted(collective.kind()))
    text += " root " + std::to_string(collective.root());
  return text + " on " + std::to_string(collective.numRanks()) + " ranks";
}

/// The model by the clock of the machine that `op` names, if there is one.
static std::optional<CostModel> modelIn(coll::ScheduleOp op,
                                        const Topology &topology) {
  auto named = mlir::SymbolTable::lookupNearestSymbolFrom<coll::TopologyOp>(
      op, op.getTopologyAttr());
  std::optional<Timing> timing = coll::timingOf(named, topology);
  return timing ? std::optional(modelOf(topology, *timing)) : std::nullopt;
}

/// The costs of all schedules in a file; prints an error and returns nothing if
/// it cannot be read or has none.
static std::optional<std::vector<NamedCost>> costsIn(llvm::StringRef path,
                                                     unsigned pieces) {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parseSchedules(path);
  if (!module)
    return std::nullopt;
  std::vector<NamedCost> costs;
  for (auto op : module->getOps<coll::ScheduleOp>()) {
    mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
    if (failed(problem))
      return std::nullopt;
    noteUnlimitedLinks(problem->topology);
    const Collective &collective = problem->collective;
    Certificate claim = makeClaim(problem->topology, collective, std::nullopt);
    Schedule schedule = coll::importSchedule(op);
    std::optional<PipelinedCost> pipelined;
    if (schedule.isPipelined() && pieces > 1)
      pipelined = pipelinedCostOf(schedule, collective);
    costs.push_back({(path + ":@" + op.getSymName()).str(),
                     describeWithRanks(collective), claim.collectivePrint,
                     problem->topology.name(), claim.topologyPrint,
                     costOf(schedule, collective), pipelined, pieces,
                     modelIn(op, problem->topology)});
  }
  if (costs.empty()) {
    fail(path + " holds no schedule");
    return std::nullopt;
  }
  return costs;
}

/// False, after an error, if not all do the same: to name the best of them
/// would mean nothing.
static bool areComparable(const std::vector<NamedCost> &costs) {
  const NamedCost &first = costs.front();
  for (const NamedCost &other : costs) {
    if (other.purpose != first.purpose) {
      fail(other.name + " is " + other.purpose + ", but " + first.name +
           " is " + first.purpose);
      return false;
    }
    if (other.collectivePrint != first.collectivePrint) {
      fail(other.name + " and " + first.name +
           " are of two user-defined collectives that differ");
      return false;
    }
  }
  return true;
}

/// True if `costs[i]` is for other links than `costs[0]`. To compare them may
/// be what is wanted, as a part of a machine with all of it, but must not go
/// unseen.
static bool isElsewhere(const std::vector<NamedCost> &costs, size_t i) {
  return costs[i].topologyPrint != costs.front().topologyPrint;
}

/// " on NAME, another topology than that of [0]" if it is.
static std::string markOf(const std::vector<NamedCost> &costs, size_t i) {
  if (!isElsewhere(costs, i))
    return "";
  return " on " + costs[i].topology + ", another topology than that of [0]";
}

static bool areInPieces(const std::vector<NamedCost> &costs) {
  return llvm::any_of(costs, [](const NamedCost &named) {
    return named.pipelined.has_value();
  });
}

/// Which is best from which size on. With pieces, whose best number depends on
/// the size, only the sizes asked for are looked at.
static std::vector<BestAtSize> select(const std::vector<NamedCost> &costs,
                                      const CostModel &model,
                                      const std::vector<uint64_t> &sizes) {
  std::vector<BestAtSize> ranges;
  if (!areInPieces(costs)) {
    std::vector<Cost> plain;
    for (const NamedCost &named : costs)
      plain.push_back(named.cost);
    for (const SizeRange &range : selectBySize(plain, model))
      ranges.push_back({range.firstByte, range.best});
    return ranges;
  }
  for (uint64_t size : sizes) {
    size_t best = 0;
    for (size_t i = 1; i < costs.size(); ++i)
      if (microseconds(costs[i], model, size) <
          microseconds(costs[best], model, size))
        best = i;
    if (ranges.empty() || ranges.back().best != best)
      ranges.push_back({size, best});
  }
  return ranges;
}

static std::string loadText(const NamedCost &named) {
  return named.pipelined ? ", load = " + named.pipelined->load.str() : "";
}

/// "12.3", or "12.3 /8" if that takes 8 pieces.
static std::string timeText(const NamedCost &named, const CostModel &model,
                            uint64_t size) {
  std::string text = llvm::formatv("{0:f1}", microseconds(named, model, size));
  unsigned count = piecesOf(named, model, size);
  return count == 1 ? text : text + " /" + std::to_string(count);
}

static void printTable(const std::vector<NamedCost> &costs,
                       const CostModel &model,
                       const std::vector<uint64_t> &sizes) {
  for (size_t i = 0; i < costs.size(); ++i)
    out() << llvm::formatv("[{0}] {1}: S = {2}, R/C = {3}{4}{5}\n", i,
                           costs[i].name, costs[i].cost.steps,
                           costs[i].cost.bandwidth.str(), loadText(costs[i]),
                           markOf(costs, i));
  out() << llvm::formatv("{0,12}", "size");
  for (size_t i = 0; i < costs.size(); ++i)
    out() << llvm::formatv("{0,14}", "[" + std::to_string(i) + "] us");
  out() << '\n';
  for (uint64_t size : sizes) {
    out() << llvm::formatv("{0,12}", formatBytes(size));
    for (const NamedCost &named : costs)
      out() << llvm::formatv("{0,14}", timeText(named, model, size));
    out() << '\n';
  }
  for (const BestAtSize &range : select(costs, model, sizes))
    out() << "from " << range.bytes << " bytes: [" << range.best << "] "
          << costs[range.best].name << markOf(costs, range.best) << '\n';
}

/// The same as a line for each schedule, each size and each range of sizes.
static void printJson(const std::vector<NamedCost> &costs,
                      const CostModel &model,
                      const std::vector<uint64_t> &sizes) {
  using namespace llvm::json;
  auto print = [](Object object) {
    llvm::outs() << Value(std::move(object)) << '\n';
  };
  for (size_t i = 0; i < costs.size(); ++i) {
    Object object{{"schedule", costs[i].name},
                  {"steps", costs[i].cost.steps},
                  {"cost", costs[i].cost.bandwidth.str()},
                  {"topology", costs[i].topology},
                  {"same_topology", !isElsewhere(costs, i)}};
    if (costs[i].pipelined)
      object["load"] = costs[i].pipelined->load.str();
    print(std::move(object));
  }
  for (uint64_t size : sizes) {
    Array times, counts;
    for (const NamedCost &named : costs) {
      times.push_back(microseconds(named, model, size));
      counts.push_back(piecesOf(named, model, size));
    }
    Object object{
        {"bytes", size},
        {"microseconds", std::move(times)},
        {"alpha_microseconds", model.alphaMicroseconds},
        {"gigabytes_per_second", 1e-3 / model.betaMicrosecondsPerByte}};
    if (areInPieces(costs))
      object["pieces"] = std::move(counts);
    print(std::move(object));
  }
  for (const BestAtSize &range : select(costs, model, sizes))
    print(Object{{"first_byte", range.bytes},
                 {"best", costs[range.best].name},
                 {"steps", costs[range.best].cost.steps},
                 {"cost", costs[range.best].cost.bandwidth.str()}});
}

int driver::printModelTable(const ModelTableRequest &request) {
  constexpr unsigned mostPieces = 1u << 20;
  if (request.pieces == 0 || request.pieces > mostPieces)
    return fail("--pieces must be between 1 and " + llvm::Twine(mostPieces));
  std::vector<NamedCost> costs;
  for (const std::string &path : request.inputs) {
    std::optional<std::vector<NamedCost>> more = costsIn(path, request.pieces);
    if (!more)
      return BadInput;
    costs.insert(costs.end(), more->begin(), more->end());
  }
  if (!areComparable(costs))
    return BadInput;
  if (request.pieces > 1 && !areInPieces(costs))
    return fail("--pieces is for pipelined schedules, and none is one");
  const std::optional<CostModel> &own = costs.front().model;
  CostModel model = request.model.value_or(own.value_or(usualModel));
  if (!request.json)
    out() << clockText(model, request.model ? "as given"
                              : own         ? "as the file says"
                                            : "assumed")
          << '\n';
  (request.json ? printJson : printTable)(costs, model, request.sizes);
  return Done;
}
