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

#include <cstdlib>
#include <functional>
#include <map>
#include <regex>
#include <set>

using namespace sccl;
using namespace sccl::test;

namespace {
/// What ranks have told in launches.
struct Told {
  PlanRank::Trace trace; ///< by rank, by channel
  std::vector<TraceTable> tables;
  uint64_t lost = 0;
  std::string fault; ///< of the execution
};

/// Changes a text.
using Change = std::function<std::string(const std::string &)>;

constexpr unsigned launches = 4, recorded = 3;

std::optional<Subject> reduceOnRing() {
  return synthesized("ring:4", CollectiveKind::AllReduce, 4, 6, 6);
}

/// Executes `compiled` with room for all launches but one.
Told tell(const Compiled &compiled, const emulate::Code &code, bool isShared,
          uint64_t distance) {
  Request execution;
  execution.elements = {83};
  execution.request.launches = launches;
  execution.request.recorded = recorded;
  execution.request.sharedGPUs = isShared ? 2 : 0;
  execution.request.settings.clockDistance = distance;
  Executed executed = execute(compiled, code, execution);
  Told told;
  told.fault = executed.str();
  for (const emulate::RankRecord &record : executed.report.records) {
    TraceTable &table = told.tables.emplace_back();
    if (!TraceTable::read(record.table, table))
      told.fault += "no table";
    auto read = [&](void *to, uint64_t address, uint64_t bytes) {
      std::memcpy(to, record.memory.data() + (address - record.place), bytes);
      return true;
    };
    readRecords(table, read, told.trace.emplace_back(), told.lost);
  }
  return told;
}

/// The same for the traced code of `way`, changed.
Told tell(const Subject &subject, const Way &way, uint64_t distance = 0,
          const Change &change = nullptr) {
  LoweringOptions options = way.options;
  options.traced = true;
  std::optional<Compiled> compiled = compile(subject, options, way.target);
  if (!compiled)
    return {{}, {}, 0, "does not compile"};
  Result<emulate::Code> code = emulate::Code::parse(
      change ? change(compiled->text()) : compiled->text());
  if (!code)
    return {{}, {}, 0, code.error()};
  return tell(*compiled, *code, options.virtualRanks, distance);
}

/// What is wrong with the times of a channel from `event` on: it does one thing
/// after the other, in each launch all of them.
std::string faultOfChannel(const scclTraceEvent *event, size_t each) {
  uint64_t last = 0, passed = 0;
  for (size_t i = 0; i < recorded * each; ++i, ++event) {
    bool follows = i % each == 0 ? event->begin >= last : event->begin == last;
    if (!follows || event->end < event->begin)
      return "event " + std::to_string(i) + " is not after the one before";
    passed += event->end - event->begin;
    last = event->end;
  }
  return passed != 0 ? "" : "no time passes";
}

/// How many waits have a signal that began before they ended; nothing if one
/// has another one, or a signal is told twice.
std::optional<size_t> countArrows(const PlanRank::Trace &trace,
                                  uint64_t tolerance = 0) {
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> signals;
  for (const auto &events : trace)
    for (const scclTraceEvent &event : events)
      if (event.kind == scclTraceSignal &&
          !signals.insert({{event.flag, event.value}, event.begin}).second)
        return std::nullopt;
  size_t arrows = 0;
  for (const auto &events : trace)
    for (const scclTraceEvent &event : events) {
      if (event.kind != scclTraceWait)
        continue;
      auto signal = signals.lower_bound({event.flag, event.value});
      if (signal == signals.end() || signal->first.first != event.flag)
        continue;
      if (signal->second > event.end + tolerance)
        return std::nullopt;
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

/// What is wrong with `told`; nothing if it can be.
std::string faultOf(const Told &told) {
  if (!told.fault.empty())
    return told.fault;
  for (size_t rank = 0; rank < told.trace.size(); ++rank) {
    size_t at = 0, all = 0;
    for (const TraceLine &line : told.tables[rank].lines)
      all += recorded * (line.marks - 1);
    if (all != told.trace[rank].size())
      return "rank " + std::to_string(rank) + " tells too little";
    for (const TraceLine &line : told.tables[rank].lines) {
      size_t each = line.marks - 1;
      std::string fault =
          each == 0 ? "" : faultOfChannel(&told.trace[rank][at], each);
      if (!fault.empty())
        return "rank " + std::to_string(rank) + ": " + fault;
      at += recorded * each;
    }
  }
  if (told.lost != launches - recorded)
    return "launches are lost";
  if (countArrows(told.trace) != count(told.trace, scclTraceWait))
    return "a wait has no signal";
  return "";
}

void checkWays(const std::vector<Way> &ways) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    Told told = tell(*subject, way);
    EXPECT_EQ(faultOf(told), "");
    EXPECT_NE(count(told.trace, scclTraceReduce), 0u);
    bool hasFlags = !way.options.steps && !way.options.ll;
    EXPECT_EQ(count(told.trace, scclTraceWait) != 0, hasFlags);
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
    if (!std::getenv("SCCL_EMULATE_ALL")) {
      std::erase_if(all, [](const Way &way) {
        return !way.name.ends_with(" push") &&
               !way.name.ends_with(" virtual ranks") &&
               !way.name.ends_with(" 2 blocks");
      });
      ASSERT_EQ(all.size(), 3u);
    }
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

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {
struct Mutant {
  const char *function; ///< in which every match is replaced; null: one call
  const char *from, *to;
};

/// The text with `mutant`, or the text itself if there is nothing to change.
std::string mutate(const std::string &text, const Mutant &mutant) {
  std::regex from(mutant.from);
  if (!mutant.function)
    return std::regex_replace(text, from, mutant.to,
                              std::regex_constants::format_first_only);
  std::string name = mutant.function;
  size_t begin = text.find(".func " + name + "(");
  const char *last = "\n}";
  if (begin == std::string::npos) {
    begin = text.find("\n" + name + ":");
    last = ".Lfunc_end";
  }
  size_t end = text.find(last, begin);
  return text.substr(0, begin) +
         std::regex_replace(text.substr(begin, end - begin), from, mutant.to) +
         text.substr(end);
}

void checkMutants(const Way &way, llvm::ArrayRef<Mutant> mutants) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  std::vector<std::multiset<Fact>> facts;
  auto factsOf = [](const Told &told) {
    std::vector<std::multiset<Fact>> result;
    for (const auto &events : told.trace)
      for (auto &set = result.emplace_back();
           const scclTraceEvent &event : events)
        set.insert(factOf(event));
    return result;
  };
  Told right = tell(*subject, way);
  ASSERT_EQ(faultOf(right), "");
  for (const Mutant &mutant : mutants) {
    SCOPED_TRACE(mutant.from);
    bool isChanged = false;
    Told told = tell(*subject, way, 0, [&](const std::string &text) {
      std::string changed = mutate(text, mutant);
      isChanged = changed != text;
      return changed;
    });
    EXPECT_TRUE(isChanged);
    EXPECT_TRUE(!faultOf(told).empty() || factsOf(told) != factsOf(right));
  }
}
} // namespace

TEST(Trace, mutantsOfPTXAreNoticed) {
  std::vector<Way> all = ways();
  Way way = *llvm::find_if(
      all, [](const Way &each) { return each.name == "2 blocks"; });
  checkMutants(way,
               {{"coll_mark", "(or\\.b32.*), (%r\\d+), %r\\d+;", "$1, $2, $2;"},
                {"coll_mark", "(or\\.b32.*), %r\\d+, (%r\\d+);", "$1, $2, $2;"},
                {"coll_mark", "(add\\.s32.*), 16;", "$1, 8;"},
                {"coll_mark", "(shl\\.b32.*), 3;", "$1, 2;"},
                {"coll_mark", "\tst\\.global.*", ""},
                {"coll_mark", "mov\\.u64(.*), %globaltimer;", "mov.b64$1, 5;"},
                {"coll_mark", "(ld\\.global.*\\[%rd\\d+)\\]", "$1+16]"},
                {"coll_record", "setp\\.lt\\.u64", "setp.le.u64"},
                {"coll_record", "\tst\\.global.*\\+8\\], .*", ""},
                {"coll_record", "\\+32\\]", "+24]"},
                {"coll_record", "\\+24\\]", "+32]"},
                {"coll_record", "(selp\\.b64.*), 1, 0,", "$1, 2, 0,"},
                {"coll_record", "\tst\\.global\\.b64 \t\\[%rd1\\].*", ""},
                {nullptr, "\tcall\\.uni coll_mark.*", ""},
                {nullptr, "\tcall\\.uni coll_record.*", ""}});
}

TEST(Trace, mutantsOfGCNAreNoticed) {
  checkMutants(
      waysFor("gfx942").front(),
      {{"coll_mark", "(v_lshl_add_u32.*), 16", "$1, 8"},
       {"coll_mark", "(s_memrealtime(?:.*\n)*?.*)s_waitcnt lgkmcnt\\(0\\)",
        "$1s_nop 0"},
       {"coll_mark", "\tglobal_store.*", ""},
       {"coll_mark", "(global_load.*\n)\ts_waitcnt vmcnt\\(0\\)", "$1"},
       {"coll_record", "v_cmp_lt_u64", "v_cmp_le_u64"}});
}

TEST(Trace, tablesThatAreNoneAreRefused) {
  std::optional<Subject> subject = reduceOnRing();
  ASSERT_TRUE(subject);
  TraceTable table = tell(*subject, ways().front()).tables[0], other;
  const std::string bytes = table.bytes();
  EXPECT_TRUE(TraceTable::read(bytes, other));
  EXPECT_EQ(other.bytes(), bytes);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(
        TraceTable::read(std::string_view(bytes).substr(0, length), other));
  EXPECT_FALSE(TraceTable::read(bytes + '\0', other));
  for (size_t at :
       {size_t(0), offsetof(TraceHeader, lines), offsetof(TraceHeader, marks),
        traceLineOffset(0) + offsetof(TraceLine, firstMark),
        traceLineOffset(1) + offsetof(TraceLine, marks)}) {
    std::string wrong = bytes;
    wrong[at + 1] = char(0x7f);
    EXPECT_FALSE(TraceTable::read(wrong, other)) << at;
  }
  // Nor are those with marks that tell nothing, or divide by zero.
  other = table;
  other.marks.back().kind = TraceMark::End + 1;
  EXPECT_FALSE(TraceTable::read(other.bytes(), other));
  other = table;
  other.marks.front().chunksPerSegment = 0;
  EXPECT_FALSE(TraceTable::read(other.bytes(), other));
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
