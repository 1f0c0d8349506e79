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
#include "sccl/Exchange/PointToPoint.h"
#include "sccl/Exchange/UnevenCut.h"
#include "sccl/Pipelines/InputFile.h"
#include "sccl/Pipelines/Ways.h"

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
static cl::opt<std::string>
    output(cl::Positional,
           cl::desc("OUT.mlir|OUT.xml|OUT.json|"
                    "OUT.graph.xml|OUT.et|OUT.py|OUT.cpp"),
           cl::Required, cl::sub(command));
static MscclFlags mscclFlags(command);
static cl::opt<std::string>
    protocol("protocol", cl::desc("Simple, LL or LL128 (.xml only)"),
             usually("Simple"), cl::sub(command));
static cl::opt<std::string>
    minBytes("min-bytes", cl::desc("Smallest call that is to take it"),
             usually("0"), cl::sub(command), cl::Hidden);
static cl::opt<std::string>
    maxBytes("max-bytes",
             cl::desc("Largest call that is to take it; 0 for no limit"),
             usually("0"), cl::sub(command), cl::Hidden);
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
static cl::opt<std::string>
    bytes("bytes",
          cl::desc("Bytes of a send buffer: of an .et (1MiB), and what the way "
                   "of a schedule is chosen for (the most that it names)"),
          cl::sub(command));
static cl::opt<unsigned>
    pieces("pieces",
           cl::desc("Pieces of each chunk, in place of those of the way"),
           cl::init(0), cl::sub(command));
static cl::opt<double> ringSpeed("ring-gbs",
                                 cl::desc("Of a .graph.xml: GB/s of a ring"),
                                 usually(20), cl::sub(command), cl::Hidden);

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
static bool isSourceFile(llvm::StringRef path) {
  return exchange::pointToPointForm({path.data(), path.size()}).has_value();
}
static bool isModule(llvm::StringRef path) { return path.ends_with(".mlir"); }

static std::optional<exchange::MscclppExportOptions>
readPlanOptions(llvm::StringRef name, llvm::StringRef words) {
  auto sizes = readSizes();
  if (!sizes)
    return std::nullopt;
  if (words != "Simple" && words != "LL") {
    fail("--protocol of a plan of MSCCL++ is Simple or LL");
    return std::nullopt;
  }
  exchange::MscclppExportOptions options;
  options.name = name;
  options.usesLL = words == "LL";
  options.inPlace = inPlace;
  options.ranksPerBox = ranksPerBox;
  options.minBytes = sizes->first;
  if (sizes->second != 0)
    options.maxBytes = sizes->second;
  return options;
}

namespace {
/// What is written, of a schedule that is called `name`.
struct Subject {
  std::string name;
  Collective collective;
  coll::Way way;
  Program program; ///< lowered in this way
};
} // namespace

/// Says which calls an engine takes, if those are no powers of two, and how to
/// have it otherwise. `taken` says it of a whole buffer and a rank's part.
static void noteCounts(const Subject &subject, uint64_t whole, uint64_t unit,
                       std::string (*taken)(uint64_t, uint64_t)) {
  unsigned chunks = subject.collective.chunksPerSegment() * subject.way.pieces;
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

/// The size that --bytes says, or 1 MiB for a trace. Prints an error and
/// returns nothing if it says none; 0 stands for the largest.
static std::optional<uint64_t> readSize() {
  if (bytes.empty())
    return isTraceFile(output) ? uint64_t(1) << 20 : 0;
  return readBytes("--bytes", bytes);
}

/// The way in which `schedule` is lowered, which is said if it names some.
static coll::Way chooseWay(coll::ScheduleOp schedule, uint64_t size) {
  std::vector<coll::Way> ways = coll::importWays(schedule);
  coll::Way way = size == 0 ? wayForLargest(ways) : wayFor(ways, double(size));
  if (pieces != 0)
    way.pieces = pieces;
  if (!ways.empty())
    printNotes(output, {"made as " + describe(way) +
                        ", but through memory of the engine's choice"});
  return way;
}

/// What --protocol says, or else the way, where the format has it.
static std::string chooseProtocol(const Subject &subject) {
  if (protocol.getNumOccurrences() ||
      subject.way.protocol != coll::Protocol::LL)
    return protocol;
  if (ranksPerBox == 0 || ranksPerBox >= subject.collective.numRanks())
    return "LL";
  printNotes(output, {"with signals in place of LL words, which cannot go "
                      "between boxes"});
  return "Simple";
}

/// `op` as a program. Emits an error and returns nothing if it is none.
static std::optional<Subject>
lower(coll::ScheduleOp op, const coll::Problem &problem, uint64_t size) {
  Subject subject{
      op.getSymName().str(), problem.collective, chooseWay(op, size), {}};
  mlir::OwningOpRef<mlir::ModuleOp> owner;
  if (cut.getNumOccurrences()) {
    Result<exchange::CutSchedule> made = exchange::cutUnevenly(
        problem.collective, coll::importSchedule(op), cut);
    if (!made) {
      op.emitError("--cut: " + made.error());
      return std::nullopt;
    }
    fitRounds(made->schedule, problem.topology);
    subject.collective = made->collective;
    owner = coll::exportModule(*op.getContext(), subject.name, problem.topology,
                               made->collective, made->schedule);
    op = *owner->getOps<coll::ScheduleOp>().begin();
  }
  mlir::FailureOr<Program> program = programOf(op, subject.way);
  if (failed(program))
    return std::nullopt;
  subject.program = std::move(*program);
  return subject;
}

static Result<std::string> planText(const Subject &subject) {
  auto options = readPlanOptions(subject.name, chooseProtocol(subject));
  if (!options)
    return Error{"no plan was made"};
  auto plan =
      exchange::toMscclpp(subject.collective, subject.program, *options);
  if (!plan)
    return Error{plan.error()};
  noteCounts(subject, plan->gpus[0].inputChunks, plan->alignment, &takenSizes);
  return exchange::printMscclpp(*plan);
}

static Result<std::string> algorithmText(const Subject &subject) {
  auto sizes = readSizes();
  if (!sizes)
    return Error{"no algorithm was made"};
  auto algorithm = exchange::toMsccl(
      subject.collective, subject.program,
      {mscclFlags.givenDialect().value_or(exchange::MscclDialect::Nccl),
       subject.name, chooseProtocol(subject), sizes->first, sizes->second});
  if (!algorithm)
    return Error{algorithm.error()};
  noteCounts(subject, uint64_t(algorithm->chunks), 1, &takenCounts);
  return exchange::printMsccl(*algorithm);
}

/// A file for each rank, "OUT.3.et".
static int exportTraces(coll::ScheduleOp op, const Subject &subject,
                        uint64_t size) {
  auto traces = exchange::toChakra(subject.collective, subject.program, size);
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

/// What source code says of itself.
static std::vector<std::string> headOf(coll::ScheduleOp op,
                                       const Subject &subject) {
  Schedule schedule = coll::importSchedule(op);
  std::vector<std::string> lines{llvm::formatv(
      "{0} of {1} ranks: schedule {2} for {3} in {4} steps, of {5} chunks.",
      subject.collective.name(), subject.collective.numRanks(), subject.name,
      op.getTopology(), schedule.steps.size(), subject.collective.chunks())};
  if (subject.way.pieces > 1)
    lines.push_back("Chunks are cut into " +
                    std::to_string(subject.way.pieces) + " pieces.");
  for (const SizedTime &time : subject.way.bestAt) {
    std::string line =
        llvm::formatv("{0} to send by libsccl: {1:F1} us are predicted",
                      formatBytes(time.bytes), double(time.nanoseconds) * 1e-3);
    if (time.bound != 0)
      line += llvm::formatv(", no program takes less than {0:F1}",
                            double(time.bound) * 1e-3);
    lines.push_back(line + ".");
  }
  return lines;
}

static int exportSchedule(coll::ScheduleOp op) {
  mlir::FailureOr<coll::Problem> problem = coll::importProblem(op);
  std::optional<uint64_t> size = readSize();
  if (failed(problem) || !size)
    return BadInput;
  Result<std::string> text = Error{};
  if (isGraphFile(output)) {
    text = exchange::toNcclGraph(problem->collective, coll::importSchedule(op),
                                 ringSpeed);
  } else {
    std::optional<Subject> subject = lower(op, *problem, *size);
    if (!subject)
      return BadInput;
    if (isTraceFile(output))
      return exportTraces(op, *subject, *size);
    if (auto form = exchange::pointToPointForm(output))
      return writeFile(output,
                       exchange::toPointToPoint(
                           subject->collective, coll::importSchedule(op),
                           subject->program, headOf(op, *subject), *form))
                 ? Done
                 : BadInput;
    bool isPlan = llvm::StringRef(output).ends_with(".json");
    text = isPlan ? planText(*subject) : algorithmText(*subject);
  }
  if (text)
    return writeFile(output, *text) ? Done : BadInput;
  op.emitError(text.error());
  return BadInput;
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
  size_t count = std::distance(schedules.begin(), schedules.end());
  return count == 1 ? exportSchedule(*schedules.begin())
                    : fail(input + " holds " + llvm::Twine(count) +
                           " schedules, expected one");
}

/// An algorithm of MSCCL as a plan of MSCCL++, block by block.
static int rewriteAlgorithm(llvm::StringRef text) {
  std::optional<exchange::MscclCheckOptions> options = mscclFlags.read();
  auto algorithm =
      options ? parseWith(&exchange::parseMsccl, input, text) : std::nullopt;
  auto planOptions =
      algorithm ? readPlanOptions(algorithm->name, protocol) : std::nullopt;
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
      cut.getNumOccurrences() || pieces != 0)
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
  look(isTrace || isXml || isPlan || isSourceFile(to),
       findGiven({&bytes, &pieces}));
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
  bool writesOther =
      isAlgorithmFile(output) || isTraceFile(output) || isSourceFile(output);
  if (readsModule ? writesOther
                  : isAlgorithmFile(input) && (writesOther || writesModule))
    return convertInput();
  auto file = readInput(input);
  using enum FileKind;
  if (file && isWrongFile(input, (*file)->getBuffer(),
                          {Mlir, Msccl, Mscclpp, FileKind::Teccl, Forest}))
    return BadInput;
  return fail("expected a schedule in .mlir, .xml or .json and the name of "
              "another one, an .et, a .py or a .cpp");
}
