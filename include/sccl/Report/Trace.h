//===- Trace.h - What channels did when -------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_REPORT_TRACE_H
#define SCCL_REPORT_TRACE_H

#include "sccl/Simulate/Simulator.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace llvm::json {
class Value;
} // namespace llvm::json

namespace sccl::report {

/// Something that a channel did, or waited for.
struct TraceEvent {
  enum class Kind { Wait, Transfer, Reduce, Copy, Signal, Barrier };
  static constexpr unsigned noPeer = ~0u;

  unsigned rank, channel; ///< channels are numbered within their rank
  Kind kind;
  double begin, end;      ///< microseconds
  unsigned peer = noPeer; ///< whom a transfer goes to, or comes from
  bool isPull = false;
  double bytes = 0;
  /// Of a signal or a wait: whatever tells flags apart, and the value that it
  /// sets or waits for.
  uint64_t flag = 0, value = 0;
};

struct Trace {
  std::string name; ///< "ag.mlir:@ag, simulated"
  std::vector<TraceEvent> events;
  /// Of ranks that exchange messages: channels 1 + 2 * p are what goes to rank
  /// p, channels 2 + 2 * p what comes from it. They overlap, and transfers with
  /// a `value` are what a wait waits for.
  bool isOfMessages = false;
};

/// `trace` in the JSON format of Chrome, which Perfetto reads, too: a process
/// for each rank, a thread for each of its channels, and an arrow from each
/// signal to the waits that it ends. What overlaps gets threads of its own.
/// Events in the order in which they are given; equal traces give equal bytes.
std::string chromeText(const Trace &trace);

/// What `chromeText` has made, read again.
class RecordedTrace {
public:
  /// Fails if `text` is nothing of the kind.
  static Result<RecordedTrace> parse(const std::string &text);

  /// Whether it is of ranks that exchange messages.
  bool isOfMessages() const;
  /// Its text with `model` in it: below each rank what it would do. Fails if
  /// that is of other ranks.
  Result<std::string> withModel(const Trace &model) &&;

private:
  std::shared_ptr<llvm::json::Value> value; ///< an object with events
  std::set<int64_t> ranks;
};

/// What channels were simulated to do, on the tracks that ranks have which
/// exchange messages: a transfer and the signal after it are a message, what
/// waits for it expects one, and the rest is computing.
Trace asMessages(const Trace &trace);

/// Simulates `traffic` and writes down what its channels do. Fails as
/// `simulate` does.
Result<Trace> traceOf(const std::string &name, const Topology &topology,
                      const Traffic &traffic, const Timing &timing);

} // namespace sccl::report

#endif // SCCL_REPORT_TRACE_H
