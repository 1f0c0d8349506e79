//===- CallBoard.cpp - Launches of a host's ranks, to compare -------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallBoard.h"

#include <atomic>

using namespace sccl;

/// A rank that is further ahead has filled the queue of its GPU.
static constexpr uint64_t numKept = 512;

/// Written by one rank. `number` is 0 while the rest changes.
struct alignas(64) CallBoard::Entry {
  std::atomic<uint64_t> number, history, signature, count, region, offset;
};

namespace {
struct BoardHello {
  SharedMemoryHandle memory;
  Outcome outcome;
};
} // namespace

std::string OutputPlace::describe() const {
  if (region == 0)
    return "in place or in other memory";
  return "at byte " + std::to_string(offset) + " of memory " +
         std::to_string(region) + " of scclMemAlloc";
}

Status CallBoard::open(const Bootstrap &bootstrap,
                       llvm::ArrayRef<unsigned> here, unsigned number) {
  own = number;
  BoardHello hello = {};
  Status status = attempt([&] {
    boards.resize(here.size());
    return boards[own].create(numKept * sizeof(Entry));
  });
  hello.outcome = Outcome(status);
  if (status.ok())
    hello.memory = boards[own].handle();
  Gathered<BoardHello> hellos(bootstrap.size());
  if (Status gathered = bootstrap.gather(hello, hellos); !gathered.ok())
    return gathered;
  if (Status agreed = bootstrap.agree(status, hellos); !agreed.ok())
    return agreed;
  status = bootstrap.agree(attempt([&] {
    Status opened;
    for (unsigned i = 0; i < here.size() && opened.ok(); ++i)
      if (i != own)
        opened = boards[i].open(hellos[here[i]].memory);
    return opened;
  }));
  boards[own].seal();
  return status;
}

CallBoard::Entry &CallBoard::entry(unsigned number, uint64_t call) const {
  return reinterpret_cast<Entry *>(boards[number].data())[call % numKept];
}

void CallBoard::post(const Post &what) {
  constexpr auto relaxed = std::memory_order_relaxed;
  Entry &to = entry(own, what.call.number);
  to.number.store(0, relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  to.history.store(what.call.history, relaxed);
  to.signature.store(what.call.signature, relaxed);
  to.count.store(what.call.count, relaxed);
  to.region.store(what.output.region, relaxed);
  to.offset.store(what.output.offset, relaxed);
  to.number.store(what.call.number, std::memory_order_release);
  // Of two ranks that post and then read, one reads what the other has posted.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

std::optional<CallBoard::Post> CallBoard::read(unsigned number,
                                               uint64_t call) const {
  constexpr auto relaxed = std::memory_order_relaxed;
  const Entry &from = entry(number, call);
  if (from.number.load(std::memory_order_acquire) != call)
    return std::nullopt;
  Post post = {{call, from.history.load(relaxed), from.signature.load(relaxed),
                from.count.load(relaxed)},
               {from.region.load(relaxed), from.offset.load(relaxed)}};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (from.number.load(relaxed) != call)
    return std::nullopt;
  return post;
}

bool CallBoard::hasPosted(unsigned number, uint64_t call) const {
  return entry(number, call).number.load() >= call;
}
