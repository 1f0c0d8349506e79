//===- ChoiceTest.cpp - Which of several plans a call takes ---------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two plans for all_reduce of two ranks, of which one says of its maximum that
// it is the sum: the result tells which one a call has taken.
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include "sccl/Model/HostTarget.h"
#include "sccl/Plan/Plan.h"

#include <algorithm>

using namespace sccl;

namespace {
enum Taken { Adds = 2, TakesMaximum = 1, Neither = 0 };

/// The plans, to be changed before they are loaded.
struct PlanPair {
  plan::Plan adds = read(exchange);
  plan::Plan takesMaximum = read(SCCL_TEST_PLANS "/pair-max-all_reduce.sccl");

  PlanPair() {
    for (plan::KernelInfo &kernel : takesMaximum.manifest.kernels)
      kernel.reduction = "sum";
  }
  static plan::Plan read(const char *path) {
    return *plan::readPlan(readFile(path));
  }
};

/// The table of the model says that a launch takes `times`.
void setTimes(plan::Plan &plan, std::vector<SizedTime> times) {
  plan.manifest.tables.front().times = std::move(times);
}

/// A rank that has loaded plans.
struct Chooser {
  scclComm comm = nullptr;
  std::vector<scclPlan> plans;
  Chooser() = default;
  Chooser(const Chooser &) = delete;
  ~Chooser() {
    scclCommDestroy(comm);
    for (scclPlan plan : plans)
      scclPlanDestroy(plan);
  }

  scclResult load(const RankEnd &end,
                  std::initializer_list<const plan::Plan *> list) {
    scclResult result = scclCommInit(end.rank, end.numRanks, end.allGather,
                                     end.context, nullptr, &comm);
    for (const plan::Plan *plan : list) {
      std::string bytes = *plan::serialize(*plan);
      plans.push_back(nullptr);
      if (result == scclSuccess)
        result = scclPlanLoadMemory(bytes.data(), bytes.size(), &plans.back());
      if (result == scclSuccess)
        result = scclCommLoad(comm, plans.back());
    }
    return result;
  }

  /// What an all_reduce of `count` floats takes, by its result.
  Taken take(size_t count, bool inPlace = false) {
    std::vector<float> send(count, 1), recv(count, 1);
    if (scclAllReduce(inPlace ? recv.data() : send.data(), recv.data(), count,
                      scclFloat32, scclSum, comm, nullptr) != scclSuccess)
      return Neither;
    for (float value : recv)
      if (value != recv[0])
        return Neither;
    return Taken(int(recv[0]));
  }

  /// What scclQueryPlan says.
  int query(size_t count, int inPlace = 0, scclDataType type = scclFloat32,
            scclRedOp op = scclSum) {
    int plan = -1;
    scclResult code =
        scclQueryPlan(comm, "all_reduce", -1, inPlace, count, type, op, &plan);
    return code == scclSuccess ? plan : -1;
  }
};
} // namespace

/// Runs `body` on two ranks with both plans, loaded in either order; it learns
/// which number the plan that adds has.
template <typename Body>
static void inEitherOrder(const PlanPair &pair, Body body) {
  for (int number : {0, 1})
    EXPECT_EQ(0, runRanks(2, RanksAs::Threads, [&](const RankEnd &end) {
                Chooser chooser;
                scclResult loaded =
                    number == 0
                        ? chooser.load(end, {&pair.adds, &pair.takesMaximum})
                        : chooser.load(end, {&pair.takesMaximum, &pair.adds});
                return check(loaded == scclSuccess, "load") ||
                       body(chooser, number);
              }));
}

// The lines cross at 10,000 bytes.
TEST(Choice, TakesTheFasterOneForTheSize) {
  PlanPair pair;
  setTimes(pair.adds, {{0, 1000}, {20000, 5000}});
  setTimes(pair.takesMaximum, {{0, 3000}, {20000, 3000}});
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.take(1) == Adds && chooser.query(1) == adds, "4 B") +
           check(chooser.take(2499) == Adds, "9996 B") +
           check(chooser.take(2501) == TakesMaximum, "10004 B") +
           check(chooser.take(100000) == TakesMaximum &&
                     chooser.query(100000) == 1 - adds,
                 "400000 B");
  });
}

// Beyond the end of a table its last line goes on, but never down.
TEST(Choice, GoesOnBeyondTheEndOfATable) {
  PlanPair pair;
  setTimes(pair.adds, {{8, 9000}, {64, 100}});
  setTimes(pair.takesMaximum, {{8, 10}, {64, 99}, {128, 200}});
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.query(0) == 1 - adds, "before the beginning") +
           check(chooser.query(16) == 1 - adds, "64 B") +
           check(chooser.query(17) == adds, "68 B") +
           check(chooser.query(1 << 20) == adds, "4 MiB");
  });
}

TEST(Choice, TakesTheLastOneOfEquals) {
  PlanPair pair;
  for (bool isKnown : {true, false}) {
    std::vector<SizedTime> times;
    if (isKnown)
      times = {{0, 1000}};
    setTimes(pair.adds, times);
    setTimes(pair.takesMaximum, times);
    inEitherOrder(pair, [](Chooser &chooser, int adds) {
      return check(chooser.take(4) == (adds == 1 ? Adds : TakesMaximum) &&
                       chooser.query(4) == 1,
                   "the last one");
    });
  }
  // Who says nothing goes after all others.
  setTimes(pair.adds, {{0, 1u << 30}});
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.query(4) == adds, "the one with times");
  });
}

TEST(Choice, TakesWhatWasMeasuredHere) {
  PlanPair pair;
  setTimes(pair.takesMaximum, {{0, 1000}});
  setTimes(pair.adds, {{0, 1000}});
  plan::SizeTable table = {
      "measured", hostTarget(), "threads", {{0, 0, plan::Path::Auto, 0}}};
  table.times = {{8, 5000}};
  pair.adds.manifest.tables.push_back(table);
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.take(4) == Adds && chooser.query(4) == adds,
                 "measured before estimated");
  });
  // Between two that were measured, time decides.
  table.times = {{8, 4000}};
  pair.takesMaximum.manifest.tables.push_back(table);
  inEitherOrder(pair, [](Chooser &chooser, int) {
    return check(chooser.take(4) == TakesMaximum, "the faster one");
  });
  // What was measured elsewhere counts for nothing.
  pair.takesMaximum.manifest.tables.back().ranksAs = "processes";
  inEitherOrder(pair, [](Chooser &chooser, int) {
    return check(chooser.take(4) == Adds, "measured with processes");
  });
}

TEST(Choice, TakesWhatIsRightInPlace) {
  PlanPair pair;
  setTimes(pair.adds, {{0, 5000}});
  setTimes(pair.takesMaximum, {{0, 1000}});
  // Of the one plan, a program that is right in one buffer.
  auto &programs = pair.adds.manifest.programs;
  auto right = std::find_if(
      programs.begin(), programs.end(),
      [](const plan::ProgramEntry &program) { return program.inPlace; });
  ASSERT_NE(right, programs.end());
  pair.adds.manifest.tables.front().choices = {
      {0, unsigned(right - programs.begin()), plan::Path::Auto, 0}};
  for (plan::ProgramEntry &program : pair.takesMaximum.manifest.programs)
    program.inPlace = false;
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.take(4) == TakesMaximum && chooser.query(4) != adds,
                 "two buffers") +
           check(chooser.take(4, true) == Adds && chooser.query(4, 1) == adds,
                 "one buffer");
  });
}

TEST(Choice, TakesWhatHasCode) {
  PlanPair pair;
  setTimes(pair.adds, {{0, 5000}});
  setTimes(pair.takesMaximum, {{0, 1000}});
  for (plan::KernelInfo &kernel : pair.takesMaximum.manifest.kernels)
    kernel.element = "i32";
  inEitherOrder(pair, [](Chooser &chooser, int adds) {
    return check(chooser.take(4) == Adds, "f32") +
           check(chooser.query(4, 0, scclInt32) == 1 - adds, "i32") +
           check(chooser.query(4, 0, scclInt32, scclMax) == -1 &&
                     messageHas("no plan is loaded for all_reduce of i32 max"),
                 "i32 max");
  });
}

TEST(Choice, ChecksArguments) {
  PlanPair pair;
  inEitherOrder(pair, [](Chooser &chooser, int) {
    int plan = -1;
    auto query = [&](const char *collective, int root, int *result) {
      return scclQueryPlan(chooser.comm, collective, root, 0, 4, scclFloat32,
                           scclSum, result);
    };
    return check(query(nullptr, -1, &plan) == scclErrorInvalidArgument &&
                     messageHas("collective is null"),
                 "no collective") +
           check(query("all_reduce", -1, nullptr) == scclErrorInvalidArgument &&
                     messageHas("plan is null"),
                 "no result") +
           check(query("reduce", 1, &plan) == scclErrorUnsupported &&
                     messageHas("no plan is loaded for reduce with root 1"),
                 "another collective");
  });
}
