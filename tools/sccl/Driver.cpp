//===- Driver.cpp - What the subcommands of sccl share --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "ForeignFile.h"
#include "MachineFlags.h"
#include "Progress.h"
#include "TopologyNotes.h"
#include "WrongFile.h"

#include "sccl/Dialect/Coll/Boxes.h"
#include "sccl/Dialect/Coll/CollMachine.h"
#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Machine/Derivation.h"
#include "sccl/Machine/Presets.h"
#include "sccl/Model/Text.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Pipelines/Pipelines.h"
#include "sccl/Pipelines/TextLimits.h"
#include "sccl/Simulate/TimingOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"

using namespace sccl;
using namespace sccl::driver;

static llvm::ArrayRef<const char *> commandLine;

void driver::rememberArguments(int argc, char **argv) {
  commandLine = llvm::ArrayRef<const char *>(argv, argc);
}

llvm::ArrayRef<const char *> driver::rememberedArguments() {
  return commandLine;
}

int driver::fail(const llvm::Twine &message) {
  Progress::clear();
  llvm::WithColor::error(llvm::errs(), "sccl")
      << escapeControls(message.str()) << '\n';
  return BadInput;
}

namespace {
/// Prints remarks, and what is about very long lines, without the line: that of
/// a schedule with its certificate has many kilobytes. Likewise what is about
/// lines that command a terminal.
class DiagnosticPrinter : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context)
      : SourceMgrDiagnosticHandler(sources, context), sources(sources),
        brief(context, [this](mlir::Diagnostic &diagnostic) {
          return print(diagnostic);
        }) {}

private:
  static constexpr size_t longestLine = 240;

  /// Prints `diagnostic` if it is to be brief, else leaves it to the base
  /// class.
  mlir::LogicalResult print(mlir::Diagnostic &diagnostic) {
    Progress::clear();
    if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Remark &&
        isPlain(diagnostic) &&
        llvm::all_of(diagnostic.getNotes(),
                     [this](mlir::Diagnostic &note) { return isPlain(note); }))
      return mlir::failure();
    emitBriefly(diagnostic);
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      emitBriefly(note);
    return mlir::success();
  }

  void emitBriefly(mlir::Diagnostic &diagnostic) {
    mlir::Location location = diagnostic.getLocation();
    if (auto place = mlir::dyn_cast<mlir::FileLineColLoc>(location))
      location = mlir::FileLineColLoc::get(
          place.getContext(), escapeControls(place.getFilename().getValue()),
          place.getLine(), place.getColumn());
    emitDiagnostic(location, escapeControls(diagnostic.str()),
                   diagnostic.getSeverity(), /*displaySourceLine=*/false);
  }

  /// True if it can be printed with its line.
  bool isPlain(mlir::Diagnostic &diagnostic) const {
    auto place = mlir::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation());
    std::string text = diagnostic.str();
    if (place)
      text += place.getFilename().getValue();
    llvm::StringRef line = place ? lineAt(place) : "";
    text += line;
    return line.size() <= longestLine && escapeControls(text) == text;
  }

  /// The source line at `place`; empty if that is not known.
  llvm::StringRef lineAt(mlir::FileLineColLoc place) const {
    if (sources.getNumBuffers() == 0)
      return "";
    unsigned file = sources.getMainFileID();
    const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(file);
    if (buffer->getBufferIdentifier() != place.getFilename().getValue())
      return "";
    llvm::SMLoc begin =
        sources.FindLocForLineAndColumn(file, place.getLine(), 1);
    if (!begin.isValid())
      return "";
    size_t at = begin.getPointer() - buffer->getBufferStart();
    return buffer->getBuffer().substr(at).take_until(
        [](char c) { return c == '\n' || c == '\r'; });
  }

  llvm::SourceMgr &sources;
  mlir::ScopedDiagnosticHandler brief; ///< is asked before the base class
};
} // namespace

struct Session::Handler {
  DiagnosticPrinter printer;
};

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  return registry;
}

Session::Session()
    : mlirContext(makeRegistry(), mlir::MLIRContext::Threading::DISABLED),
      handler(new Handler{{sourceManager, &mlirContext}}) {
  // The source line says it better than the generic form of the op.
  mlirContext.printOpOnDiagnostic(false);
}
Session::~Session() = default;

std::unique_ptr<llvm::MemoryBuffer> driver::readText(llvm::StringRef path) {
  auto buffer = readInput(path);
  if (!buffer) {
    fail(buffer.error());
    return nullptr;
  }
  return checkText(**buffer) ? std::move(*buffer) : nullptr;
}

mlir::OwningOpRef<mlir::ModuleOp> Session::parse(llvm::StringRef path) {
  auto buffer = readInput(path);
  if (!buffer) {
    fail(buffer.error());
    return nullptr;
  }
  if (isWrongFile(path, (*buffer)->getBuffer(), FileKind::Mlir))
    return nullptr;
  return parse(std::move(*buffer));
}

mlir::OwningOpRef<mlir::ModuleOp> Session::parseText(llvm::StringRef text,
                                                     llvm::StringRef name) {
  return parse(llvm::MemoryBuffer::getMemBufferCopy(text, name));
}

mlir::OwningOpRef<mlir::ModuleOp>
Session::parse(std::unique_ptr<llvm::MemoryBuffer> buffer) {
  if (!checkText(*buffer))
    return nullptr;
  sourceManager.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  mlir::ParserConfig config(&mlirContext);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sourceManager, config);
  // Nothing looks into them, so what is wrong there would pass.
  if (module)
    for (mlir::ModuleOp inner : module->getOps<mlir::ModuleOp>()) {
      inner.emitError(
          "is a module in another, or beside one; a file holds one");
      return nullptr;
    }
  return module;
}

/// The symbol of a schedule must differ from that of a user-defined collective.
static std::string scheduleName(const Collective &collective) {
  bool isCustom = collective.kind() == CollectiveKind::Custom;
  return collective.name() + (isCustom ? "_schedule" : "");
}

bool driver::isOnlyWiring(mlir::ModuleOp module, llvm::StringRef path) {
  auto isWiring = [](mlir::Operation &op) {
    return mlir::isa<coll::MachineOp, coll::TopologyOp>(op);
  };
  if (module.getBody()->empty() || !llvm::all_of(*module.getBody(), isWiring))
    return false;
  bool isMachine = !module.getOps<coll::MachineOp>().empty();
  fail(path + " holds no schedule, but a " +
       (isMachine ? "machine" : "topology") +
       "; --machine and 'sccl machine' take it");
  return true;
}

mlir::OwningOpRef<mlir::ModuleOp>
Session::parseSchedules(llvm::StringRef path, const Placement *placement,
                        const MscclFlags *flags) {
  if (!isAlgorithmFile(path)) {
    auto module = parse(path);
    return module && isOnlyWiring(*module, path) ? nullptr : std::move(module);
  }
  std::optional<ForeignText> file = readForeignText(path);
  auto found = file ? readSchedule(path, *file, flags) : std::nullopt;
  if (!found)
    return nullptr;
  exchange::Findings findings;
  if (placement)
    placeOn(*placement, *found, findings);
  if (!findings.empty()) {
    refuse(path, findings, /*json=*/false);
    return nullptr;
  }
  printNotes(path, found->notes);
  sourceManager.AddNewSourceBuffer(std::move(file->buffer), llvm::SMLoc());
  auto module =
      coll::exportModule(mlirContext, scheduleName(found->collective),
                         found->topology, found->collective, found->schedule);
  // A send has no one line of its own, so that errors name the file.
  auto start = mlir::FileLineColLoc::get(&mlirContext, path, 1, 1);
  module->walk([&](mlir::Operation *op) { op->setLoc(start); });
  return module;
}

/// True if `spec` is meant as a file, not as the name of a built-in topology.
static bool looksLikeFile(llvm::StringRef spec) {
  if (spec.ends_with(".mlir") || spec.contains('/') || spec == "-")
    return true;
  return llvm::sys::fs::is_regular_file(spec) && !isMachinePreset(spec.str()) &&
         !makeBuiltinTopology(spec.str());
}

static std::optional<coll::MachineOp> onlyMachine(mlir::ModuleOp module) {
  auto machines = module.getOps<coll::MachineOp>();
  if (std::distance(machines.begin(), machines.end()) != 1)
    return std::nullopt;
  return *machines.begin();
}

/// All ranks in one.
static RankGroups oneBox(const Topology &topology) {
  RankGroups boxes(1);
  for (unsigned rank = 0; rank < topology.numRanks(); ++rank)
    boxes[0].push_back(rank);
  return boxes;
}

/// See loadWiring.
static std::optional<Wiring> wiringOfName(const std::string &spec) {
  Wiring wiring;
  auto take = [](auto result, auto &member) {
    if (!result) {
      fail(result.error());
      return false;
    }
    member = std::move(*result);
    return true;
  };
  if (isMachinePreset(spec)) {
    if (!take(makeMachinePreset(spec), wiring.machine))
      return std::nullopt;
    return wiring;
  }
  if (!take(makeNamedTopology(spec), wiring.topology))
    return std::nullopt;
  wiring.boxes = oneBox(*wiring.topology);
  return wiring;
}

static std::string placeOf(mlir::Operation *op) {
  auto place = mlir::dyn_cast<mlir::FileLineColLoc>(op->getLoc());
  if (!place)
    return "";
  return llvm::formatv("{0}:{1}:{2}: ", place.getFilename().getValue(),
                       place.getLine(), place.getColumn());
}

std::optional<Wiring> driver::loadWiring(llvm::StringRef spec) {
  if (!looksLikeFile(spec))
    return wiringOfName(spec.str());
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module = session.parse(spec);
  if (!module)
    return std::nullopt;
  Wiring wiring;
  if (std::optional<coll::MachineOp> op = onlyMachine(*module)) {
    mlir::FailureOr<Machine> machine = coll::importMachine(*op);
    if (failed(machine))
      return std::nullopt;
    wiring.machine = std::move(*machine);
    wiring.where = placeOf(*op);
  }
  auto topologies = module->getOps<coll::TopologyOp>();
  size_t count = std::distance(topologies.begin(), topologies.end());
  if (count != 1 && wiring.machine)
    return wiring;
  if (count != 1) {
    fail(spec + " holds " + llvm::Twine(count) + " topologies, expected one");
    return std::nullopt;
  }
  coll::TopologyOp op = *topologies.begin();
  mlir::FailureOr<Topology> topology = coll::importTopology(op);
  mlir::FailureOr<RankGroups> boxes = coll::boxesOf(op);
  if (failed(topology) || failed(boxes))
    return std::nullopt;
  wiring.topology = std::move(*topology);
  wiring.boxes = std::move(*boxes);
  wiring.where = placeOf(op);
  return wiring;
}

std::optional<Machine> driver::loadMachine(llvm::StringRef spec) {
  std::optional<Wiring> wiring = loadWiring(spec);
  if (!wiring)
    return std::nullopt;
  if (!wiring->machine)
    fail("'" + spec +
         "' is a topology, and this needs a machine: one that "
         "'sccl machine' lists with its GB/s, or an .mlir file with one");
  return std::move(wiring->machine);
}

std::optional<Topology> driver::topologyOf(Wiring wiring, std::string *where,
                                           RankGroups *boxes, Origin *origin,
                                           const std::string &groups) {
  if (wiring.topology) {
    noteUnlimitedLinks(*wiring.topology);
    if (where)
      *where = wiring.where;
    if (boxes)
      *boxes = std::move(wiring.boxes);
    return std::move(wiring.topology);
  }
  std::optional<Derivation> derivation = derive(*wiring.machine, groups);
  if (!derivation)
    return std::nullopt;
  if (boxes)
    *boxes = ranksByBox(*wiring.machine, !derivation->memories.empty());
  if (origin)
    *origin = {std::move(wiring.machine), std::move(derivation->deviations)};
  else
    for (const std::string &note : derivation->deviations)
      llvm::WithColor::note(llvm::errs(), "sccl") << note << '\n';
  return std::move(derivation->topology);
}

std::optional<Topology> driver::loadTopology(llvm::StringRef spec,
                                             std::string *where,
                                             RankGroups *boxes, Origin *origin,
                                             const std::string &groups) {
  std::optional<Wiring> wiring = loadWiring(spec);
  if (!wiring)
    return std::nullopt;
  return topologyOf(std::move(*wiring), where, boxes, origin, groups);
}

bool driver::checkEngineName(llvm::StringRef name) {
  std::string names = "auto";
  for (const auto &backend : solverBackends()) {
    if (name == llvm::StringRef(backend->name()))
      return true;
    names += " " + std::string(backend->name());
  }
  if (name == "auto")
    return true;
  fail("unknown engine '" + name + "', expected one of: " + names);
  return false;
}

bool driver::checkEngineOptions(llvm::StringRef engine,
                                const llvm::cl::Option *seed,
                                const llvm::cl::Option *memory) {
  for (const auto &backend : solverBackends()) {
    const EngineTraits &traits = backend->traits();
    for (auto [option, isRead] : {std::pair(seed, traits.hasSeed),
                                  std::pair(memory, traits.limitsMemory)})
      if (engine == llvm::StringRef(traits.name) && !isRead && option &&
          option->getNumOccurrences()) {
        fail("--" + option->ArgStr + " is not for the engine " + engine);
        return false;
      }
  }
  return true;
}

std::string driver::moduleText(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Right by construction, and read again by whoever uses it; there are no
  // aliases to look for.
  module.print(stream,
               mlir::OpPrintingFlags().assumeVerified().useLocalScope());
  stream << '\n';
  return text;
}

std::string driver::scheduleText(const Instance &instance,
                                 const RankGroups &boxes,
                                 const Schedule &schedule,
                                 llvm::StringRef certificate,
                                 llvm::ArrayRef<coll::Way> ways,
                                 const Timing *timing, llvm::StringRef name) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  const coll::Way ordered = {.sumOrder = instance.order};
  if (ways.empty() && instance.hasOrder())
    ways = ordered;
  auto module = coll::exportModule(
      context, name.empty() ? scheduleName(instance.collective) : name.str(),
      instance.topology, instance.collective, schedule, certificate, ways);
  for (auto topology : module->getOps<coll::TopologyOp>()) {
    coll::setBoxes(topology, boxes);
    if (timing)
      coll::setTiming(topology, instance.topology, *timing);
  }
  return moduleText(*module);
}

llvm::json::Object driver::resultObject(const Instance &instance,
                                        const SynthesisResult &result) {
  const Collective &collective = instance.collective;
  llvm::json::Object object{
      {"topology", instance.topology.name()},
      {"collective", collective.name()},
      {"root", isRooted(collective.kind())
                   ? llvm::json::Value(collective.root())
                   : llvm::json::Value(nullptr)},
      {"chunks", collective.chunks()},
      {"steps", instance.steps},
      {"rounds", instance.rounds},
      {"status", llvm::StringRef(statusName(result.outcome))},
      {"engine", result.engine},
      {"seconds", result.seconds},
  };
  if (!collective.groups().empty())
    object["groups"] = printRankGroups(collective.groups());
  if (instance.hasOrder())
    object["order"] = instance.order.toString();
  if (std::string_view reason = reasonOf(result.outcome); !reason.empty())
    object["reason"] = std::string(reason);
  return object;
}
