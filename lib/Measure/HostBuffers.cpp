//===- HostBuffers.cpp - Guarded memory -----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostBuffers.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace sccl;

static constexpr unsigned char guardByte = 0xA5;
static constexpr uint64_t alignment = 128;

void GuardedBuffer::Free::operator()(unsigned char *pointer) const {
  std::free(pointer);
}

GuardedBuffer::GuardedBuffer(uint64_t bytes) : bytes(bytes) {
  uint64_t total = bytes + 2 * guardBytes;
  total = (total + alignment - 1) / alignment * alignment;
  memory.reset(
      static_cast<unsigned char *>(std::aligned_alloc(alignment, total)));
  if (!memory)
    std::abort(); // the caller has asked availableMemory()
  std::memset(memory.get(), guardByte, guardBytes);
  std::memset(memory.get() + guardBytes, 0, bytes);
  std::memset(memory.get() + guardBytes + bytes, guardByte, guardBytes);
}

bool GuardedBuffer::guardsIntact() const {
  auto intact = [](const unsigned char *zone) {
    return std::all_of(zone, zone + guardBytes,
                       [](unsigned char byte) { return byte == guardByte; });
  };
  return intact(memory.get()) && intact(memory.get() + guardBytes + bytes);
}
