//===- InputFile.cpp - Files that anybody may have made -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Pipelines/InputFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace sccl;
namespace fs = llvm::sys::fs;

/// Reads up to `most` bytes and one more.
static llvm::Expected<llvm::SmallVector<char>> readUpTo(fs::file_t file,
                                                        uint64_t most) {
  constexpr size_t piece = 1 << 20;
  llvm::SmallVector<char> bytes;
  while (bytes.size() <= most) {
    size_t before = bytes.size();
    bytes.resize_for_overwrite(before + piece);
    llvm::Expected<size_t> count =
        fs::readNativeFile(file, {bytes.data() + before, piece});
    if (!count)
      return count.takeError();
    bytes.truncate(before + *count);
    if (*count == 0)
      break;
  }
  return bytes;
}

/// Whoever maps a file that somebody cuts off gets a signal: it is read.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readRegular(llvm::StringRef path) {
  return llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(
      path, /*IsText=*/true, /*RequiresNullTerminator=*/true,
      /*IsVolatile=*/true));
}

/// What a pipe or device gives.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readStream(llvm::StringRef path, uint64_t most) {
  bool isInput = path == "-";
  fs::file_t file = fs::getStdinHandle();
  if (!isInput) {
    llvm::Expected<fs::file_t> opened = fs::openNativeFileForRead(path);
    if (!opened)
      return opened.takeError();
    file = *opened;
  }
  llvm::Expected<llvm::SmallVector<char>> bytes = readUpTo(file, most);
  if (!isInput)
    fs::closeFile(file);
  if (!bytes)
    return bytes.takeError();
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(*bytes), isInput ? "<stdin>" : path);
}

Result<std::unique_ptr<llvm::MemoryBuffer>>
sccl::readInput(llvm::StringRef path, uint64_t most) {
  auto tooLong = [&] {
    return Error{
        (path + " has more than " + llvm::Twine(most) + " bytes").str()};
  };
  fs::file_status status;
  bool isRegular = path != "-" && !fs::status(path, status) &&
                   status.type() == fs::file_type::regular_file;
  if (isRegular && status.getSize() > most)
    return tooLong();
  auto buffer = isRegular ? readRegular(path) : readStream(path, most);
  if (!buffer)
    return Error{
        ("cannot read " + path + ": " + llvm::toString(buffer.takeError()))
            .str()};
  if ((*buffer)->getBufferSize() > most)
    return tooLong();
  return std::move(*buffer);
}
