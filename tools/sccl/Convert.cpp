//===- Convert.cpp - sccl convert -----------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Schedules in the formats of other tools.
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "CheckMsccl.h"
#include "Driver.h"
#include "WrongFile.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Exchange/Chakra.h"
#include "sccl/Exchange/NcclGraph.h"
#include "sccl/Exchange/UnevenCut.h"
#include "sccl/Pipelines/InputFile.h"

#include "llvm/Support/FormatVariadic.h"

#include <bit>

using namespace sccl;
using namespace sccl::driver;
namespace cl = llvm::cl;

static cl::SubCommand command("convert",
                              "Write a schedule as an algorithm of another "
                              "tool, or such a file as a schedule or another");
static cl::opt<std::string> input(cl::Positional,
                                  cl::desc("IN.mlir|IN.xml|IN.json"),
                                  cl::Required, cl::sub(command));
static cl::opt<std::string> output(cl::Positional,
                                   cl::desc("OUT.mlir|OUT.xml|OUT.json|"
                                            "OUT.graph.xml|OUT.et"),
                                   cl::Required, cl::sub(command));
static MscclFlags mscclFlags(command);
static cl::opt<std::string>
    protocol("protocol", cl::desc("Simple, LL or LL128 (.xml only)"),
             cl::init("Simple"), cl::sub(command));
static cl::opt<std::string>
    minBytes("min-bytes", cl::desc("Smallest call that is to take it"),
             cl::init("0"), cl::sub(command));
static cl::opt<std::string>
    maxBytes("max-bytes",
             cl::desc("Largest call that is to take it; 0 for no limit"),
             cl::init("0"), cl::sub(command));
static cl::opt<bool> inPlace("in-place",
                             cl::desc("Of a .json: for calls in place"),
                             cl::sub(command));
static cl::opt<unsigned>
    ranksPerBox("ranks-per-box",
                cl::desc("Of a .json: ranks that reach each other's memory; "
                         "others go through ports (default: all do)"),
                cl::init(0), cl::sub(command));

static cl::opt<unsigned>
    cut("cut",
        cl::desc("Of an .xml or .json: cut what a rank has for another into N "
                 "equal parts, of which chunks take more or less. A power of "
                 "two is for counts that are powers of two"),
        cl::value_desc("N"), cl::init(0), cl::sub(command));
static cl::opt<std::string> bytes("bytes",
                                  cl::desc("Of an .et: bytes of a send buffer"),
                                  cl::init("1MiB"), cl::sub(command));
static cl::opt<double> ringSpeed("ring-gbs",
                                 cl::desc("Of a .graph.xml: GB/s of a ring"),
                                 cl::init(20), cl::sub(command));

bool driver::convertChosen() { return bool(command); }

/// Prints an error and returns nothing if an option is wrong.
static std::optional<std::pair<uint64_t, uint64_t>> readSizes() {
  std::optional<uint64_t> least = readBytes("--min-bytes", minBytes);
  std::optional<uint64_t> most =
      least ? readBytes("--max-bytes", maxBytes) : std::nullopt;
  if (!most)
    return std::nullopt;
  return std::pair(*least, *most);
}

static bool isGraphFile(llvm::StringRef path) {
  return path.ends_with(".graph.xml");
}
static bool isTraceFile(llvm::StringRef path) { return path.ends_with(".et"); }
static bool isModule(llvm::StringRef path) { return path.ends_with(".mlir"); }

static std::optional<exchange::MscclppExportOptions>
readPlanOptions(llvm::StringRef name) {
  auto sizes = readSizes();
  if (!sizes)
    return std::nullopt;
  if (protocol != "Simple" && protocol != "LL") {
    fail("--protocol of a plan of MSCCL++ is Simple or LL");
    return std::nullopt;
  }
  exchange::MscclppExportOptions options;
  options.name = name;
  options.usesLL = protocol == "LL";
  options.inPlace = inPlace;
  options.ranksPerBox = ranksPerBox;
  options.minBytes = sizes->first;
  if (sizes->second != 0)
    options.maxBytes = sizes->second;
  return options;
}

/// Says which calls an engine takes, if those are no powers of two, and how to
/// have it otherwise. `taken` says it of a whole buffer and a rank's part.
static void noteCounts(const Collective &collective, uint64_t whole,
                       uint64_t unit,
                       std::string (*taken)(uint64_t, uint64_t)) {
  unsigned chunks = collective.chunksPerSegment();
  if (std::has_single_bit(chunks))
    return;
  unsigned parts = exchange::cutForPowersOfTwo(chunks);
  double loss = exchange::unevenness(chunks, parts) * 100;
  printNotes(output,
             {taken(whole * unit, chunks * unit) +
              llvm::formatv("; --cut={0} takes multiples of {1}, for up to "
                            "{2:F1} % more on a link",
                            parts, parts * unit, loss)
                  .str()});
}

/// The schedule of the input as text in the format of the output.
static Result<std::string> exportText(const std::string &name,
                                      const Schedule &given,
                                      const Collective &whole) {
  if (isGraphFile(output))
    return exchange::toNcclGraph(whole, given, ringSpeed);
  exchange::CutSchedule parts{whole, given};
  if (cut.getNumOccurrences()) {
    Result<exchange::CutSchedule> made =
        exchange::cutUnevenly(whole, given, cut);
    if (!made)
      return Error{"--cut: " + made.error()};
    parts = std::move(*made);
  }
  const auto &[collective, schedule] = parts;
  if (llvm::StringRef(output).ends_with(".json")) {
    auto options = readPlanOptions(name);
    if (!options)
      return Error{"no plan was made"};
    auto plan = exchange::toMscclpp(collective, schedule, *options);
    if (!plan)
      return Error{plan.error()};
    noteCounts(collective, plan->gpus[0].inputChunks, plan->alignment,
               &takenSizes);
    return exchange::printMscclpp(*plan);
  }
  auto sizes = readSizes();
  if (!sizes)
    return Error{"no algorithm was made"};
  auto algorithm = exchange::toMsccl(
      collective, schedule,
      {mscclFlags.givenDialect().value_or(exchange::MscclDialect::Nccl), name,
       protocol, sizes->first, sizes->second});
  if (!algorithm)
    return Error{algorithm.error()};
  noteCounts(collective, uint64_t(algorithm->chunks), 1, &takenCounts);
  return exchange::printMsccl(*algorithm);
}

/// A file for each rank, "OUT.3.et".
static int exportTraces(coll::ScheduleOp op, const Schedule &schedule,
                        const Collective &collective) {
  std::optional<uint64_t> size = readBytes("--bytes", bytes);
  if (!size)
    return BadInput;
  auto traces = exchange::toChakra(collective, schedule, *size);
  if (!traces) {
    op.emitError(traces.error());
    return BadInput;
  }
  std::string prefix = llvm::StringRef(output).drop_back(2).str();
  for (size_t rank = 0; rank < traces->size(); ++rank)
    if (!writeFile(prefix + std::to_string(rank) + ".et", (*traces)[rank]))
      return BadInput;
  return Done;
}

/// The only schedule of the input, in the format of the output.
static int convertSchedule() {
  Session session;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      session.parseSchedules(input, /*placement=*/nullptr, &mscclFlags);
  if (!module)
    return BadInput;
  if (isModule(output))
    return writeFile(output, moduleText(*module)) ? Done : BadInput;
  auto schedules = module->getOps<coll::ScheduleOp>();
  if (size_t count = std::distance(schedules.begin(), schedules.end());
      count != 1)
    return fail(input + " holds " + llvm::Twine(count) +
                " schedules, expected one");
  coll::ScheduleOp op = *schedules.begin();
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  if (failed(problem))
    return BadInput;
  Schedule schedule = coll::importSchedule(op);
  if (isTraceFile(output))
    return exportTraces(op, schedule, problem->collective);
  Result<std::string> text =
      exportText(op.getSymName().str(), schedule, problem->collective);
  if (!text) {
    op.emitError(text.error());
    return BadInput;
  }
  return writeFile(output, *text) ? Done : BadInput;
}

/// An algorithm of MSCCL as a plan of MSCCL++, block by block.
static int rewriteAlgorithm(llvm::StringRef text) {
  std::optional<exchange::MscclCheckOptions> options = mscclFlags.read();
  auto algorithm = options ? parseWith(&exchange::parseMsccl, input, text)
                           : std::nullopt;
  auto planOptions =
      algorithm ? readPlanOptions(algorithm->name) : std::nullopt;
  if (!planOptions)
    return BadInput;
  auto plan = exchange::toMscclpp(*algorithm, *options, *planOptions);
  if (!plan)
    return fail(input + ": " + plan.error());
  return writeFile(output, exchange::printMscclpp(*plan)) ? Done : BadInput;
}

/// A file of MSCCL keeps its blocks as a plan of MSCCL++, unless it is cut.
/// Whatever else there is goes by way of its schedule.
static int convertInput() {
  bool isPlan = llvm::StringRef(output).ends_with(".json");
  if (!isPlan || !llvm::StringRef(input).ends_with(".xml") ||
      cut.getNumOccurrences())
    return convertSchedule();
  std::optional<ForeignText> file = readForeignText(input);
  if (!file)
    return BadInput;
  return file->kind == FileKind::Msccl ? rewriteAlgorithm(file->text())
                                       : convertSchedule();
}

/// The first option that says nothing of what is read, or of what is written;
/// empty if none was given.
static std::string findIdleOption() {
  llvm::StringRef to(output);
  bool isTrace = isTraceFile(to), isGraph = isGraphFile(to);
  bool isPlan = to.ends_with(".json");
  bool isXml = to.ends_with(".xml") && !isGraph;
  std::string idle;
  auto look = [&](bool isUsed, std::string given) {
    if (!isUsed && idle.empty())
      idle = std::move(given);
  };
  bool readsFile = isAlgorithmFile(input);
  look(readsFile, mscclFlags.findOfInputs());
  look(readsFile || isXml, mscclFlags.findGiven());
  look(isXml || isPlan, findGiven({&protocol, &minBytes, &maxBytes}));
  look(isPlan, findGiven({&inPlace, &ranksPerBox}));
  look(isTrace, findGiven({&bytes}));
  look(isGraph, findGiven({&ringSpeed}));
  return idle;
}

int driver::convertMain() {
  if (std::string idle = findIdleOption(); !idle.empty())
    return fail(idle + " is not for " + input + " as " + output);
  bool isAlgorithm = isAlgorithmFile(output) && !isGraphFile(output);
  if (cut.getNumOccurrences() && !isAlgorithm)
    return fail("--cut is for a schedule that becomes an .xml or .json");
  bool readsModule = isModule(input), writesModule = isModule(output);
  bool writesOther = isAlgorithmFile(output) || isTraceFile(output);
  if (readsModule ? writesOther
                  : isAlgorithmFile(input) && (writesOther || writesModule))
    return convertInput();
  auto file = readInput(input);
  using enum FileKind;
  if (file && isWrongFile(input, (*file)->getBuffer(),
                          {Mlir, Msccl, Mscclpp, FileKind::Teccl, Forest}))
    return BadInput;
  return fail("expected a schedule in .mlir, .xml or .json and the name of "
              "another one, or an .et");
}
