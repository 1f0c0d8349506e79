//===- MscclppTest.cpp - Checks of plans of MSCCL++ -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExchangeTesting.h"
#include "MscclppPlans.h"

#include <gtest/gtest.h>

#include <random>

using namespace sccl;
using namespace sccl::exchange;
using namespace sccl::exchange::testing;
using enum MscclppKind;

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

/// Empty if a file is accepted; otherwise what is wrong with it, a line each.
static std::string verdictOnText(const std::string &text,
                                 MscclppCheckOptions options = {}) {
  Findings findings;
  std::optional<MscclppPlan> plan = parseMscclpp(text, findings);
  if (plan && checkMscclpp(*plan, options, findings)) {
    EXPECT_TRUE(findings.empty());
    EXPECT_EQ(printMscclpp(*plan), text);
    return "";
  }
  EXPECT_FALSE(findings.empty());
  return exchange::testing::linesOf(findings);
}
static std::string verdictOn(const MscclppPlan &plan) {
  return verdictOnText(printMscclpp(plan));
}
static bool contains(const std::string &text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_SAYS(plan, part)                                                \
  EXPECT_TRUE(contains(verdictOn(plan), part)) << verdictOn(plan)

TEST(Mscclpp, RightPlans) {
  for (uint32_t ranks : {2, 3, 5, 8}) {
    EXPECT_EQ(verdictOn(makeAllGather(ranks)), "") << ranks;
    EXPECT_EQ(verdictOn(makeAllReduceLL(ranks)), "") << ranks;
    EXPECT_EQ(verdictOn(makeReduceScatter(ranks)), "") << ranks;
  }
}

TEST(Mscclpp, Schedules) {
  for (const MscclppPlan &plan :
       {makeAllGather(4), makeAllReduceLL(4), makeReduceScatter(4)}) {
    Result<FoundSchedule> found = fromMscclpp(plan, {});
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found->schedule.steps.size(), 1u);
    bool isAllReduce = found->collective.kind() == CollectiveKind::AllReduce;
    EXPECT_EQ(found->schedule.numSends(), isAllReduce ? 24u : 12u);
  }
}

TEST(Mscclpp, Order) {
  auto without = [](MscclppPlan plan, size_t index) {
    std::vector<MscclppOperation> &all = plan.gpus[1].blocks[0].operations;
    all.erase(all.begin() + long(index));
    return plan;
  };
  MscclppPlan plan = makeAllGather(3);
  EXPECT_SAYS(without(plan, 0), "deadlock: waits for a signal that nobody");
  EXPECT_SAYS(without(plan, 1), "nobody waits for this signal");
  EXPECT_SAYS(without(plan, 2), "touches memory of rank 0, which may not have");
  EXPECT_SAYS(without(plan, 3), "output chunk 1 of rank 0 has never been");
  EXPECT_SAYS(without(plan, 4), "nothing says that this is over when rank 0");
  EXPECT_SAYS(without(plan, 6), "nobody waits for this signal");
  MscclppPlan locked = plan;
  for (MscclppGpu &gpu : locked.gpus)
    for (MscclppBlock &block : gpu.blocks)
      if (block.operations.size() > 1)
        std::swap(block.operations[0], block.operations[1]);
  EXPECT_SAYS(locked, "deadlock: rank 0 waits for ever");
  EXPECT_SAYS(without(makeReduceScatter(3), 2), "which may not have begun");
}

/// What waits and what is waited for in a deadlock is found by line and column,
/// also in a file of one line.
TEST(Mscclpp, DeadlockInOneLine) {
  MscclppPlan plan = makeAllGather(2);
  for (MscclppGpu &gpu : plan.gpus)
    for (MscclppBlock &block : gpu.blocks)
      if (block.operations.size() > 1)
        std::swap(block.operations[0], block.operations[1]);
  std::string text = printMscclpp(plan);
  std::erase(text, '\n');
  Findings findings;
  std::optional<MscclppPlan> read = parseMscclpp(text, findings);
  ASSERT_TRUE(read);
  EXPECT_FALSE(checkMscclpp(*read, {}, findings));
  auto isAt = [&](unsigned column, std::string_view operation) {
    std::string rest = text.substr(column - 1);
    return rest.front() == '{' && rest.find(operation) < rest.find('}');
  };
  unsigned found = 0;
  for (const Finding &finding : findings.first()) {
    unsigned column = 0;
    ASSERT_EQ(std::sscanf(finding.message.c_str(),
                          "deadlock: rank %*u waits for ever for line 1:%u",
                          &column),
              1)
        << finding.message;
    found += isAt(finding.place.column, "\"rlxwait\"") &&
             isAt(column, "\"rlxsignal\"");
  }
  EXPECT_EQ(found, 2u) << exchange::testing::linesOf(findings);
}

TEST(Mscclpp, LLWords) {
  MscclppPlan plan = makeAllReduceLL(3);
  MscclppPlan lost = plan;
  lost.gpus[0].blocks[1].operations.clear();
  EXPECT_SAYS(lost, "deadlock: waits for LL words that nobody writes");
  MscclppPlan twice = plan;
  twice.gpus[0].blocks[1].operations.push_back(
      twice.gpus[0].blocks[1].operations[0]);
  EXPECT_SAYS(twice, "writes LL words that line");
  MscclppPlan simple = plan;
  simple.protocol = "Simple";
  EXPECT_SAYS(simple, "of a buffer of 3");
  MscclppPlan single = plan;
  single.doublesScratch = false;
  EXPECT_SAYS(single, "which may not have begun");
  // Who only sends may be two calls ahead.
  MscclppPlan broadcast = makeAllPairs(
      "broadcast", 2, Buffer::Scratch, 1, 1, 1,
      [](uint32_t rank, uint32_t peer) -> std::vector<MscclppOperation> {
        if (rank == peer)
          return rank == 0
                     ? std::vector{make(Copy, {at(Buffer::Input, 0)},
                                        {at(Buffer::Output, 0)})}
                     : std::vector{make(UnpackLL, {at(Buffer::Scratch, 0)},
                                        {at(Buffer::Output, 0)})};
        if (rank == 0)
          return {make(PutLL, {at(Buffer::Input, 0)}, {of(0, 0)})};
        return {};
      });
  broadcast.protocol = "LL";
  broadcast.doublesScratch = true;
  EXPECT_SAYS(broadcast, "rank 0 never hears of rank 1");
}

/// Between operations on words at the same distance from the first ones,
/// threads need not wait for each other.
TEST(Mscclpp, ThreadsHaveTheirOwnWords) {
  auto makePlan = [](uint32_t parts) {
    MscclppPlan plan = makeAllReduceLL(3);
    for (uint32_t rank = 0; rank < 3; ++rank)
      for (MscclppBlock &block : plan.gpus[rank].blocks) {
        if (block.operations[0].kind != ReduceLL)
          continue;
        std::vector<MscclppOperation> all;
        all.push_back(make(UnpackLL,
                           {at(Buffer::Scratch, 2 * ((rank + 1) % 3), 2)},
                           {at(Buffer::Output, 0, 2)}));
        all.push_back(make(CopyLL, {at(Buffer::Input, 0, 2)},
                           {at(Buffer::Scratch, 2 * rank, 2)}));
        for (uint32_t of : {(rank + 2) % 3, rank})
          for (uint32_t part = 0; part < parts; ++part) {
            uint32_t first = part, count = 2 / parts;
            all.push_back(make(ReduceLL,
                               {at(Buffer::Output, first, count),
                                at(Buffer::Scratch, 2 * of + first, count)},
                               {at(Buffer::Output, first, count)}));
          }
        block.operations = all;
      }
    return plan;
  };
  EXPECT_EQ(verdictOn(makePlan(1)), "");
  EXPECT_TRUE(fromMscclpp(makePlan(1), {}));
  // The first thread has what the operation before left to another one.
  EXPECT_SAYS(makePlan(2), "race: this reads what");
}

/// A port copies memory: what a ppkt sends through it are LL words already.
TEST(Mscclpp, LLWordsThroughPorts) {
  auto makePlan = [](const std::vector<MscclppOperation> &before,
                     MscclppChunks source) {
    MscclppPlan plan = makeAllPairs(
        "allgather", 2, Buffer::Scratch, 1, 2, 2,
        [&](uint32_t rank, uint32_t peer) -> std::vector<MscclppOperation> {
          if (rank == peer)
            return {
                make(Copy, {at(Buffer::Input, 0)}, {at(Buffer::Output, rank)})};
          std::vector<MscclppOperation> all = before;
          all.push_back(make(PutLL, {source}, {of(0, 1)}));
          all.back().channel = MscclppChannel::Port;
          all.back().channels = {0};
          all.push_back(make(UnpackLL, {at(Buffer::Scratch, 1)},
                             {at(Buffer::Output, peer)}));
          return all;
        });
    plan.protocol = "LL";
    plan.doublesScratch = true;
    for (MscclppGpu &gpu : plan.gpus) {
      std::swap(gpu.peers.memory, gpu.peers.port);
      for (MscclppRemote &remote : gpu.remotes)
        std::swap(remote.byMemory, remote.byPort);
      for (MscclppBlock &block : gpu.blocks) {
        std::swap(block.channels.memory, block.channels.port);
        std::swap(block.remotes.memory, block.remotes.port);
      }
    }
    return plan;
  };
  MscclppOperation words =
      make(CopyLL, {at(Buffer::Input, 0)}, {at(Buffer::Scratch, 0)});
  MscclppPlan plan = makePlan({words, nop()}, at(Buffer::Scratch, 0));
  EXPECT_EQ(verdictOn(plan), "");
  Findings findings;
  auto verdict = checkMscclpp(plan, {}, findings);
  ASSERT_TRUE(verdict);
  ASSERT_EQ(verdict->notes.size(), 1u);
  EXPECT_TRUE(contains(verdict->notes[0], "scratch memory of the first plan"));
  EXPECT_TRUE(fromMscclpp(plan, {}));

  // It does not wait for the words.
  EXPECT_SAYS(makePlan({words}, at(Buffer::Scratch, 0)), "race");
  EXPECT_SAYS(makePlan({}, at(Buffer::Scratch, 0)),
              "reads a chunk that nothing has been written to");
  EXPECT_SAYS(makePlan({words, nop()}, at(Buffer::Input, 0)),
              "a port makes no LL words");
  // Data in scratch memory is no word.
  MscclppOperation data =
      make(Copy, {at(Buffer::Input, 0)}, {at(Buffer::Scratch, 0)});
  EXPECT_SAYS(makePlan({data, nop()}, at(Buffer::Scratch, 0)),
              "holds both data and LL words");
}

TEST(Mscclpp, Limits) {
  auto with = [](auto change) {
    MscclppPlan plan = makeAllGather(3);
    change(plan, plan.gpus[1].blocks[0]);
    return verdictOn(plan);
  };
  auto expect = [&](std::string_view part, auto change) {
    std::string verdict = with(change);
    EXPECT_TRUE(contains(verdict, part)) << verdict;
  };
  using Plan = MscclppPlan;
  using Block = MscclppBlock;
  expect("65 operations in a thread block, the executor has room for 64",
         [](Plan &, Block &b) { b.operations.resize(65); });
  expect("17 channels of a type in a thread block",
         [](Plan &, Block &b) { b.channels.memory.resize(17); });
  expect("17 remote buffers of a type",
         [](Plan &, Block &b) { b.remotes.memory.resize(17); });
  expect("9 channels in an operation",
         [](Plan &, Block &b) { b.operations[0].channels.resize(9); });
  expect("barrier 16 of 16", [](Plan &, Block &b) {
    MscclppOperation barrier;
    barrier.kind = Barrier;
    barrier.barrier = 16;
    b.operations.push_back(barrier);
  });
  expect("barrier 3 waits for 2 blocks, and 1 come", [](Plan &, Block &b) {
    MscclppOperation barrier;
    barrier.kind = Barrier;
    barrier.barrier = 3;
    barrier.blocks = 2;
    b.operations.push_back(barrier);
  });
  expect("1025 threads in a block", [](Plan &p, Block &) { p.threads = 1025; });
  expect("no threads in a block", [](Plan &p, Block &) { p.threads = 0; });
  expect("2 channels or semaphores in an operation, and a block has 1 threads",
         [](Plan &p, Block &b) {
           p.threads = 1;
           b.operations[0].channels = {0, 0};
         });
  expect("\"buffer_alignment\" is 8",
         [](Plan &p, Block &) { p.alignment = 8; });
  expect("no chunks of the input",
         [](Plan &p, Block &) { p.gpus[2].inputChunks = 0; });
  expect("1 chunks of input and 4 of output",
         [](Plan &p, Block &) { p.gpus[2].outputChunks = 4; });
  expect("chunks 3 to 3 of a buffer of 3",
         [](Plan &, Block &b) { b.operations[3].destinations[0].first = 3; });
  expect("channel 2 of 2", [](Plan &, Block &b) { b.channels.memory = {2}; });
  expect("has a local buffer where a remote one must be", [](Plan &, Block &b) {
    b.operations[3].destinations[0].isRemote = false;
  });
  expect("signals only through a port",
         [](Plan &, Block &b) { b.operations[3].kind = PutSignal; });
  expect("confuses both offsets of a get", [](Plan &, Block &b) {
    b.operations[3] = make(Get, {of(0, 1)}, {at(Buffer::Output, 0)});
  });
}

TEST(Mscclpp, OperationsThatOverlapThemselves) {
  for (auto [from, to, isRight] :
       {std::tuple{0u, 0u, true}, {0u, 1u, false}, {1u, 0u, false}}) {
    MscclppPlan plan = makeAllGather(2);
    plan.gpus[0].scratchChunks = 3;
    std::vector<MscclppOperation> &all = plan.gpus[0].blocks.back().operations;
    for (uint32_t chunk : {0, 1, 2})
      all.push_back(
          make(Copy, {at(Buffer::Input, 0)}, {at(Buffer::Scratch, chunk)}));
    all.push_back(nop());
    all.push_back(make(Copy, {at(Buffer::Scratch, from, 2)},
                       {at(Buffer::Scratch, to, 2)}));
    EXPECT_EQ(contains(verdictOn(plan),
                       "race: this reads what it writes for another chunk"),
              !isRight)
        << verdictOn(plan);
  }
}

TEST(Mscclpp, WhatIsNoPlan) {
  EXPECT_TRUE(contains(verdictOnText(""), "this is no JSON"));
  EXPECT_TRUE(contains(verdictOnText("{\n \"gpus\": [\n"), "this is no JSON"));
  EXPECT_TRUE(contains(verdictOnText(std::string(100000, '[')), "too deep"));
  EXPECT_TRUE(contains(verdictOnText("[1]"), "1: this is no plan of MSCCL++"));
  EXPECT_TRUE(
      contains(verdictOnText("{\"gpus\": [{\"id\": 0, \"inputChunks\": 2}]}"),
               "1: this is a plan for MSCCL++ before the executor of July "
               "2025, by its name \"inputChunks\""));
  std::string text = printMscclpp(makeAllGather(2));
  auto replaced = [&](std::string_view what, std::string_view by) {
    std::string copy = text;
    copy.replace(copy.find(what), what.size(), by);
    return verdictOnText(copy);
  };
  // In between, each version had some of today's names.
  for (auto [today, before] : {std::pair{"\"channel_type\"", "\"type\""},
                               {"\"connected_to\"", "\"connectedTo\""},
                               {"\"input_chunks\"", "\"inputChunks\""},
                               {"\"channel_ids\"", "\"cids\""},
                               {"\"put\"", "\"rrcs\""}})
    EXPECT_TRUE(contains(replaced(today, before),
                         "1: this is a plan for MSCCL++ before"))
        << replaced(today, before);
  EXPECT_TRUE(contains(replaced("\"put\"", "\"glre\""),
                       "\"name\" is \"glre\", expected one of nop, barrier"));
  EXPECT_TRUE(contains(replaced("\"put\"", "\"pipeline\""),
                       "not known: pipelines are not checked"));
  EXPECT_TRUE(contains(replaced("\"id\" : 0", "\"id\" : 1"),
                       "\"id\" is 1 of number 0 in its list"));
  EXPECT_TRUE(contains(replaced("\"size\" : 1", "\"size\" : -1"),
                       "\"size\" is -1, expected a number between 0 and"));
  EXPECT_TRUE(contains(replaced("\"inplace\"", "\"in_place\""),
                       "there is no \"inplace\""));
  EXPECT_TRUE(contains(replaced("\"allgather\"", "\"custom\""),
                       "what 'custom' is to do is not known"));
}

//===----------------------------------------------------------------------===//
// Mutants
//===----------------------------------------------------------------------===//

namespace {
/// Changes one operation of `plan` so that it is wrong.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}
  MscclppPlan operator()(MscclppPlan plan) {
    std::vector<MscclppOperation> *all;
    do
      all = &pick(pick(plan.gpus).blocks).operations;
    while (all->empty());
    size_t i = random() % all->size();
    MscclppOperation &operation = (*all)[i];
    switch (random() % 4) {
    case 0: // dropped
      all->erase(all->begin() + long(i));
      return plan;
    case 1: // doubled; twice a nop, or the same copy in a row, is no mistake
      if (!operation.channels.empty() || !operation.semaphores.empty() ||
          operation.kind == PutLL) {
        all->insert(all->begin() + long(i), MscclppOperation(operation));
        return plan;
      }
      break;
    case 2: // reordered, past a nop
      for (size_t k = i; k + 1 < all->size(); ++k)
        if ((*all)[k].kind == Nop || (*all)[k + 1].kind == Nop) {
          std::swap((*all)[k], (*all)[k + 1]);
          return plan;
        }
      break;
    default:
      break;
    }
    if (operation.sources.empty()) // another count
      all->erase(all->begin() + long(i));
    else if (random() % 2)
      ++pick(operation.sources).count;
    else // another place
      ++pick(operation.destinations).first;
    return plan;
  }

private:
  template <typename T> T &pick(std::vector<T> &items) {
    return items[random() % items.size()];
  }
  std::mt19937 random;
};
} // namespace

TEST(Mscclpp, MutantsAreRefused) {
  for (const MscclppPlan &plan :
       {makeAllGather(4), makeAllReduceLL(4), makeReduceScatter(4)})
    for (unsigned seed = 0; seed < 200; ++seed) {
      MscclppPlan mutant = Mutator(seed)(plan);
      EXPECT_NE(verdictOn(mutant), "") << plan.collective << " " << seed << "\n"
                                       << printMscclpp(mutant);
    }
}
