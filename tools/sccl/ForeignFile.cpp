//===- ForeignFile.cpp - Schedules in files of other tools ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ForeignFile.h"

#include "Arguments.h"
#include "Output.h"
#include "WrongFile.h"

#include "sccl/Check/ScheduleChecker.h"
#include "sccl/Exchange/Forest.h"
#include "sccl/Exchange/Teccl.h"
#include "sccl/Model/Text.h"
#include "sccl/Pipelines/InputFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

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

std::optional<ForeignText> driver::readForeignText(llvm::StringRef path) {
  bool isJson = path.ends_with(".json");
  auto file = readInput(path, isJson ? mostJsonBytes : mostXmlBytes);
  if (!file) {
    fail(file.error());
    return std::nullopt;
  }
  llvm::StringRef text = (*file)->getBuffer();
  using enum FileKind;
  FileKind kind = isJson ? (isTeccl(text) ? FileKind::Teccl : Mscclpp)
                         : (isForest(text) ? Forest : Msccl);
  static constexpr FileKind inJson[] = {Mscclpp, FileKind::Teccl},
                            inXml[] = {Msccl, Forest};
  if (isWrongFile(path, text, isJson ? inJson : inXml))
    return std::nullopt;
  return ForeignText{std::move(*file), kind};
}

int driver::refuse(llvm::StringRef path, const Findings &findings, bool json) {
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

void driver::printNotes(llvm::StringRef path,
                        llvm::ArrayRef<std::string> notes) {
  for (const std::string &note : notes) {
    err() << path << ": ";
    llvm::WithColor::note(llvm::errs()) << escapeControls(note) << '\n';
  }
}

/// `error` of the file `path`, which may begin with a line and a column.
static std::string atPlace(llvm::StringRef path, llvm::StringRef error) {
  bool hasPlace = !error.empty() && llvm::isDigit(error.front());
  return (path + (hasPlace ? ":" : ": ") + error).str();
}

/// The schedule that what `parse` makes of a text follows. Prints all that
/// `check` finds if there is none.
template <typename T, typename Options, typename Verdict>
static std::optional<FoundSchedule> followed(
    std::optional<T> (*parse)(std::string_view, Findings &),
    std::optional<Verdict> (*check)(const T &, const Options &, Findings &),
    Result<FoundSchedule> (*follow)(const T &, const Options &),
    const std::optional<Options> &options, const MscclFlags *flags,
    llvm::StringRef path, llvm::StringRef text) {
  std::optional<T> read = options ? parseWith(parse, path, text) : std::nullopt;
  if (!read)
    return std::nullopt;
  Result<FoundSchedule> found = follow(*read, *options);
  if (found) {
    bool fits = !flags || flags->rootFits(found->collective.kind());
    return fits ? std::optional(std::move(*found)) : std::nullopt;
  }
  Findings findings;
  if (check(*read, *options, findings))
    fail(atPlace(path, found.error()));
  else
    refuse(path, findings, /*json=*/false);
  return std::nullopt;
}

std::optional<FoundSchedule> driver::readSchedule(llvm::StringRef path,
                                                  const ForeignText &file,
                                                  const MscclFlags *flags,
                                                  bool json) {
  if (file.kind == FileKind::Msccl)
    return followed(&parseMsccl, &checkMsccl, &fromMsccl,
                    flags ? flags->read() : MscclCheckOptions(), flags, path,
                    file.text());
  if (file.kind == FileKind::Mscclpp)
    return followed(&parseMscclpp, &checkMscclpp, &fromMscclpp,
                    flags ? flags->readForMscclpp() : MscclppCheckOptions(),
                    flags, path, file.text());
  if (std::string option = flags ? flags->findGiven() : ""; !option.empty()) {
    fail(option + " is not for schedules of TE-CCL and ForestColl");
    return std::nullopt;
  }
  return parseWith(file.kind == FileKind::Teccl ? &parseTeccl : &parseForest,
                   path, file.text(), json);
}

void driver::placeOn(const Placement &placement, FoundSchedule &found,
                     Findings &findings) {
  const auto &[name, topology] = placement;
  unsigned ranks = found.collective.numRanks();
  if (topology.numRanks() != ranks)
    return findings.add({}, std::to_string(ranks) + " ranks, and " + name +
                                " has " + std::to_string(topology.numRanks()));
  for (const Link &link : found.topology.links())
    if (!topology.findLink(link.src, link.dst))
      findings.add({}, "rank " + std::to_string(link.src) + " sends to rank " +
                           std::to_string(link.dst) + ", to which " + name +
                           " has no link");
  if (!findings.empty())
    return;
  found.topology = topology;
  fitRounds(found.schedule, topology);
  if (auto violation =
          checkSchedule(topology, found.collective, found.schedule))
    findings.add({}, violation->message);
}
