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

#include <set>

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

/// The events of a text that are of `phase`.
std::vector<llvm::json::Object> eventsOf(llvm::StringRef text,
                                         llvm::StringRef phase) {
  std::vector<llvm::json::Object> found;
  llvm::json::Value value = llvm::cantFail(llvm::json::parse(text));
  for (const llvm::json::Value &event :
       *value.getAsObject()->getArray("traceEvents"))
    if (event.getAsObject()->getString("ph") == phase)
      found.push_back(*event.getAsObject());
  return found;
}

TEST(Trace, GivesMessagesThatOverlapTracksOfTheirOwn) {
  using Event = TraceEvent;
  Trace trace{"m", {}, /*isOfMessages=*/true};
  // Two sends to rank 1 overlap, a third comes after them; 1 expects one.
  for (auto [begin, end] : {std::pair(0., 4.), {1., 5.}, {6., 7.}})
    trace.events.push_back({0, 3, Event::Kind::Transfer, begin, end, 1, false,
                            8, /*flag=*/9, /*value=*/uint64_t(1 + begin)});
  trace.events.push_back({1, 2, Event::Kind::Wait, 0, 6, 0, true, 8, 9, 2});
  std::string text = chromeText(trace);
  std::vector<llvm::json::Object> slices = eventsOf(text, "X");
  EXPECT_NE(slices[0].getInteger("tid"), slices[1].getInteger("tid"));
  EXPECT_EQ(slices[0].getInteger("tid"), slices[2].getInteger("tid"));
  EXPECT_THAT(text, HasSubstr("{\"name\":\"to 1\"}"));
  EXPECT_THAT(text, HasSubstr("{\"name\":\"from 0\"}"));
  ASSERT_EQ(eventsOf(text, "s").size(), 1u);
  EXPECT_EQ(eventsOf(text, "s")[0].getNumber("ts"), 1);
  EXPECT_EQ(eventsOf(text, "f")[0].getNumber("ts"), 6);
}

Result<std::string> withModel(const std::string &measured, const Trace &model) {
  Result<RecordedTrace> trace = RecordedTrace::parse(measured);
  if (!trace)
    return Error{trace.error()};
  return std::move(*trace).withModel(model);
}

TEST(Trace, PutsAModelBelowWhatWasMeasured) {
  Topology topology = pair();
  Trace trace =
      *traceOf("pair", topology, oneSend(), Timing::uniform(topology, 2, 100));
  std::string measured = chromeText(trace);
  Result<std::string> both = withModel(measured, trace);
  ASSERT_TRUE(both) << both.error();
  EXPECT_EQ(eventsOf(*both, "X").size(), 6u);
  std::set<int64_t> arrows, processes;
  for (const llvm::json::Object &event : eventsOf(*both, "s"))
    arrows.insert(*event.getInteger("id"));
  EXPECT_EQ(arrows.size(), 2u);
  for (const llvm::json::Object &event : eventsOf(*both, "X"))
    processes.insert(*event.getInteger("pid"));
  EXPECT_EQ(processes.size(), 4u);
  EXPECT_THAT(*both, HasSubstr("rank 1, model"));

  EXPECT_THAT(withModel("{", trace).error(), HasSubstr("is no JSON"));
  EXPECT_THAT(withModel("{\"a\": 1}", trace).error(),
              HasSubstr("is no trace of what ranks did"));
  EXPECT_THAT(withModel(*both, trace).error(),
              HasSubstr("is no trace of what ranks did"));
  trace.events.pop_back();
  EXPECT_THAT(withModel(measured, trace).error(),
              HasSubstr("is of 2 ranks, the program has 1"));
}

} // namespace
