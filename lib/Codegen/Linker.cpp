//===- Linker.cpp - Making shared objects with ld.lld ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Linker.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <chrono>
#include <csignal>
#include <thread>

using namespace mlir;
using namespace sccl;

/// A temporary file that disappears with this object.
namespace {
class TemporaryFile {
public:
  static std::optional<TemporaryFile> create(StringRef suffix) {
    TemporaryFile file;
    if (llvm::sys::fs::createTemporaryFile("sccl", suffix, file.name))
      return std::nullopt;
    file.remover.setFile(file.name);
    return file;
  }
  StringRef path() const { return name; }

private:
  TemporaryFile() = default;
  SmallString<128> name;
  llvm::FileRemover remover;

public:
  TemporaryFile(TemporaryFile &&other) : name(other.name), remover(other.name) {
    other.remover.releaseFile();
  }
};
} // namespace

static llvm::ErrorOr<std::string> findLinker() {
  for (const char *name : {"ld.lld-22", "ld.lld"}) {
    // The unversioned name may belong to another LLVM: look beside ours first.
    if (auto path = llvm::sys::findProgramByName(name, {SCCL_LLVM_TOOLS_DIR}))
      return path;
    if (auto path = llvm::sys::findProgramByName(name))
      return path;
  }
  return std::make_error_code(std::errc::no_such_file_or_directory);
}

/// Runs `program`, for a minute at most, and false, with a message, if it does
/// not succeed. By polling: an alarm, as LLVM has it, is of the whole process,
/// whose threads may each wait for one.
static bool execute(StringRef program, ArrayRef<StringRef> arguments,
                    ArrayRef<std::optional<StringRef>> redirects,
                    std::string &message) {
  constexpr std::chrono::seconds limit(60);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  bool isFailure = false;
  llvm::sys::ProcessInfo child =
      llvm::sys::ExecuteNoWait(program, arguments, std::nullopt, redirects,
                               /*MemoryLimit=*/0, &message, &isFailure);
  if (isFailure)
    return false;
  while (true) {
    llvm::sys::ProcessInfo ended =
        llvm::sys::Wait(child, /*SecondsToWait=*/0, &message);
    if (ended.Pid != 0)
      return ended.ReturnCode == 0;
    if (Clock::now() > end) {
      kill(child.Pid, SIGKILL);
      llvm::sys::Wait(child, std::nullopt);
      message = "it takes more than a minute ";
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

FailureOr<std::string> sccl::linkSharedObject(ModuleOp module, StringRef object,
                                              ArrayRef<StringRef> options,
                                              StringRef instead) {
  auto emitError = [&] { return module.emitError(); };
  llvm::ErrorOr<std::string> linker = findLinker();
  if (!linker)
    return emitError() << "ld.lld is neither in " << SCCL_LLVM_TOOLS_DIR
                       << " nor in PATH; install lld-22" << instead;
  std::optional<TemporaryFile> input = TemporaryFile::create("o");
  std::optional<TemporaryFile> output = TemporaryFile::create("so");
  std::optional<TemporaryFile> log = TemporaryFile::create("log");
  if (!input || !output || !log)
    return emitError() << "cannot create temporary files";
  std::error_code error;
  llvm::raw_fd_ostream stream(input->path(), error);
  stream << object;
  stream.close();
  if (error || stream.has_error())
    return emitError() << "cannot write " << input->path();

  // Objects are small, and lld ends where it cannot start its threads.
  SmallVector<StringRef> arguments = {"ld.lld", "-shared", "--threads=1"};
  llvm::append_range(arguments, options);
  arguments.append({input->path(), "-o", output->path()});
  std::optional<StringRef> redirects[] = {std::nullopt, log->path(),
                                          log->path()};
  std::string message;
  if (!execute(*linker, arguments, redirects, message)) {
    auto text = llvm::MemoryBuffer::getFile(log->path());
    return emitError() << *linker << " failed: " << message
                       << (text ? (*text)->getBuffer() : "");
  }
  auto linked = llvm::MemoryBuffer::getFile(output->path());
  if (!linked)
    return emitError() << "cannot read what " << *linker << " wrote";
  return (*linked)->getBuffer().str();
}
