//===- MachineProbe.cpp - The machine that this host is -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs the vendors' tools that this host has, and takes hwloc where there are
// none; what they print goes through the readers of files.
//
//===----------------------------------------------------------------------===//

#include "MachineFlags.h"
#include "Output.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <hwloc.h>

using namespace sccl;
using namespace sccl::driver;
using llvm::StringRef;

namespace {
/// A command, the first word of which is looked for in PATH.
struct Command {
  const char *program;
  std::vector<StringRef> arguments;
  bool isOptional = false; ///< goes on without it
};
} // namespace

/// What a command prints; nothing if it is not installed or fails, which is
/// said.
static std::optional<ImportFile> run(const Command &command) {
  constexpr unsigned mostSeconds = 30;
  llvm::ErrorOr<std::string> program =
      llvm::sys::findProgramByName(command.program);
  if (!program)
    return std::nullopt;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("sccl-probe", "txt", path))
    return std::nullopt;
  llvm::scope_exit remove([&] { llvm::sys::fs::remove(path); });
  std::vector<StringRef> words = {*program};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::string text = llvm::join(llvm::ArrayRef(words).drop_front(), " ");
  std::string name = std::string(command.program) + " " + text;
  std::string message;
  int code =
      llvm::sys::ExecuteAndWait(*program, words, std::nullopt,
                                {StringRef(""), StringRef(path), StringRef("")},
                                mostSeconds, /*MemoryLimit=*/0, &message);
  if (code != 0) {
    err() << "sccl: '" << name << "' failed" << (message.empty() ? "" : ": ")
          << message << '\n';
    return std::nullopt;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return std::nullopt;
  err() << "sccl: read '" << name << "'\n";
  return ImportFile{name, (*buffer)->getBuffer().str()};
}

/// The host as hwloc sees it, as XML.
static std::optional<ImportFile> askHwloc() {
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) != 0)
    return std::nullopt;
  llvm::scope_exit destroy([&] { hwloc_topology_destroy(topology); });
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  char *buffer;
  int length;
  if (hwloc_topology_load(topology) != 0 ||
      hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0) != 0)
    return std::nullopt;
  // The length counts the 0 at the end.
  ImportFile file = {"hwloc", std::string(buffer, length > 0 ? length - 1 : 0)};
  hwloc_free_xmlbuffer(topology, buffer);
  err() << "sccl: read what hwloc says of this host\n";
  return file;
}

std::vector<ImportFile> driver::probeHost() {
  const std::vector<Command> vendors[] = {
      {{"nvidia-smi", {"topo", "-m"}}, {"nvidia-smi", {"nvlink", "-s"}, true}},
      {{"amd-smi", {"topology", "--json"}}},
      {{"rocm-smi", {"--showtopo"}}},
  };
  for (const std::vector<Command> &commands : vendors) {
    std::vector<ImportFile> files;
    for (const Command &command : commands) {
      std::optional<ImportFile> file = run(command);
      bool isUseful = file && !StringRef(file->text).trim().empty() &&
                      (!command.isOptional || recognizeFormat(*file));
      if (!isUseful && !command.isOptional)
        break;
      if (isUseful)
        files.push_back(std::move(*file));
    }
    if (!files.empty())
      return files;
  }
  if (std::optional<ImportFile> file = askHwloc())
    return {std::move(*file)};
  return {};
}
