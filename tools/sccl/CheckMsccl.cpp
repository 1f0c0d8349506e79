//===- CheckMsccl.cpp - sccl check of files of MSCCL ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CheckMsccl.h"

#include "Driver.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/WithColor.h"

#include <filesystem>

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;

/// More than any interpreter would read.
static constexpr uint64_t mostBytes = uint64_t(1) << 28;

MscclFlags::MscclFlags(llvm::cl::SubCommand &command)
    : as("as",
         llvm::cl::desc("Of an .xml: the collective it is to be, whatever it "
                        "says"),
         llvm::cl::value_desc("NAME"), llvm::cl::sub(command)),
      root("root", llvm::cl::desc("Of an .xml: the root"), llvm::cl::init(0),
           llvm::cl::sub(command)),
      dialect(
          "dialect",
          llvm::cl::desc("Whose limits count (default: of what an .xml says it "
                         "is for; nccl for one that is written)"),
          llvm::cl::values(
              clEnumValN(MscclDialect::Original, "msccl", "microsoft/msccl"),
              clEnumValN(MscclDialect::Nccl, "nccl", "msccl-executor-nccl"),
              clEnumValN(MscclDialect::Rccl, "rccl", "RCCL up to 7.2")),
          llvm::cl::sub(command)) {}

std::optional<MscclDialect> MscclFlags::givenDialect() const {
  if (!dialect.getNumOccurrences())
    return std::nullopt;
  return dialect;
}

std::optional<MscclCheckOptions> MscclFlags::read() const {
  MscclCheckOptions options;
  options.root = root;
  options.dialect = givenDialect();
  if (!as.getNumOccurrences())
    return options;
  options.as = parseCollective(as);
  if (!options.as)
    return std::nullopt;
  return options;
}

std::string MscclFlags::findGiven() const {
  for (const llvm::cl::Option *option :
       {static_cast<const llvm::cl::Option *>(&as),
        static_cast<const llvm::cl::Option *>(&root),
        static_cast<const llvm::cl::Option *>(&dialect)})
    if (option->getNumOccurrences())
      return ("--" + option->ArgStr).str();
  return "";
}

bool driver::isMscclFile(llvm::StringRef path) {
  return path.ends_with(".xml");
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
    llvm::errs() << path << ':' << finding.place.line << ':'
                 << finding.place.column << ": ";
    llvm::WithColor::error(llvm::errs()) << finding.message << '\n';
  }
  if (findings.more() > 0)
    llvm::errs() << path << ": and " << findings.more() << " more\n";
  return BadInput;
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
  llvm::outs() << "algorithm '" << algorithm.name << "': accepted, "
               << collective << " on " << algorithm.gpus.size() << " ranks, "
               << place << ", " << algorithm.chunks << " chunks, "
               << verdict.steps << " steps in " << verdict.blocks
               << " thread blocks (" << verdict.mostBlocks
               << " of a rank at most, with " << verdict.mostSteps
               << " steps), for " << dialect << '\n';
}

std::optional<MscclAlgorithm> driver::readMsccl(llvm::StringRef path,
                                                bool json) {
  auto fails = [](const llvm::Twine &message) {
    fail(message);
    return std::nullopt;
  };
  std::error_code error;
  uint64_t bytes = std::filesystem::file_size(path.str(), error);
  if (error)
    return fails("cannot read " + path + ": " + error.message());
  if (bytes > mostBytes)
    return fails(path + " has " + llvm::Twine(bytes) + " bytes, more than " +
                 llvm::Twine(mostBytes));
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fails("cannot read " + path + ": " + file.getError().message());
  llvm::StringRef text = (*file)->getBuffer();
  Findings findings;
  std::optional<MscclAlgorithm> algorithm = parseMsccl(text, findings);
  if (!algorithm)
    refuse(path, findings, json);
  return algorithm;
}

int driver::checkMsccl(llvm::StringRef path, const MscclCheckOptions &options,
                       bool json) {
  std::optional<MscclAlgorithm> algorithm = readMsccl(path, json);
  if (!algorithm)
    return BadInput;
  Findings findings;
  std::optional<MscclVerdict> verdict =
      checkMsccl(*algorithm, options, findings);
  if (!verdict)
    return refuse(path, findings, json);
  accept(path, *algorithm, *verdict, json);
  return Done;
}
