//===- Decoding.h - What decoders have in common ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EMULATE_DECODING_H
#define SCCL_LIB_EMULATE_DECODING_H

#include "Assembly/Assembly.h"
#include "Runner.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace sccl::emulate {

/// Why `text` cannot be executed, whatever is in it, if so.
std::optional<Error> findCut(const assembly::Text &text);

/// The keys of `numbers`, which are numbered from 0.
std::vector<std::string> namesOf(const llvm::StringMap<uint32_t> &numbers);

/// Where the next constant is, after one of `bytes` bytes at `address`.
inline uint64_t nextConstant(uint64_t address, uint64_t bytes) {
  return address + (bytes + 255) / 256 * 256;
}

/// Splits at commas that are in no brackets.
llvm::SmallVector<llvm::StringRef, 4> splitOperands(llvm::StringRef text);

} // namespace sccl::emulate

#endif // SCCL_LIB_EMULATE_DECODING_H
