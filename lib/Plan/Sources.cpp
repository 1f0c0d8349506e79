//===- Sources.cpp - The schedules that a plan was made of ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Plan/Sources.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Error.h"

using namespace sccl;
namespace zlib = llvm::compression::zlib;

static constexpr size_t lengthBytes = 8;

std::string plan::packSource(llvm::StringRef text) {
  std::string blob(lengthBytes, '\0');
  llvm::support::endian::write64le(blob.data(), text.size());
  if (!zlib::isAvailable()) // as `unpackSource` sees by the length
    return blob += text;
  llvm::SmallVector<uint8_t, 0> packed;
  zlib::compress(llvm::arrayRefFromStringRef(text), packed);
  return blob += llvm::toStringRef(packed);
}

Result<std::string> plan::unpackSource(llvm::StringRef blob) {
  // What zlib makes of nothing but zeros.
  constexpr uint64_t mostPerByte = 1040;
  Error broken{"the plan is damaged: a module that it was compiled of cannot "
               "be unpacked"};
  if (blob.size() < lengthBytes)
    return broken;
  uint64_t length = llvm::support::endian::read64le(blob.data());
  llvm::StringRef packed = blob.substr(lengthBytes);
  if (length == packed.size())
    return packed.str();
  if (!zlib::isAvailable())
    return Error{"this sccl has no zlib, and the plan is compressed"};
  llvm::SmallVector<uint8_t, 0> text;
  if (length > packed.size() * mostPerByte)
    return broken;
  if (llvm::Error error =
          zlib::decompress(llvm::arrayRefFromStringRef(packed), text, length)) {
    llvm::consumeError(std::move(error));
    return broken;
  }
  return text.size() == length
             ? Result<std::string>(llvm::toStringRef(text).str())
             : Result<std::string>(broken);
}
