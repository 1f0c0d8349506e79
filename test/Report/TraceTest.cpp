//===- TraceTest.cpp - What channels did when -----------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/Trace.h"

#include "llvm/Support/JSON.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace sccl;
using namespace sccl::report;
using testing::HasSubstr;

namespace {

using Kind = Action::Kind;

/// Two ranks; 0 sends 1000 bytes, which 1 waits for.
Topology pair() {
  Topology topology("pair", 2);
  (void)topology.addLink(0, 1, 1);
  return topology;
}
Traffic oneSend() {
  Traffic traffic;
  traffic.numFlags = 1;
  traffic.channels = {
      {0,
       {{.kind = Kind::Push, .link = 0, .bytes = 1000},
        {.kind = Kind::Signal, .link = 0, .flag = 0, .value = 1}}},
      {1, {{.kind = Kind::Wait, .flag = 0, .value = 1}}}};
  return traffic;
}

TEST(Trace, HasWhatIsSimulated) {
  Topology topology = pair();
  Trace trace = *traceOf("pair", topology, oneSend(),
                         Timing::uniform(topology, /*latency=*/2, 100));
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.events[0].kind, TraceEvent::Kind::Transfer);
  EXPECT_EQ(trace.events[0].peer, 1u);
  EXPECT_DOUBLE_EQ(trace.events[0].end, 10);
  EXPECT_EQ(trace.events[2].kind, TraceEvent::Kind::Wait);
  EXPECT_EQ(trace.events[2].rank, 1u);
  EXPECT_DOUBLE_EQ(trace.events[2].begin, 0);
  EXPECT_DOUBLE_EQ(trace.events[2].end, 12);
}

TEST(Trace, SaysWhenItGetsStuck) {
  Topology topology = pair();
  Traffic traffic = oneSend();
  traffic.channels[0].actions.pop_back();
  Result<Trace> trace =
      traceOf("pair", topology, traffic, Timing::uniform(topology, 2, 100));
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error(), HasSubstr("waits for ever"));
}

TEST(Trace, JoinsSignalsAndWaits) {
  Topology topology = pair();
  std::string text = chromeText(
      *traceOf("pair", topology, oneSend(), Timing::uniform(topology, 2, 100)));
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  ASSERT_TRUE(bool(value));
  unsigned slices = 0, starts = 0, ends = 0;
  for (const llvm::json::Value &entry :
       *value->getAsObject()->getArray("traceEvents")) {
    const llvm::json::Object &event = *entry.getAsObject();
    llvm::StringRef phase = *event.getString("ph");
    slices += phase == "X";
    if (phase == "s") {
      ++starts;
      EXPECT_EQ(event.getInteger("pid"), 0);
      EXPECT_EQ(event.getNumber("ts"), 10);
    } else if (phase == "f") {
      ++ends;
      EXPECT_EQ(event.getInteger("pid"), 1);
      EXPECT_EQ(event.getNumber("ts"), 12);
    }
  }
  EXPECT_EQ(slices, 3u);
  EXPECT_EQ(starts, 1u);
  EXPECT_EQ(ends, 1u);
}

TEST(Trace, LeavesOutArrowsToNowhere) {
  Trace trace{"x", {{0, 0, TraceEvent::Kind::Wait, 0, 1}}};
  EXPECT_THAT(chromeText(trace), testing::Not(HasSubstr("\"ph\":\"s\"")));
}

} // namespace
