//===- SetFiles.cpp - Folders with sets of files --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlanSet.h"

#include "Driver.h"
#include "ForeignFile.h"
#include "Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace sccl;
using namespace sccl::driver;
using namespace sccl::exchange;
namespace fs = llvm::sys::fs;

/// Ranks are numbered box by box, and boxes have as many.
static bool areInOrder(const RankGroups &boxes) {
  unsigned next = 0;
  for (const std::vector<unsigned> &box : boxes) {
    for (unsigned rank : box)
      if (rank != next++)
        return false;
    if (box.size() != boxes.front().size())
      return false;
  }
  return true;
}

std::optional<std::string>
driver::findObstacle(SetExecutor executor, const NamedFabric &named,
                     const CollectiveFamily &family) {
  bool isOfAMD = llvm::StringRef(named.chip).starts_with("gfx");
  if (!family.isPlain() || family.kind == CollectiveKind::Custom)
    return family.name() + " is not a call of all ranks of a communicator";
  if (isRooted(family.kind))
    return "files are chosen without a look at the root of " + family.name();
  if (!areInOrder(named.boxes))
    return "ranks are not numbered box by box, as many in each";
  if (executor == SetExecutor::Nccl && isOfAMD)
    return "msccl-executor-nccl is for GPUs of NVIDIA, and here are " +
           named.chip;
  if (executor == SetExecutor::Rccl && !isOfAMD && !named.chip.empty())
    return "RCCL is for GPUs of AMD, and here are " + named.chip;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static std::string join(llvm::StringRef folder, llvm::StringRef name) {
  llvm::SmallString<128> result(folder);
  llvm::sys::path::append(result, name);
  return std::string(result);
}

/// The paths of the files in `folder` within `whole`, in order. Prints an error
/// and returns nothing if it cannot be read; without it there are none.
static std::optional<std::vector<std::string>> filesIn(llvm::StringRef whole,
                                                       llvm::StringRef folder) {
  std::vector<std::string> result;
  std::string place = join(whole, folder);
  if (!fs::exists(place))
    return result;
  std::error_code error;
  for (fs::directory_iterator it(place, error), end; it != end && !error;
       it.increment(error))
    result.push_back(
        (folder + "/" + llvm::sys::path::filename(it->path())).str());
  if (error) {
    fail("cannot read " + place + ": " + error.message());
    return std::nullopt;
  }
  llvm::sort(result);
  return result;
}

bool driver::writeSet(const MadeSet &made, llvm::StringRef whole) {
  std::string folder(made.set.folder());
  std::optional<std::vector<std::string>> there = filesIn(whole, folder);
  if (!there)
    return false;
  for (const std::string &file : *there)
    if (!made.texts.contains(file)) {
      fail(join(whole, file) +
           " is not of this set, and would be loaded: name another folder");
      return false;
    }
  if (!makeFolder(join(whole, folder)))
    return false;
  std::string manifest(setManifest);
  for (const auto &[name, text] : made.texts)
    if (name != manifest && !writeFile(join(whole, name), text))
      return false;
  return writeFile(join(whole, manifest), made.texts.at(manifest));
}

/// About so many bytes, to a tenth, of what a rank sends.
static std::string sentText(const AlgorithmSet &set, uint64_t bytes) {
  double sent =
      double(bytes) / (set.kind == CollectiveKind::AllGather ? set.ranks : 1);
  for (const char *unit : {"bytes", "KiB", "MiB"}) {
    if (sent < 1023.5)
      return llvm::formatv("{0:f1} {1}", sent, unit);
    sent /= 1024;
  }
  return llvm::formatv("{0:f1} GiB", sent);
}

/// The file for calls in place that is for the same sizes as `file` and has the
/// same program; or null.
static const SetFile *twinOf(const AlgorithmSet &set, const SetFile &file) {
  auto twin = llvm::find_if(set.files, [&](const SetFile &other) {
    return &other != &file && other.inPlace != file.inPlace &&
           other.least == file.least && other.most == file.most &&
           other.program == file.program;
  });
  return twin == set.files.end() ? nullptr : &*twin;
}

static void printJson(const AlgorithmSet &set) {
  for (const SetFile &file : set.files)
    llvm::outs() << llvm::json::Value(llvm::json::Object{
                        {"file", file.path},
                        {"least_bytes", file.least},
                        {"most_bytes", file.most},
                        {"in_place", file.inPlace},
                        {"out_of_place", file.outOfPlace},
                        {"multiple", file.multiple},
                        {"program", file.program},
                        {"least_microseconds", file.leastNanoseconds * 1e-3},
                        {"most_microseconds", file.mostNanoseconds * 1e-3},
                        {"notes", llvm::json::Array(file.notes)}})
                 << '\n';
  for (const SetGap &gap : set.gaps)
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"least_bytes", gap.least},
                                           {"most_bytes", gap.most},
                                           {"in_place", gap.inPlace},
                                           {"reason", gap.reason}})
                 << '\n';
}

static void printRow(const AlgorithmSet &set, const SetFile &file,
                     const char *place) {
  out() << llvm::formatv("{0,13}{1,13}{2,6}{3,10:f1}{4,10:f1}{5,9}",
                         sentText(set, file.least), sentText(set, file.most),
                         place, file.leastNanoseconds * 1e-3,
                         file.mostNanoseconds * 1e-3, file.multiple)
        << "   " << file.program << '\n';
  if (file.notes.empty())
    return;
  out() << "      " << file.notes.front();
  if (file.notes.size() > 1)
    out() << "; " << file.notes.size() - 1 << " more sizes are no worse";
  out() << '\n';
}

void driver::printSet(const AlgorithmSet &set, bool json) {
  if (json)
    return printJson(set);
  llvm::StringRef executor = setExecutorName(set.executor);
  out() << "set for " << executor << ", " << set.files.size()
        << " files; times are of libsccl's programs\n"
        << llvm::formatv("{0,13}{1,13}{2,6}{3,10}{4,10}{5,9}   {6}\n",
                         "sent from", "to", "place", "us from", "us to",
                         "multiple", "program");
  for (const SetFile &file : set.files) {
    const SetFile *twin = twinOf(set, file);
    if (!twin || !file.inPlace)
      printRow(set, file,
               twin || (file.inPlace && file.outOfPlace) ? "both"
               : file.inPlace                            ? "in"
                                                         : "out");
  }
  for (const SetGap &gap : set.gaps)
    out() << llvm::formatv("{0,13}{1,13}{2,6}", sentText(set, gap.least),
                           sentText(set, gap.most), gap.inPlace ? "in" : "out")
          << "   no file: " << gap.reason << '\n';
}

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

/// Adds the text of a file of the set. Prints an error and returns false if it
/// cannot be read.
static bool addText(llvm::StringRef whole, const std::string &name,
                    std::map<std::string, std::string> &texts) {
  std::unique_ptr<llvm::MemoryBuffer> file = readText(join(whole, name));
  if (file)
    texts[name] = file->getBuffer().str();
  return file != nullptr;
}

int driver::checkSetIn(llvm::StringRef whole, bool json) {
  std::string manifest = join(whole, setManifest);
  std::unique_ptr<llvm::MemoryBuffer> file = readText(manifest);
  if (!file)
    return BadInput;
  std::optional<AlgorithmSet> set =
      parseWith(&parseSet, manifest, file->getBuffer(), json);
  if (!set)
    return BadInput;
  std::optional<std::vector<std::string>> names =
      filesIn(whole, std::string(set->folder()));
  if (!names)
    return BadInput;
  std::string loader(set->loader());
  if (fs::exists(join(whole, loader)))
    names->push_back(loader);
  std::map<std::string, std::string> texts;
  for (const std::string &name : *names)
    if (!addText(whole, name, texts))
      return BadInput;
  Findings findings;
  if (!checkSet(*set, texts, findings))
    return refuse(manifest, findings, json);
  llvm::StringRef executor = setExecutorName(set->executor),
                  collective = collectiveName(set->kind);
  if (json)
    llvm::outs() << llvm::json::Value(
                        llvm::json::Object{{"set", whole},
                                           {"status", "accepted"},
                                           {"executor", executor},
                                           {"collective", collective},
                                           {"ranks", set->ranks},
                                           {"ranks_per_box", set->ranksPerBox},
                                           {"files", set->files.size()},
                                           {"gaps", set->gaps.size()}})
                 << '\n';
  else
    out() << "set for " << executor << ": accepted, " << collective << " on "
          << set->ranks << " ranks, " << set->ranksPerBox << " in a box, "
          << set->files.size() << " files for buffers of "
          << formatBytes(set->least) << " to " << formatBytes(set->most) << ", "
          << set->gaps.size() << " ranges without a file\n";
  return Done;
}
