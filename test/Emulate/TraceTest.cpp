//===- TraceTest.cpp - What traced code for GPUs tells --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text that plans hold, executed: what it writes down is what the program
// does, in an order that can be, and what host code of the same schedule tells.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"
#include "Ways.h"

#include "Runtime/TraceRecords.h"

#include <map>
#include <mutex>
#include <set>

using namespace sccl;
using namespace sccl::test;

namespace {
/// What ranks have told in launches.
struct Told {
  PlanRank::Trace trace; ///< by rank, by channel
  std::vector<TraceTable> tables;
  uint64_t lost = 0;
};

constexpr unsigned launches = 4, recorded = 3;

std::optional<Subject> reduceOnRing() {
  return synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
}

/// Executes the traced code of `way`, with room for all launches but one.
Told tell(const Subject &subject, const Way &way, uint64_t distance = 0) {
  LoweringOptions options = way.options;
  options.traced = true;
  std::optional<Compiled> compiled = compile(subject, options, way.target);
  Told told;
  if (!compiled) {
    ADD_FAILURE() << "does not compile";
    return told;
  }
  Result<emulate::Code> code = emulate::Code::parse(compiled->text());
  if (!code) {
    ADD_FAILURE() << code.error();
    return told;
  }
  Request execution;
  execution.elements = {83};
  execution.request.launches = launches;
  execution.request.recorded = recorded;
  execution.request.sharedGPUs = options.virtualRanks ? 2 : 0;
  execution.request.settings.clockDistance = distance;
  Executed executed = execute(*compiled, *code, execution);
  EXPECT_TRUE(executed.isRight()) << executed.str();
  for (const emulate::RankRecord &record : executed.report.records) {
    TraceTable &table = told.tables.emplace_back();
    EXPECT_TRUE(TraceTable::read(record.table, table));
    auto read = [&](void *to, uint64_t address, uint64_t bytes) {
      std::memcpy(to, record.memory.data() + (address - record.place), bytes);
      return true;
    };
    EXPECT_TRUE(readRecords(table, read, told.trace.emplace_back(), told.lost));
  }
  return told;
}

/// Each channel does one thing after the other, in each launch all of them.
void checkChannels(const Told &told) {
  for (size_t rank = 0; rank < told.trace.size(); ++rank) {
    size_t at = 0;
    for (const TraceLine &line : told.tables[rank].lines) {
      size_t each = line.marks - 1;
      uint64_t last = 0;
      for (size_t i = 0; i < recorded * each; ++i, ++at) {
        ASSERT_LT(at, told.trace[rank].size());
        const scclTraceEvent &event = told.trace[rank][at];
        EXPECT_GE(event.begin, last);
        EXPECT_GE(event.end, event.begin);
        EXPECT_TRUE(i % each == 0 || event.begin == last);
        last = event.end;
      }
    }
    EXPECT_EQ(at, told.trace[rank].size()) << "rank " << rank;
  }
}

/// How many waits have a signal, none of which began after their end.
size_t countArrows(const PlanRank::Trace &trace, uint64_t tolerance = 0) {
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> signals;
  for (const auto &events : trace)
    for (const scclTraceEvent &event : events)
      if (event.kind == scclTraceSignal) {
        EXPECT_TRUE(
            signals.insert({{event.flag, event.value}, event.begin}).second);
      }
  size_t arrows = 0;
  for (const auto &events : trace)
    for (const scclTraceEvent &event : events) {
      if (event.kind != scclTraceWait)
        continue;
      auto signal = signals.lower_bound({event.flag, event.value});
      if (signal == signals.end() || signal->first.first != event.flag)
        continue;
      EXPECT_LE(signal->second, event.end + tolerance);
      ++arrows;
    }
  return arrows;
}

size_t count(const PlanRank::Trace &trace, scclTraceKind kind) {
  size_t found = 0;
  for (const auto &events : trace)
    for (const scclTraceEvent &event : events)
      found += event.kind == kind;
  return found;
}

std::vector<Way> unrolled(std::vector<Way> all) {
  std::erase_if(all, [](const Way &way) {
    return way.options.codeShape == CodeShapeChoice::Table;
  });
  return all;
}

void checkWays(const std::vector<Way> &ways) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    Told told = tell(*subject, way);
    checkChannels(told);
    EXPECT_EQ(told.lost, launches - recorded);
    EXPECT_NE(count(told.trace, scclTraceReduce), 0u);
    size_t waits = count(told.trace, scclTraceWait);
    EXPECT_EQ(countArrows(told.trace), waits);
    bool hasFlags = !way.options.steps && !way.options.ll;
    EXPECT_EQ(waits != 0, hasFlags);
  }
}

/// What an event is about.
using Fact = std::tuple<int, int, int, int, uint64_t, uint64_t, uint64_t>;
Fact factOf(const scclTraceEvent &event) {
  return {int(event.kind), event.channel, event.peer, event.isPull,
          event.bytes,     event.flag,    event.value};
}

/// What ranks tell of their third launch, as threads of this machine.
std::vector<std::multiset<Fact>> tellOnHost(const Subject &subject,
                                            LoweringOptions options) {
  options.traced = true;
  std::optional<Compiled> compiled = compile(subject, options, "host");
  std::vector<std::multiset<Fact>> facts(subject.topology.numRanks());
  Result<std::string> bytes = plan::serialize(compiled->plan);
  EXPECT_EQ(0,
            runRanks(facts.size(), RanksAs::Threads, [&](const RankEnd &end) {
              auto rank = PlanRank::create(*bytes, compiled->plan.manifest, end,
                                           SCCL_CONFIG_INITIALIZER);
              MeasureRequest request{.count = 83};
              request.batches = 1;
              request.traced = true;
              if (!rank || !(*rank)->measure(request))
                return 1;
              Result<PlanRank::Trace> trace = (*rank)->trace();
              if (!trace)
                return 1;
              for (const scclTraceEvent &event : (*trace)[end.rank])
                facts[end.rank].insert(factOf(event));
              return 0;
            }));
  return facts;
}
} // namespace

TEST(Trace, allWaysOfPTXTell) { checkWays(unrolled(ways())); }

TEST(Trace, someWaysOfGCNTell) {
  for (const char *chip : {"gfx942", "gfx90a"}) {
    std::vector<Way> all = unrolled(waysFor(chip));
    std::erase_if(all, [](const Way &way) {
      return !way.name.ends_with(" push") &&
             !way.name.ends_with(" virtual ranks") &&
             !way.name.ends_with(" 2 blocks");
    });
    ASSERT_EQ(all.size(), 3u);
    checkWays(all);
  }
}

TEST(Trace, agreesWithCodeForTheHost) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  for (const Way &way : ways()) {
    if (way.name != "push" && way.name != "pull" && way.name != "scratch")
      continue;
    SCOPED_TRACE(way.name);
    Told told = tell(*subject, way);
    std::vector<std::multiset<Fact>> onHost = tellOnHost(*subject, way.options);
    for (size_t rank = 0; rank < onHost.size(); ++rank) {
      std::multiset<Fact> facts;
      size_t at = 0;
      for (const TraceLine &line : told.tables[rank].lines)
        for (uint32_t i = 0; i < recorded * (line.marks - 1); ++i, ++at)
          if (i / (line.marks - 1) == 2)
            facts.insert(factOf(told.trace[rank][at]));
      // The host waits only for what it has not waited for before.
      std::multiset<Fact> waits;
      for (const Fact &fact : facts)
        if (!onHost[rank].count(fact) && std::get<0>(fact) == scclTraceWait)
          waits.insert(fact);
      for (const Fact &fact : waits)
        facts.erase(fact);
      EXPECT_EQ(facts, onHost[rank]) << "rank " << rank;
    }
  }
}

TEST(Trace, clocksAreAlignedByMessages) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  constexpr uint64_t distance = 1000000000;
  Told truth = tell(*subject, ways().front());
  Told told = tell(*subject, ways().front(), distance);
  std::vector<HostWindow> windows(told.trace.size(), {0, 4 * distance});
  for (auto &events : told.trace)
    std::stable_sort(events.begin(), events.end(), [](auto &left, auto &right) {
      return left.begin < right.begin;
    });
  alignByMessages(told.trace, windows);
  EXPECT_EQ(countArrows(told.trace, /*tolerance=*/1),
            count(told.trace, scclTraceWait));
  uint64_t longest = 0;
  std::vector<int64_t> off;
  for (size_t rank = 0; rank < told.trace.size(); ++rank) {
    uint64_t first = UINT64_MAX;
    for (const scclTraceEvent &event : truth.trace[rank]) {
      first = std::min(first, event.begin);
      longest = std::max(longest, event.end);
    }
    off.push_back(int64_t(told.trace[rank].front().begin - first));
  }
  // As near as a message takes, which is much less than all launches do.
  for (int64_t each : off)
    EXPECT_LT(std::abs(each - off[0]), int64_t(longest / 4));
}

TEST(Trace, plainCodeTellsNothing) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  for (const char *target : {"sm_90", "gfx942"}) {
    LoweringOptions options;
    options.blockSize = 128;
    std::optional<Compiled> plain = compile(*subject, options, target);
    options.traced = true;
    std::optional<Compiled> traced = compile(*subject, options, target);
    ASSERT_TRUE(plain && traced);
    for (const char *word :
         {"coll_mark", "coll_record", "globaltimer", "s_memrealtime"}) {
      bool isOther = std::string(word) ==
                     (target[0] == 's' ? "s_memrealtime" : "globaltimer");
      EXPECT_EQ(plain->text().find(word), std::string::npos) << word;
      EXPECT_EQ(traced->text().find(word) == std::string::npos, isOther)
          << word;
    }
    EXPECT_TRUE(plain->plan.rankTables.empty());
    EXPECT_FALSE(plain->kernel().rankTables);
    EXPECT_EQ(plain->plan.manifest.programs.back().ranks,
              traced->plan.manifest.programs.back().ranks);
    options.codeShape = CodeShapeChoice::Table;
    EXPECT_FALSE(compile(*subject, options, target));
  }
}
