//===- Bytes.h - Numbers in little-endian bytes -----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_PLAN_BYTES_H
#define SCCL_LIB_PLAN_BYTES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Endian.h"

#include <string>

namespace sccl::plan {

class ByteWriter {
public:
  std::string bytes;

  template <typename T> void number(T value) {
    char text[sizeof(T)];
    llvm::support::endian::write<T, llvm::endianness::little>(text, value);
    bytes.append(text, sizeof(T));
  }
  void u32(uint32_t value) { number(value); }
  void u64(uint64_t value) { number(value); }
  void text(llvm::StringRef value) { bytes.append(value.data(), value.size()); }
  /// Zeros up to a multiple of `alignment`.
  void align(size_t alignment) {
    bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
  }
};

/// Reads what there is; afterwards `failed` tells whether it was too little, or
/// padding was not zero.
class ByteReader {
public:
  explicit ByteReader(llvm::StringRef bytes)
      : rest(bytes), total(bytes.size()) {}
  bool failed = false;

  template <typename T> T number() {
    llvm::StringRef text = take(sizeof(T));
    return failed ? T()
                  : llvm::support::endian::read<T, llvm::endianness::little>(
                        text.data());
  }
  uint32_t u32() { return number<uint32_t>(); }
  uint64_t u64() { return number<uint64_t>(); }
  llvm::StringRef take(uint64_t count) {
    failed |= count > rest.size();
    if (failed)
      return {};
    llvm::StringRef taken = rest.take_front(count);
    rest = rest.drop_front(count);
    return taken;
  }
  void align(size_t alignment) {
    size_t at = total - rest.size();
    llvm::StringRef gap = take((alignment - at % alignment) % alignment);
    failed |= gap.find_first_not_of('\0') != llvm::StringRef::npos;
  }
  uint64_t left() const { return rest.size(); }

private:
  llvm::StringRef rest;
  size_t total;
};

} // namespace sccl::plan

#endif // SCCL_LIB_PLAN_BYTES_H
