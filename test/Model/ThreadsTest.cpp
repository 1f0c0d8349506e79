//===- ThreadsTest.cpp ----------------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Threads.h"

#include "gtest/gtest.h"

#include <list>

#include <sys/resource.h>
#include <unistd.h>

using namespace sccl;

static Beside<bool> isHere(bool isApart) {
  return Beside<bool>(
      [here = pthread_self()] {
        return bool(pthread_equal(here, pthread_self()));
      },
      isApart);
}

TEST(ThreadsTest, WorkIsDoneApartIfAsked) {
  EXPECT_FALSE(isHere(/*isApart=*/true).get());
  EXPECT_TRUE(isHere(/*isApart=*/false).get());
}

TEST(ThreadsTest, WorkEndsBeforeWhatItUses) {
  bool isDone = false;
  {
    Beside<int> work([&] {
      isDone = true;
      return 1;
    });
  }
  EXPECT_TRUE(isDone);
}

TEST(ThreadsTest, WhatNobodyGetsIsNotDoneHere) {
  bool isDone = false;
  {
    Beside<int> work([&] { return isDone = true; }, /*isApart=*/false);
  }
  EXPECT_FALSE(isDone);
}

TEST(ThreadsTest, WithoutThreadsWorkIsDoneHere) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need address space";
#endif
  EXPECT_TRUE(canStartThreads(3));
  auto tryWithout = [] {
    rlimit none = {0, 0};
    setrlimit(RLIMIT_AS, &none); // no room for more stacks
    std::list<Thread> others;    // take those that are left
    while (others.emplace_back().start([] { pause(); }))
      ;
    Beside<bool> work = isHere(/*isApart=*/true);
    _exit(!canStartThreads(1) && work.get() ? 7 : 1);
  };
  EXPECT_EXIT(tryWithout(), testing::ExitedWithCode(7), "");
}
