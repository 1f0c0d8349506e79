//===- CheckMsccl.cpp - sccl check of files of MSCCL ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckMsccl.h"

#include "Arguments.h"
#include "Driver.h"
#include "MachineFlags.h"
#include "Output.h"
#include "WrongFile.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Exchange/Forest.h"
#include "sccl/Exchange/Teccl.h"
#include "sccl/Model/Text.h"
#include "sccl/Pipelines/InputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"

#include <bit>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;

/// More than any engine would read, by format.
static constexpr uint64_t mostXmlBytes = uint64_t(1) << 28,
                          mostJsonBytes = uint64_t(1) << 26;

MscclFlags::MscclFlags(llvm::cl::SubCommand &command)
    : as("as",
         llvm::cl::desc("Of an .xml or .json: the collective it is to be, "
                        "whatever it says"),
         llvm::cl::value_desc("NAME"), llvm::cl::sub(command)),
      root("root", llvm::cl::desc("Of an .xml or .json: the root"),
           llvm::cl::init(0), llvm::cl::sub(command)),
      dialect(
          "dialect",
          llvm::cl::desc("Whose limits count (default: of what an .xml says it "
                         "is for; nccl for one that is written)"),
          llvm::cl::values(
              clEnumValN(MscclDialect::Original, "msccl", "microsoft/msccl"),
              clEnumValN(MscclDialect::Nccl, "nccl", "msccl-executor-nccl"),
              clEnumValN(MscclDialect::Rccl, "rccl", "RCCL up to 7.2")),
          llvm::cl::sub(command)),
      inFlight("in-flight",
               llvm::cl::desc("Of an .xml: sends that a connection holds until "
                              "they are received; 0 for any number"),
               llvm::cl::init(0), llvm::cl::sub(command)) {}

std::optional<MscclDialect> MscclFlags::givenDialect() const {
  if (!dialect.getNumOccurrences())
    return std::nullopt;
  return dialect;
}

std::optional<MscclppCheckOptions> MscclFlags::readForMscclpp() const {
  if (std::string option = driver::findGiven({&dialect, &inFlight});
      !option.empty()) {
    fail(option + " is for files of MSCCL, .xml");
    return std::nullopt;
  }
  std::optional<MscclCheckOptions> options = read();
  if (!options)
    return std::nullopt;
  return MscclppCheckOptions{options->as, options->root};
}

std::optional<MscclCheckOptions> MscclFlags::read() const {
  MscclCheckOptions options;
  options.root = root;
  options.dialect = givenDialect();
  options.inFlight = inFlight;
  if (!as.getNumOccurrences())
    return options;
  options.as = parseCollective(as);
  if (!options.as)
    return std::nullopt;
  return options;
}

std::string MscclFlags::findGiven() const {
  return driver::findGiven({&as, &root, &dialect, &inFlight});
}

std::string MscclFlags::findOfInputs() const {
  return driver::findGiven({&as, &root, &inFlight});
}

bool MscclFlags::rootFits(CollectiveKind kind) const {
  bool fits = !root.getNumOccurrences() || isRooted(kind);
  if (!fits)
    fail("--root: " + llvm::Twine(collectiveName(kind)) + " has no root");
  return fits;
}

bool driver::isAlgorithmFile(llvm::StringRef path) {
  return path.ends_with(".xml") || path.ends_with(".json");
}

namespace {
/// Formats of other tools that algorithms come in.
enum class Format { Msccl, Mscclpp, Teccl, Forest };
} // namespace

static Format formatOf(llvm::StringRef path, llvm::StringRef text) {
  if (path.ends_with(".json"))
    return isTeccl(text) ? Format::Teccl : Format::Mscclpp;
  return isForest(text) ? Format::Forest : Format::Msccl;
}

static int refuse(llvm::StringRef path, const Findings &findings, bool json) {
  for (const Finding &finding : findings.first()) {
    if (json)
      llvm::outs() << llvm::json::Value(
                          llvm::json::Object{{"file", path},
                                             {"message", finding.message},
                                             {"status", "refused"},
                                             {"line", finding.place.line},
                                             {"column", finding.place.column}})
                   << '\n';
    err() << path << ':' << finding.place.line << ':' << finding.place.column
          << ": ";
    llvm::WithColor::error(llvm::errs())
        << escapeControls(finding.message) << '\n';
  }
  if (findings.more() > 0)
    err() << path << ": and " << findings.more() << " more\n";
  return BadInput;
}

/// "taken for counts that are multiples of 48 in all, 6 of a rank: of no power
/// of two".
static std::string takenText(const char *what, uint64_t all, uint64_t ofRank,
                             const char *unit) {
  std::string text = std::string("taken for ") + what +
                     " that are multiples of " + std::to_string(all) + unit;
  if (ofRank != all)
    text += " in all, " + std::to_string(ofRank) + " of a rank";
  return text + (std::has_single_bit(ofRank) ? "" : ": no power of two");
}

std::string driver::takenCounts(uint64_t all, uint64_t ofRank) {
  return takenText("counts", all, ofRank, "");
}

std::string driver::takenSizes(uint64_t all, uint64_t ofRank) {
  return takenText("sizes", all, ofRank, " bytes");
}

void driver::printNotes(llvm::StringRef path,
                        llvm::ArrayRef<std::string> notes) {
  for (const std::string &note : notes) {
    err() << path << ": ";
    llvm::WithColor::note(llvm::errs()) << escapeControls(note) << '\n';
  }
}

static void accept(llvm::StringRef path, const MscclAlgorithm &algorithm,
                   const MscclVerdict &verdict, bool json) {
  llvm::StringRef collective = collectiveName(verdict.kind);
  llvm::StringRef dialect = mscclDialectName(verdict.dialect);
  if (json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"algorithm", algorithm.name},
                        {"collective", collective},
                        {"ranks", algorithm.gpus.size()},
                        {"chunks", algorithm.chunks},
                        {"channels", algorithm.numChannels},
                        {"in_place", verdict.inPlace},
                        {"out_of_place", verdict.outOfPlace},
                        {"dialect", dialect},
                        {"count_multiple", verdict.countMultiple},
                        {"steps", verdict.steps},
                        {"most_blocks_per_rank", verdict.mostBlocks},
                        {"most_steps_per_block", verdict.mostSteps}})
                 << '\n';
    return;
  }
  const char *place = verdict.inPlace && verdict.outOfPlace
                          ? "in and out of place"
                      : verdict.inPlace ? "in place"
                                        : "out of place";
  out() << "algorithm '" << algorithm.name << "': accepted, " << collective
        << " on " << algorithm.gpus.size() << " ranks, " << place << ", "
        << algorithm.chunks << " chunks, " << verdict.steps << " steps in "
        << verdict.blocks << " thread blocks (" << verdict.mostBlocks
        << " of a rank at most, with " << verdict.mostSteps << " steps), for "
        << dialect << "; "
        << takenCounts(algorithm.chunks, verdict.countMultiple) << '\n';
}

static void accept(llvm::StringRef path, const MscclppPlan &plan,
                   const MscclppVerdict &verdict, bool json) {
  printNotes(path, verdict.notes);
  llvm::StringRef collective = collectiveName(verdict.kind);
  if (json) {
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"algorithm", plan.name},
                        {"collective", collective},
                        {"ranks", plan.gpus.size()},
                        {"chunks", plan.gpus[0].inputChunks},
                        {"in_place", plan.inPlace},
                        {"protocol", plan.protocol},
                        {"operations", verdict.operations},
                        {"most_bytes", verdict.mostBytes},
                        {"bytes_multiple", verdict.bytesMultiple},
                        {"most_blocks_per_rank", verdict.mostBlocks},
                        {"most_operations_per_block", verdict.mostOperations},
                        {"notes", llvm::json::Array(verdict.notes)}})
                 << '\n';
    return;
  }
  out() << "plan '" << plan.name << "': accepted, " << collective << " on "
        << plan.gpus.size() << " ranks, "
        << (plan.inPlace ? "in place" : "out of place") << ", "
        << plan.gpus[0].inputChunks << " chunks, " << verdict.operations
        << " operations in " << verdict.blocks << " thread blocks ("
        << verdict.mostBlocks << " of a rank at most, with "
        << verdict.mostOperations << " operations), up to " << verdict.mostBytes
        << " bytes; "
        << takenSizes(plan.gpus[0].inputChunks * uint64_t(plan.alignment),
                      verdict.bytesMultiple)
        << '\n';
}

static void accept(llvm::StringRef path, const FoundSchedule &found,
                   bool json) {
  printNotes(path, found.notes);
  llvm::StringRef collective = collectiveName(found.collective.kind());
  size_t steps = found.schedule.steps.size();
  if (json)
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", path},
                        {"status", "accepted"},
                        {"collective", collective},
                        {"ranks", found.collective.numRanks()},
                        {"chunks", found.collective.chunks()},
                        {"steps", steps},
                        {"sends", found.schedule.numSends()},
                        {"notes", llvm::json::Array(found.notes)}})
                 << '\n';
  else
    out() << "schedule: accepted, " << collective << " on "
          << found.collective.numRanks() << " ranks, "
          << found.collective.chunks() << " chunks, " << steps << " steps, "
          << found.schedule.numSends() << " sends\n";
}

/// The text of a file. Prints an error and returns nothing if it cannot be read
/// or is larger than any engine would read.
static std::unique_ptr<llvm::MemoryBuffer> readAlgorithm(llvm::StringRef path) {
  auto file =
      readInput(path, path.ends_with(".json") ? mostJsonBytes : mostXmlBytes);
  if (!file) {
    fail(file.error());
    return nullptr;
  }
  static constexpr FileKind inJson[] = {FileKind::Mscclpp, FileKind::Teccl},
                            inXml[] = {FileKind::Msccl, FileKind::Forest};
  if (isWrongFile(path, (*file)->getBuffer(),
                  path.ends_with(".json") ? inJson : inXml))
    return nullptr;
  return std::move(*file);
}

/// What `parse` makes of a text. Prints what is wrong with it if it cannot.
template <typename T>
static std::optional<T>
parseWith(std::optional<T> (*parse)(std::string_view, Findings &),
          llvm::StringRef path, llvm::StringRef text, bool json = false) {
  Findings findings;
  std::optional<T> result = parse(text, findings);
  if (!result)
    refuse(path, findings, json);
  return result;
}

std::optional<MscclAlgorithm> driver::readMsccl(llvm::StringRef path) {
  std::unique_ptr<llvm::MemoryBuffer> file = readAlgorithm(path);
  return file ? parseWith(&parseMsccl, path, file->getBuffer()) : std::nullopt;
}

/// Prints an error and returns true if an option was given that is for engines
/// only.
static bool hasEngineOption(const MscclFlags &flags) {
  std::string option = flags.findGiven();
  if (!option.empty())
    fail(option + " is not for schedules of TE-CCL and ForestColl");
  return !option.empty();
}

static std::optional<FoundSchedule> readPlain(llvm::StringRef path,
                                              llvm::StringRef text,
                                              const MscclFlags &flags,
                                              bool json) {
  if (hasEngineOption(flags))
    return std::nullopt;
  return parseWith(formatOf(path, text) == Format::Teccl ? &parseTeccl
                                                         : &parseForest,
                   path, text, json);
}

/// `error` of the file `path`, which may begin with a line and a column.
static std::string atPlace(llvm::StringRef path, llvm::StringRef error) {
  bool hasPlace = !error.empty() && llvm::isDigit(error.front());
  return (path + (hasPlace ? ":" : ": ") + error).str();
}

/// Says in `findings` why a schedule is not for the topology that `spec` names:
/// other ranks, or links that are not there.
static void compareTopology(const FoundSchedule &found,
                            const Topology &topology, llvm::StringRef spec,
                            Findings &findings) {
  unsigned ranks = found.collective.numRanks();
  if (topology.numRanks() != ranks)
    return findings.add({}, std::to_string(ranks) + " ranks, and " +
                                spec.str() + " has " +
                                std::to_string(topology.numRanks()));
  for (const Link &link : found.topology.links())
    if (!topology.findLink(link.src, link.dst))
      findings.add({}, "rank " + std::to_string(link.src) + " sends to rank " +
                           std::to_string(link.dst) + ", to which " +
                           spec.str() + " has no link");
  if (!findings.empty())
    return;
  Schedule schedule = found.schedule;
  fitRounds(schedule, topology);
  if (auto violation = checkSchedule(topology, found.collective, schedule))
    findings.add({}, violation->message);
}

/// The topology of a name, of an .mlir file, or of a file that tools print.
static std::optional<Topology> topologyOf(llvm::StringRef spec) {
  if (spec.ends_with(".mlir") || !llvm::sys::fs::exists(spec))
    return loadTopology(spec);
  std::optional<Machine> machine = importMachine(spec);
  if (!machine)
    return std::nullopt;
  Result<Derivation> derivation = deriveTopology(*machine);
  if (derivation)
    return std::move(derivation->topology);
  fail(spec + ": " + derivation.error());
  return std::nullopt;
}

int driver::checkAlgorithmOn(llvm::StringRef path, llvm::StringRef spec,
                             const MscclFlags &flags, bool json) {
  std::optional<Topology> topology = topologyOf(spec);
  std::optional<FoundSchedule> found =
      topology ? readSchedule(path, flags) : std::nullopt;
  if (!found)
    return BadInput;
  Findings findings;
  compareTopology(*found, *topology, spec, findings);
  if (!findings.empty())
    return refuse(path, findings, json);
  accept(path, *found, json);
  return Done;
}

std::optional<FoundSchedule> driver::readSchedule(llvm::StringRef path,
                                                  const MscclFlags &flags) {
  std::unique_ptr<llvm::MemoryBuffer> file = readAlgorithm(path);
  if (!file)
    return std::nullopt;
  llvm::StringRef text = file->getBuffer();
  Result<FoundSchedule> found = Error{};
  if (Format format = formatOf(path, text); format == Format::Msccl) {
    auto options = flags.read();
    auto read = options ? parseWith(&parseMsccl, path, text) : std::nullopt;
    if (!read)
      return std::nullopt;
    found = fromMsccl(*read, *options);
  } else if (format == Format::Mscclpp) {
    auto options = flags.readForMscclpp();
    auto read = options ? parseWith(&parseMscclpp, path, text) : std::nullopt;
    if (!read)
      return std::nullopt;
    found = fromMscclpp(*read, *options);
  } else {
    return readPlain(path, text, flags, /*json=*/false);
  }
  if (found)
    return std::move(*found);
  fail(atPlace(path, found.error()));
  return std::nullopt;
}

template <typename T, typename Options, typename Verdict>
static int checkRead(llvm::StringRef path, const std::optional<T> &read,
                     const Options &options, const MscclFlags &flags, bool json,
                     std::optional<Verdict> (*check)(const T &, const Options &,
                                                     Findings &)) {
  if (!read)
    return BadInput;
  Findings findings;
  std::optional<Verdict> verdict = check(*read, options, findings);
  if (!verdict)
    return refuse(path, findings, json);
  if (!flags.rootFits(verdict->kind))
    return BadInput;
  accept(path, *read, *verdict, json);
  return Done;
}

int driver::checkAlgorithm(llvm::StringRef path, const MscclFlags &flags,
                           bool json) {
  std::unique_ptr<llvm::MemoryBuffer> file = readAlgorithm(path);
  if (!file)
    return BadInput;
  llvm::StringRef text = file->getBuffer();
  Format format = formatOf(path, text);
  if (format == Format::Mscclpp) {
    auto options = flags.readForMscclpp();
    return options ? checkRead(path, parseWith(&parseMscclpp, path, text, json),
                               *options, flags, json, &checkMscclpp)
                   : BadInput;
  }
  if (format == Format::Msccl) {
    auto options = flags.read();
    return options ? checkRead(path, parseWith(&parseMsccl, path, text, json),
                               *options, flags, json, &checkMsccl)
                   : BadInput;
  }
  std::optional<FoundSchedule> found = readPlain(path, text, flags, json);
  if (!found)
    return BadInput;
  accept(path, *found, json);
  return Done;
}
