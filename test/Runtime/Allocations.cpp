//===- Allocations.cpp - Counting allocations, and failing them -----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counts what the whole process allocates, libsccl and the C library included,
// by taking the place of malloc and its kin, and fails what a test wants to
// fail. Sanitizers have taken that place already; with them, only C++ is
// counted, and nothing fails.
//
//===----------------------------------------------------------------------===//

#include "Injection.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <new>

std::atomic<uint64_t> allocations = 0;
static std::atomic<uint64_t> freed = 0;

uint64_t sccl::liveBlocks() { return allocations - freed; }

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) &&                    \
    !defined(__SANITIZE_THREAD__)

extern "C" {
// The names under which glibc keeps its own.
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *memory);
}

/// What `allocate` returns, counted; null if it is to fail.
template <typename Allocate> static void *take(Allocate allocate) {
  if (sccl::injection.takes(sccl::Injected::Allocations)) {
    errno = ENOMEM;
    return nullptr;
  }
  void *memory = allocate();
  allocations += memory != nullptr;
  return memory;
}

extern "C" {
void *malloc(size_t bytes) {
  return take([&] { return __libc_malloc(bytes); });
}
void *calloc(size_t count, size_t bytes) {
  return take([&] { return __libc_calloc(count, bytes); });
}
void *realloc(void *memory, size_t bytes) {
  bool isOld = memory != nullptr;
  void *result = take([&] { return __libc_realloc(memory, bytes); });
  freed += isOld && (result || bytes == 0);
  return result;
}
void *memalign(size_t alignment, size_t bytes) {
  return take([&] { return __libc_memalign(alignment, bytes); });
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}
void free(void *memory) {
  freed += memory != nullptr;
  __libc_free(memory);
}
}

#else

void *operator new(size_t bytes) {
  ++allocations;
  if (void *memory = std::malloc(bytes))
    return memory;
  throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

#endif
