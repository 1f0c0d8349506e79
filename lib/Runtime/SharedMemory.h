//===- SharedMemory.h - Memory that processes share -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_SHAREDMEMORY_H
#define SCCL_LIB_RUNTIME_SHAREDMEMORY_H

#include "Status.h"

#include <cstdint>

namespace sccl {

/// A process, as others can recognize it: a number alone may be used again.
struct ProcessId {
  int64_t pid = 0;
  /// In clock ticks since boot, as processes of one time namespace see it.
  uint64_t startTime = 0;
  bool operator==(const ProcessId &) const = default;

  /// The process that has a number now.
  static Status find(int64_t pid, ProcessId &id);
  /// False if it is sure that the process has ended. That cannot always be
  /// found out, as without a free descriptor.
  bool isAlive() const;
  /// True if it is sure that a signal or a debugger has stopped the process.
  bool isStopped() const;
};

/// Finds a number that tells machines, and PID namespaces on them, apart. With
/// SCCL_RANKS_PER_HOST=N ranks 0 to N - 1 are taken to be on a host, the next N
/// on another.
Status machineId(uint64_t &id, unsigned rank);

/// How another process finds a SharedMemory.
struct SharedMemoryHandle {
  int64_t process = 0;
  int64_t thread = 0; ///< of that process; `open` works while it lives
  int64_t descriptor = -1;
  uint64_t bytes = 0;
  uint64_t nonce = 0; ///< also in the memory, to recognize it
};

/// Fails if this process may not write files of `bytes` bytes, which memory
/// without a name is, too: to try would raise a signal.
Status checkFileSize(uint64_t bytes);

/// Zeroed memory without a name: it exists as long as someone has it mapped, so
/// nothing is left behind whatever happens to the processes.
class SharedMemory {
public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory &) = delete;
  SharedMemory &operator=(const SharedMemory &) = delete;
  SharedMemory(SharedMemory &&other) noexcept { *this = std::move(other); }
  SharedMemory &operator=(SharedMemory &&other) noexcept;
  ~SharedMemory();

  /// Makes `bytes` bytes, all of them backed by memory. Fails if that is more
  /// than there is.
  Status create(uint64_t bytes);
  /// Maps what another rank made, as long as that has not sealed it.
  Status open(const SharedMemoryHandle &handle);
  /// For `open`. Valid until `seal`, as long as the calling thread lives.
  SharedMemoryHandle handle() const;
  /// Gives up the descriptor: from now on nobody can open it.
  void seal();

  /// Puts copies in the place of pages that some of `length` bytes of data from
  /// `offset` on are in: what others write there from now on does not show
  /// here. If there is no memory for that, all is as before.
  void detach(uint64_t offset, uint64_t length);

  char *data() const { return static_cast<char *>(address) + headBytes; }
  uint64_t size() const { return bytes; }

private:
  /// A page with the nonce comes before the data.
  static constexpr uint64_t headBytes = 4096;
  Status map(int fd, uint64_t dataBytes);

  void *address = nullptr;
  uint64_t bytes = 0;
  int descriptor = -1;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_SHAREDMEMORY_H
