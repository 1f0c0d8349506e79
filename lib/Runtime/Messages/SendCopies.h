//===- SendCopies.h - Messages that outlive their launch --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_SENDCOPIES_H
#define SCCL_LIB_RUNTIME_MESSAGES_SENDCOPIES_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace sccl {

/// Copies of messages, so that launches need not wait until these are taken.
class SendCopies {
public:
  /// Makes room for messages to `peers` ranks, the first time.
  void reserve(unsigned peers) {
    if (memory)
      return;
    unsigned wanted = std::min(peers * copiesOfPeer, mostCopies);
    // All or nothing: the next try finds what this one has left.
    free.resize(wanted);
    memory.reset(new char[wanted * mostBytes]);
    count = wanted;
    for (unsigned i = 0; i < count; ++i)
      free[i] = count - 1 - i;
  }
  /// Their numbers are below this.
  unsigned size() const { return count; }
  bool isEmpty() const { return free.size() == count; }

  /// The number of a copy; nothing if the message is too long, or there is no
  /// room.
  std::optional<unsigned> take(const void *data, uint64_t bytes) {
    if (bytes > mostBytes || free.empty())
      return std::nullopt;
    unsigned number = free.back();
    free.pop_back();
    std::memcpy(memory.get() + number * mostBytes, data, bytes);
    return number;
  }
  const char *dataOf(unsigned number) const {
    return memory.get() + number * mostBytes;
  }
  void release(unsigned number) { free.push_back(number); }
  /// The transport may still read them: the memory stays.
  void leak() { (void)memory.release(); }

private:
  static constexpr uint64_t mostBytes = 32 << 10;
  static constexpr unsigned copiesOfPeer = 4, mostCopies = 32;

  std::unique_ptr<char[]> memory;
  unsigned count = 0;
  std::vector<unsigned> free;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_SENDCOPIES_H
