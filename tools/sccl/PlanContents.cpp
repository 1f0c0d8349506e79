//===- PlanContents.cpp - What plans hold ---------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "Output.h"
#include "Plans.h"
#include "SumReport.h"
#include "WrongFile.h"

#include "sccl/Plan/PlanFile.h"
#include "sccl/Plan/SizeTables.h"
#include "sccl/Plan/Sources.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace sccl;
using namespace sccl::driver;

bool driver::isPlanFile(llvm::StringRef path) {
  return path.ends_with(".sccl");
}

/// The bytes of the file `path`. With `toRun` they are code that will be
/// executed. Prints an error and returns null if there are none.
static std::unique_ptr<llvm::MemoryBuffer> readFile(llvm::StringRef path,
                                                    bool toRun) {
  namespace fs = llvm::sys::fs;
  // Opening a pipe that nobody writes to would block.
  fs::file_status status;
  if (!fs::status(path, status) &&
      status.type() != fs::file_type::regular_file) {
    fail(path + " is no regular file");
    return nullptr;
  }
  auto report = [&](std::error_code error) {
    fail("cannot read " + path + ": " + error.message());
    return nullptr;
  };
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file)
    return report(llvm::errorToErrorCode(file.takeError()));
  auto close = llvm::make_scope_exit([&] { fs::closeFile(*file); });
  if (toRun)
    if (std::optional<Error> error = plan::checkWriters(*file, path.str())) {
      fail(error->message);
      return nullptr;
    }
  // Whoever maps a file that somebody cuts off gets a signal. LLVM maps what
  // needs no null at its end.
  auto buffer = llvm::MemoryBuffer::getOpenFile(*file, path, /*FileSize=*/-1,
                                                /*RequiresNullTerminator=*/true,
                                                /*IsVolatile=*/true);
  return buffer ? std::move(*buffer) : report(buffer.getError());
}

static std::optional<LoadedPlan> load(llvm::StringRef path, bool toRun) {
  std::unique_ptr<llvm::MemoryBuffer> buffer = readFile(path, toRun);
  if (!buffer)
    return std::nullopt;
  Result<plan::PlanView> view = plan::parseWhole(buffer->getBuffer());
  if (!view) {
    if (!isWrongFile(path, buffer->getBuffer(), FileKind::Plan))
      fail(path + ": " + view.error());
    return std::nullopt;
  }
  return LoadedPlan{std::move(buffer), std::move(*view)};
}

std::optional<LoadedPlan> driver::loadPlan(llvm::StringRef path) {
  return load(path, /*toRun=*/false);
}

std::optional<LoadedPlan> driver::loadPlanToRun(llvm::StringRef path) {
  return load(path, /*toRun=*/true);
}

std::set<unsigned> driver::sourceBlobs(const plan::Manifest &manifest) {
  std::set<unsigned> blobs;
  for (const plan::ProgramEntry &program : manifest.programs)
    if (program.source)
      blobs.insert(program.source->blob);
  return blobs;
}

std::optional<std::string> driver::sourceText(llvm::StringRef path,
                                              const LoadedPlan &plan,
                                              unsigned blob) {
  Result<std::string> text = plan::unpackSource(plan.view.blobs[blob]);
  if (text)
    return std::move(*text);
  fail(path + ": " + text.error());
  return std::nullopt;
}

/// What is said behind the source of the second table of the model.
static llvm::StringRef withoutSwitches(const plan::Manifest &manifest,
                                       const plan::SizeTable &table) {
  auto first = llvm::find_if(
      manifest.tables, [](const auto &other) { return other.target.empty(); });
  return table.target.empty() && table != *first ? ", without switches" : "";
}

std::string driver::sourceOf(const plan::Manifest &manifest,
                             const plan::SizeTable &table) {
  if (!table.target.empty())
    return "measured on " + table.target + ", ranks as " + table.ranksAs;
  return ("by the model" + withoutSwitches(manifest, table)).str();
}

std::string driver::describeTable(const plan::Manifest &manifest,
                                  const plan::SizeTable &table) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const plan::SizeChoice &choice : table.choices) {
    const plan::ProgramEntry &program = manifest.programs[choice.program];
    stream << llvm::formatv(
        "  from {0,10}: program {1} (schedule {2}, {3}, {4}, {5} blocks), {6}",
        formatBytes(choice.firstByte), choice.program,
        manifest.schedules[program.schedule].name, program.variant,
        program.codeShape, program.blocks, pathName(choice.path));
    if (choice.pieceBytes != 0)
      stream << " in pieces of " << formatBytes(choice.pieceBytes);
    stream << '\n';
  }
  return text;
}

/// What `sccl plan` said of each size, if it did: of which program, how long it
/// takes and what no program takes less than.
static void printAdvice(const plan::SizeTable &table) {
  llvm::ArrayRef<SizedTime> times = advisedTimes(table);
  if (times.empty())
    return;
  out() << llvm::formatv("{0,12}{1,14}{2,14}   program\n", "advised for", "us",
                         "bound us");
  for (const SizedTime &time : times)
    out() << llvm::formatv("{0,12}{1,14:f1}{2,14:f1}   {3}\n",
                           formatBytes(time.bytes), time.nanoseconds * 1e-3,
                           time.bound * 1e-3,
                           choiceFor(table, double(time.bytes))->program);
}

static void printPrograms(const plan::Manifest &manifest) {
  for (auto [index, program] : llvm::enumerate(manifest.programs)) {
    unsigned slots = 0;
    uint64_t control = 0;
    for (const RankNeeds &needs : program.ranks) {
      slots = std::max(slots, needs.scratchSlots);
      control = std::max(control, needs.controlBytes);
    }
    out() << llvm::formatv(
        "program {0}: schedule {1}, {2}, {3}, {4} blocks per channel, at most "
        "{5} scratch slots and {6} bytes of flags per rank\n",
        index, program.schedule, program.variant, program.codeShape,
        program.blocks, slots, control);
    out() << "  peers " << (program.peersReadInput ? "read" : "leave")
          << " the send buffer and "
          << (program.peersTouchOutput ? "write" : "leave")
          << " the receive buffer; in place "
          << (program.inPlace ? "as it is" : "by way of own buffers") << '\n';
    size_t copies = 0;
    for (const std::vector<EngineCopy> &step : program.copies)
      copies += step.size();
    if (program.steps != 0)
      out() << llvm::formatv("  in {0} steps, with {1} copies by hosts\n",
                             program.steps, copies);
  }
}

static void printConditions(const plan::Conditions &conditions) {
  auto list = [](const std::vector<unsigned> &chunks) {
    constexpr unsigned shown = 8;
    llvm::ArrayRef<unsigned> some = llvm::ArrayRef(chunks).take_front(shown);
    std::string text = llvm::join(
        llvm::map_range(some,
                        [](unsigned chunk) { return llvm::utostr(chunk); }),
        ", ");
    return "[" + text + (chunks.size() > shown ? ", ...]" : "]");
  };
  for (unsigned rank = 0; rank < conditions.pre.size(); ++rank)
    out() << "rank " << rank << " has chunks " << list(conditions.pre[rank])
          << " and must get " << list(conditions.post[rank]) << '\n';
}

/// `errors` say how far off sums may be.
static void printPlan(const plan::PlanView &view,
                      llvm::ArrayRef<std::string> errors) {
  const plan::Manifest &manifest = view.manifest;
  out() << llvm::formatv(
      "{0}, {1} ranks, root {2}\ntopology {3}, fingerprint {4}\ncontents {5}\n"
      "format version {6}, made by {7}\n",
      manifest.collective, manifest.ranks, manifest.root, manifest.topology,
      llvm::StringRef(manifest.fingerprint).take_front(16),
      llvm::StringRef(view.hash).take_front(16), plan::formatVersion,
      manifest.generator);
  if (manifest.combining)
    out() << "adds up in the order " << manifest.sumOrder
          << (manifest.oneRounding ? ", and rounds each sum once" : "")
          << (manifest.sumsInF32 ? ", with partial sums in f32" : "") << '\n';
  for (const std::string &line : errors)
    out() << line << '\n';
  if (manifest.conditions)
    printConditions(*manifest.conditions);
  for (auto [index, schedule] : llvm::enumerate(manifest.schedules))
    out() << llvm::formatv(
        "schedule {0}: {1}, C = {2}, S = {3}, R = {4}, R/C = {5}\n", index,
        schedule.name, schedule.chunks, schedule.steps, schedule.rounds,
        schedule.cost);
  printPrograms(manifest);
  for (auto [index, kernel] : llvm::enumerate(manifest.kernels)) {
    out() << llvm::formatv("kernel {0}: program {1}, {2}, {3}", index,
                           kernel.program, kernel.target, kernel.format);
    if (!kernel.element.empty())
      out() << ", " << kernel.element << " " << kernel.reduction;
    out() << llvm::formatv(", blocks of {0}, {1} bytes, {2} to {3}\n",
                           kernel.blockSize, view.blobs[kernel.blob].size(),
                           kernel.symbols.front(), kernel.symbols.back());
  }
  for (const plan::SizeTable &table : manifest.tables) {
    out() << "sizes of a send buffer, " << table.source
          << withoutSwitches(manifest, table);
    if (!table.target.empty())
      out() << " on " << table.target << ", ranks as " << table.ranksAs;
    out() << ":\n" << describeTable(manifest, table);
    printAdvice(table);
  }
}

static int printJSON(const plan::PlanView &view) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(
      plan::manifestText(view.manifest, view.ranges, plan::RankDetail::All));
  if (!value)
    return fail(llvm::toString(value.takeError()));
  (*value->getAsObject())["hash"] = view.hash;
  (*value->getAsObject())["formatVersion"] = plan::formatVersion;
  llvm::outs() << llvm::formatv("{0:2}\n", *value);
  return Done;
}

int driver::printContents(llvm::StringRef path, bool json) {
  std::optional<LoadedPlan> plan = loadPlan(path);
  if (!plan)
    return BadInput;
  if (json)
    return printJSON(plan->view);
  std::optional<std::vector<std::string>> errors =
      errorsOfPlan(path, plan->view.manifest);
  if (!errors)
    return BadInput;
  printPlan(plan->view, *errors);
  return Done;
}
