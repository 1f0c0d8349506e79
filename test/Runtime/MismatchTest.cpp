//===- MismatchTest.cpp - Tests of ranks that launch different things -----===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LibraryTesting.h"

#include <unistd.h>

using namespace sccl;

TEST_P(EitherWay, ReportsDifferentCounts) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(member.join(end, allReduce) == scclSuccess, "join"))
                return 1;
              std::vector<float> a(200000), b(200000);
              return check(
                         member.launch(a.data(), b.data(), 100000 + end.rank) ==
                                 scclErrorMismatch &&
                             messageHas("another count"),
                         "different counts") +
                     check(scclCommGetError(member.comm) == scclErrorMismatch,
                           "afterwards");
            }));
}

// Small programs do not compare what ranks pass; the watchdog does.
TEST_P(EitherWay, ReportsOtherPlansOfWhomItWaitsFor) {
  EXPECT_EQ(0, runRanks(2, GetParam(), [](const RankEnd &end) {
              Member member;
              scclPlan second = nullptr;
              if (check(!member.join(end, allReduce) &&
                            !scclPlanLoad(exchange, &second) &&
                            !scclCommLoad(member.comm, second),
                        "join"))
                return 1;
              scclPlanDestroy(end.rank == 0 ? nullptr : member.plan);
              if (end.rank == 1)
                member.plan = second;
              std::vector<float> a(10), b(10);
              Stopwatch watch;
              int failed = check(member.launch(a.data(), b.data(), 10) ==
                                         scclErrorMismatch &&
                                     messageHas("launched another plan"),
                                 "another plan") +
                           check(watch.seconds() < 10, "long before the limit");
              scclPlanDestroy(end.rank == 0 ? second : nullptr);
              return failed;
            }));
}

namespace {
/// What a rank launches.
struct Launch {
  size_t count;
  scclDataType type = scclFloat32;
  scclRedOp op = scclSum;
};
} // namespace

static scclResult launch(Member &member, const Launch &what) {
  std::vector<double> a(what.count), b(what.count);
  return scclLaunch(member.comm, member.plan, a.data(), b.data(), what.count,
                    what.type, what.op, nullptr);
}

/// Fails if the communicator does not fail soon by itself, as `why` says.
static int awaitMismatch(Member &member, const char *why) {
  Stopwatch watch;
  while (watch.seconds() < 10 && scclCommGetError(member.comm) == scclSuccess)
    usleep(1000);
  return check(launch(member, {10}) == scclErrorMismatch && messageHas(why),
               why);
}

/// Ranks launch alike `before` times, and then the first of two ranks `zero`
/// and the other `one`. Returns 0 if all learn `why` that is wrong; at once if
/// it is a kind of launch they have not done before.
static int launchUnlike(const RankEnd &end, const char *plan, unsigned before,
                        const Launch &zero, const Launch &one,
                        const char *why) {
  Member member;
  if (check(!member.join(end, plan), "join"))
    return 1;
  for (unsigned i = 0; i < before; ++i)
    if (check(launch(member, zero) == scclSuccess, "alike"))
      return 1;
  scclResult result = launch(member, end.rank == 0 ? zero : one);
  int failed = 0;
  if (end.rank == 1 || before == 0)
    failed = check(result == scclErrorMismatch && messageHas(why), why);
  failed += awaitMismatch(member, why);
  // Nobody leaves before all know.
  meet(end);
  return failed;
}

// Both ranks would end, with wrong results.
TEST_P(EitherWay, ReportsOtherReductionsAndTypes) {
  for (const char *plan : {SCCL_TEST_PLANS "/pair-halves-all_reduce-kinds.sccl",
                           SCCL_TEST_PLANS "/pair-all_reduce-kinds.sccl"})
    for (unsigned before : {0, 1, 40})
      for (size_t count : {size_t(10), size_t(100000)}) {
        EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                    return launchUnlike(end, plan, before, {count},
                                        {count, scclFloat32, scclMax},
                                        "with another reduction than");
                  }));
        EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                    return launchUnlike(end, plan, before, {count},
                                        {count, scclInt32, scclMax},
                                        "with another type and reduction than");
                  }));
      }
}

// A call without elements waits for nobody.
TEST_P(EitherWay, ReportsNoElementsOnSomeRanks) {
  for (unsigned without : {0, 1})
    for (size_t count : {size_t(10), size_t(100000)})
      EXPECT_EQ(0, runRanks(2, GetParam(), [=](const RankEnd &end) {
                  Member member;
                  if (check(!member.join(end, allReduce), "join") ||
                      check(!launch(member, {0}), "none"))
                    return 1;
                  const char *why = "with another count than";
                  Stopwatch watch;
                  scclResult result =
                      launch(member, {end.rank == without ? 0 : count});
                  int failed = 0;
                  if (end.rank != without)
                    failed = check(result == scclErrorMismatch, why);
                  failed += awaitMismatch(member, why);
                  meet(end);
                  return failed + check(watch.seconds() < 10, "soon");
                }));
}

// A root may be done before anybody can tell what the others launch, and
// launches are alike again when they do.
TEST_P(EitherWay, ReportsWhatDifferedBefore) {
  EXPECT_EQ(0, runRanks(8, GetParam(), [](const RankEnd &end) {
              Member member;
              if (check(!member.join(end, broadcast8), "join"))
                return 1;
              scclResult result = scclSuccess;
              Stopwatch watch;
              for (unsigned i = 0; !result && watch.seconds() < 20; ++i)
                result =
                    launch(member, {10, i == 1 && end.rank == 0 ? scclInt32
                                                                : scclFloat32});
              int failed = check(result == scclErrorMismatch, "at last");
              meet(end);
              return failed;
            }));
}
