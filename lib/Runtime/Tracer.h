//===- Tracer.h - What a rank has done --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_TRACER_H
#define SCCL_LIB_RUNTIME_TRACER_H

#include "Status.h"

#include "sccl/ABI/TraceClock.h"
#include "sccl/ABI/TraceMark.h"
#include "sccl/sccl-trace.h"

#include <memory>
#include <vector>

namespace sccl {

/// Records what a rank does, if somebody wants to know. Used by one thread at a
/// time.
class Tracer {
public:
  /// Begins anew, or ends.
  void record(bool on);
  bool isOn() const { return on; }
  /// When it began.
  uint64_t beginning() const { return first.time; }
  /// See scclQueryTrace. The code whose marks were called must still be loaded.
  /// `more` is what others have recorded.
  Status read(const std::vector<scclTraceEvent> &more,
              const scclTraceEvent *&events, size_t &count);

  /// Where there is no memory for an event, `read` fails.
  void add(const scclTraceEvent &event);

  /// The time; 0 if `tracer` is null or records nothing, where nobody asks.
  static uint64_t begin(const Tracer *tracer) {
    return tracer && tracer->on ? traceClock() : 0;
  }
  /// Adds what has begun at `begin` and ends now, unless `tracer` is null or
  /// records nothing. Those that it is about are the rank itself and `peer`.
  static void note(Tracer *tracer, scclTraceKind kind, uint64_t begin,
                   int peer = -1, bool isPull = false, uint64_t bytes = 0);

  /// As long as this lives, marks of code that this thread executes are for
  /// `tracer`. `segment` is the size of the segments that the code works on.
  class Listening {
  public:
    Listening(Tracer &tracer, uint64_t segment);
    ~Listening();
    Listening(const Listening &) = delete;
    Listening &operator=(const Listening &) = delete;

  private:
    bool listens;
  };
  /// What code calls, see TraceMark.h.
  static void onMark(const TraceMark *mark, uint64_t launch);

private:
  /// A moment, by the counter that marks read and by the clock.
  struct Instant {
    uint64_t ticks, time;
  };
  static Instant instant();

  /// A call of `onMark`. What it says is looked up when somebody reads. A
  /// launch makes hundreds, and each writes to memory that is in no cache, so
  /// they are small, and stay where they are when there are more.
  struct Call {
    const TraceMark *mark; ///< null where code stopped without saying so
    uint64_t ticks;
    bool isEnd() const { return !mark || mark->kind == TraceMark::End; }
  };
  /// Calls from number `first` on.
  struct Part {
    size_t first;
    uint64_t launch, segment;
  };
  static constexpr size_t blockSize = 4096;
  size_t numCalls() const { return filled * blockSize - (last - next); }
  const Call &call(size_t number) const {
    return blocks[number / blockSize][number % blockSize];
  }
  void take(const TraceMark *mark, uint64_t launch);
  bool makeRoom();
  bool addPart(uint64_t launch, uint64_t segment);
  void forgetCalls();
  void addEventsOf(const Part &part, size_t end, const Instant &now);

  bool on = false, isIncomplete = false;
  Instant first = {0, 0}; ///< when this began
  std::vector<std::unique_ptr<Call[]>> blocks;
  size_t filled = 0; ///< blocks, with that of `next`
  Call *next = nullptr, *last = nullptr;
  std::vector<Part> parts;
  std::vector<scclTraceEvent> notes; ///< of what is no code
  std::vector<scclTraceEvent> events;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_TRACER_H
