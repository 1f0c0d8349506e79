//===- HostBuffers.h - Guarded memory ---------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MEASURE_HOSTBUFFERS_H
#define SCCL_LIB_MEASURE_HOSTBUFFERS_H

#include <cstdint>
#include <memory>

namespace sccl {

/// Zeroed memory, aligned to 128 bytes, between two guard zones.
class GuardedBuffer {
public:
  explicit GuardedBuffer(uint64_t bytes);
  unsigned char *data() const { return memory.get() + guardBytes; }
  uint64_t size() const { return bytes; }
  /// False if something was written just before or after the buffer.
  bool guardsIntact() const;

private:
  static constexpr uint64_t guardBytes = 4096;
  struct Free {
    void operator()(unsigned char *pointer) const;
  };
  uint64_t bytes;
  std::unique_ptr<unsigned char[], Free> memory;
};

} // namespace sccl

#endif // SCCL_LIB_MEASURE_HOSTBUFFERS_H
