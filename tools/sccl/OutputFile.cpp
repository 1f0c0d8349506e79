//===- OutputFile.cpp - Writing files that exist whole or not at all ------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "Plans.h"

#include "llvm/Support/FileSystem.h"

#include <cerrno>
#include <unistd.h>

using namespace sccl;
using namespace sccl::driver;
namespace fs = llvm::sys::fs;

/// Writes to what is there: a device or a pipe, which a file must not replace.
static llvm::Error writeInPlace(llvm::StringRef path,
                                llvm::StringRef contents) {
  std::error_code error;
  llvm::raw_fd_ostream stream(path, error, fs::CD_OpenExisting);
  if (error)
    return llvm::errorCodeToError(error);
  stream << contents;
  stream.close();
  error = stream.error();
  stream.clear_error();
  return llvm::errorCodeToError(error);
}

/// Where a file beside `path` goes first. A symbolic link stays, and what it
/// leads to is replaced; one that leads nowhere is an error.
static llvm::Expected<fs::TempFile>
createTemporary(llvm::StringRef path, llvm::SmallVectorImpl<char> &target) {
  if (std::error_code error = fs::real_path(path, target)) {
    if (fs::is_symlink_file(path))
      return llvm::errorCodeToError(error);
    target.assign(path.begin(), path.end());
  }
  return fs::TempFile::create(llvm::Twine(target) + ".%%%%%%");
}

/// Waits until the disk has `file`: a name that is renamed before what it names
/// is written may be that of an empty file after a loss of power. Devices and
/// pipes, which cannot be waited for, are left alone.
static std::error_code syncToDisk(int file) {
  if (::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP)
    return {};
  return {errno, std::generic_category()};
}

/// Gives the new `file` the permissions of the one that it replaces, if any. A
/// plan that others may write would not be executed.
static std::error_code setPermissions(llvm::StringRef target, int file) {
  fs::file_status status;
  bool isReplaced = !fs::status(target, status);
  if (!isReplaced)
    if (std::error_code error = fs::status(file, status))
      return error;
  fs::perms permissions = status.permissions();
  if (isPlanFile(target))
    permissions = permissions & ~(fs::group_write | fs::others_write);
  else if (!isReplaced)
    return {};
  return fs::setPermissions(file, permissions);
}

/// Writes to a temporary file beside `path` and renames it, so that nobody sees
/// half of it.
static llvm::Error replaceFile(llvm::StringRef path, llvm::StringRef contents) {
  llvm::SmallString<128> target;
  llvm::Expected<fs::TempFile> file = createTemporary(path, target);
  if (!file)
    return file.takeError();
  std::error_code error = setPermissions(target, file->FD);
  llvm::raw_fd_ostream stream(file->FD, /*shouldClose=*/false);
  stream << contents;
  stream.flush();
  if (stream.error())
    error = stream.error();
  stream.clear_error();
  if (!error)
    error = syncToDisk(file->FD);
  if (!error)
    return file->keep(target);
  return llvm::joinErrors(llvm::errorCodeToError(error), file->discard());
}

static bool failToWrite(llvm::StringRef path, llvm::Error error) {
  fail("cannot write " + path + ": " + llvm::toString(std::move(error)));
  return false;
}

/// True for a file that a new one takes the place of, or if there is nothing.
static bool isReplaceable(llvm::StringRef path) {
  fs::file_status status;
  return fs::status(path, status) ||
         status.type() == fs::file_type::regular_file;
}

bool driver::checkWritable(llvm::StringRef path) {
  if (path == "-")
    return true;
  llvm::SmallString<128> target;
  if (isReplaceable(path)) {
    llvm::Expected<fs::TempFile> file = createTemporary(path, target);
    llvm::Error error = file ? file->discard() : file.takeError();
    return error ? failToWrite(path, std::move(error)) : true;
  }
  std::error_code error = fs::is_directory(path)
                              ? std::make_error_code(std::errc::is_a_directory)
                              : fs::access(path, fs::AccessMode::Write);
  return error ? failToWrite(path, llvm::errorCodeToError(error)) : true;
}

bool driver::writeFile(llvm::StringRef path, llvm::StringRef contents) {
  if (path == "-") {
    llvm::outs() << contents;
    return true;
  }
  llvm::Error error = isReplaceable(path) ? replaceFile(path, contents)
                                          : writeInPlace(path, contents);
  return error ? failToWrite(path, std::move(error)) : true;
}
