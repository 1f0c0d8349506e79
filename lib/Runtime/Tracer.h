//===- Tracer.h - What a rank has done --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_TRACER_H
#define SCCL_LIB_RUNTIME_TRACER_H

#include "Status.h"

#include "sccl/ABI/TraceMark.h"
#include "sccl/sccl-trace.h"

#include <vector>

namespace sccl {

/// Records what a rank does, if somebody wants to know. Used by one thread at a
/// time.
class Tracer {
public:
  /// Begins anew, or ends.
  void record(bool on);
  bool isOn() const { return on; }
  /// See scclQueryTrace. The code whose marks were called must still be loaded.
  Status read(const scclTraceEvent *&events, size_t &count);

  /// Where there is no memory for an event, `read` fails.
  void add(const scclTraceEvent &event);

  /// The time; 0 if `tracer` is null or records nothing, where nobody asks.
  static uint64_t begin(const Tracer *tracer) {
    return tracer && tracer->on ? now() : 0;
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

  static uint64_t now();

private:
  /// A moment, by the counter that marks read and by the clock.
  struct Instant {
    uint64_t ticks, time;
  };
  static Instant instant();
  void convertTimes();

  /// A call of `onMark`. What it says is looked up when somebody reads.
  struct Call {
    const TraceMark *mark; ///< null where code stopped without saying so
    uint64_t launch, segment;
    uint64_t time; ///< ticks, and nanoseconds once somebody reads
    bool isEnd() const { return !mark || mark->kind == TraceMark::End; }
  };
  static scclTraceEvent eventOf(const Call &call, uint64_t end);
  void take(const Call &call);

  bool on = false, isIncomplete = false;
  uint64_t segment = 0;
  Instant first = {0, 0}; ///< when this began
  std::vector<Call> calls;
  std::vector<scclTraceEvent> notes; ///< of what is no code
  std::vector<scclTraceEvent> events;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_TRACER_H
