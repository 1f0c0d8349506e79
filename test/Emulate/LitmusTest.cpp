//===- LitmusTest.cpp - The memory model on small programs ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Known shapes, with the answers of the PTX memory model: what must never be
// seen is never seen, what may be is seen by some seed, and races are reported
// where there are any.
//
//===----------------------------------------------------------------------===//

#include "sccl/Emulate/Machine.h"

#include "gtest/gtest.h"

#include <cstring>
#include <set>

using namespace sccl;
using namespace sccl::emulate;

namespace {
/// What two threads do, in different blocks. Words x, y, f and two of results
/// are at 0, 8, 16, 32 and 40 of the memory at %rd1.
struct Shape {
  std::string first, second;
};

/// "st" in place of "st.weak", as PTX has it.
std::string store(const std::string &how, unsigned at, unsigned value) {
  return "\tst" + how + ".global.b64 \t[%rd1+" + std::to_string(at) + "], " +
         std::to_string(value) + ";\n";
}
std::string load(const std::string &how, const char *to, unsigned at) {
  return "\tld" + how + ".global.b64 \t" + to + ", [%rd1+" +
         std::to_string(at) + "];\n";
}
std::string keep(const char *what, unsigned at) {
  return "\tst.global.b64 \t[%rd1+" + std::to_string(at) + "], " + what + ";\n";
}

/// Each block has four threads, of which thread 0 does something.
std::string kernelOf(const Shape &shape) {
  return ".visible .entry k(\n)\n{\n"
         "\tld.param.b64 \t%rd1, [k_param_0];\n"
         "\tld.param.b32 \t%r3, [k_param_1];\n"
         "\tmov.u32 \t%r1, %tid.x;\n"
         "\tsetp.ne.b32 \t%p1, %r1, 0;\n"
         "\t@%p1 bra \t$L_end;\n"
         "\tmov.u32 \t%r2, %ctaid.x;\n"
         "\tadd.s32 \t%r2, %r2, %r3;\n"
         "\tsetp.ne.b32 \t%p2, %r2, 0;\n"
         "\t@%p2 bra \t$L_second;\n" +
         shape.first + "\tbra.uni \t$L_end;\n$L_second:\n" + shape.second +
         "$L_end:\n\tret;\n}\n";
}

/// The two results, for each seed.
using Pair = std::pair<uint64_t, uint64_t>;
struct Seen {
  std::set<Pair> results;
  bool isRace = false;
  bool has(uint64_t first, uint64_t second) const {
    return results.count({first, second}) != 0;
  }
};

Seen observe(const Shape &shape, bool onTwoGPUs = true) {
  Result<Code> code = Code::parse(kernelOf(shape));
  EXPECT_TRUE(code) << code.error();
  Seen seen;
  for (unsigned seed = 0; seed < 400; ++seed) {
    Settings settings;
    settings.seed = seed;
    Machine machine(*code, 2, 2, 4, settings);
    uint64_t memory = machine.allocate(64, "memory");
    machine.launch(0, "k", onTwoGPUs ? 1 : 2, {memory, 0});
    if (onTwoGPUs)
      machine.launch(1, "k", 1, {memory, 1});
    machine.meet();
    machine.read(0, memory + 32, 16, [&](const std::string &bytes) {
      uint64_t words[2];
      std::memcpy(words, bytes.data(), sizeof(words));
      seen.results.insert({words[0], words[1]});
    });
    machine.run();
    for (const Finding &finding : machine.findings()) {
      EXPECT_EQ(finding.kind, FindingKind::Race) << finding.message;
      seen.isRace = true;
    }
  }
  return seen;
}

/// x, then f; f, then x. Results are what was loaded of f and x.
Shape messagePassing(const std::string &publish, const std::string &poll) {
  return {store("", 0, 1) + publish,
          poll + load("", "%rd3", 0) + keep("%rd2", 32) + keep("%rd3", 40)};
}
Shape messagePassing(const char *release, const char *acquire, int) {
  return messagePassing(store(release, 16, 1), load(acquire, "%rd2", 16));
}
} // namespace

TEST(Litmus, messagePassing) {
  Seen right = observe(messagePassing(".release.sys", ".acquire.sys", 0));
  EXPECT_TRUE(right.has(1, 1) && right.has(0, 0));
  EXPECT_FALSE(right.has(1, 0));
  // Who has not seen the flag loads x all the same, and that is a race.
  for (auto [release, acquire] : {std::pair("", ""),
                                  {".relaxed.sys", ".acquire.sys"},
                                  {".release.sys", ".relaxed.sys"},
                                  {".release.gpu", ".acquire.sys"},
                                  {".release.sys", ".acquire.gpu"},
                                  {".release.gpu", ".acquire.gpu"},
                                  {".release.cta", ".acquire.cta"}}) {
    Seen wrong = observe(messagePassing(release, acquire, 0));
    EXPECT_TRUE(wrong.has(1, 0)) << release << " " << acquire;
    EXPECT_TRUE(wrong.isRace) << release << " " << acquire;
  }
}

TEST(Litmus, scopeOfOneGPU) {
  Shape onGPU = messagePassing(".release.gpu", ".acquire.gpu", 0);
  EXPECT_FALSE(observe(onGPU, false).has(1, 0));
  EXPECT_TRUE(observe(onGPU, true).has(1, 0));
  Shape inBlock = messagePassing(".release.cta", ".acquire.cta", 0);
  EXPECT_TRUE(observe(inBlock, false).has(1, 0));
}

TEST(Litmus, fences) {
  auto fenced = [](const char *scope) {
    std::string fence = std::string("\tfence.acq_rel.") + scope + ";\n";
    return messagePassing(fence + store(".relaxed.sys", 16, 1),
                          load(".relaxed.sys", "%rd2", 16) + fence);
  };
  EXPECT_FALSE(observe(fenced("sys")).has(1, 0));
  EXPECT_TRUE(observe(fenced("sys")).has(1, 1));
  EXPECT_TRUE(observe(fenced("gpu")).has(1, 0));
  EXPECT_FALSE(observe(fenced("gpu"), false).has(1, 0));
}

/// Polled until it is set, so that only what is ordered is loaded.
TEST(Litmus, raceReports) {
  auto polled = [](const char *release, const char *acquire) {
    std::string poll = "$L_poll:\n" + load(acquire, "%rd2", 16) +
                       "\tsetp.eq.b64 \t%p3, %rd2, 0;\n"
                       "\t@%p3 bra \t$L_poll;\n";
    return observe(messagePassing(store(release, 16, 1), poll));
  };
  Seen right = polled(".release.sys", ".acquire.sys");
  EXPECT_EQ(right.results, std::set<Pair>({{1, 1}}));
  EXPECT_FALSE(right.isRace);
  EXPECT_TRUE(polled(".relaxed.sys", ".acquire.sys").isRace);
  EXPECT_TRUE(polled(".release.sys", ".relaxed.sys").isRace);
  EXPECT_TRUE(polled(".release.gpu", ".acquire.sys").isRace);
  EXPECT_TRUE(polled(".release.sys", "").isRace);
}

/// The reader gives x back, and the writer overwrites it.
TEST(Litmus, writeAfterRead) {
  auto credit = [](const char *release, const char *acquire) {
    Shape shape;
    shape.first =
        load("", "%rd2", 0) + store(release, 16, 1) + keep("%rd2", 32);
    shape.second = "$L_poll:\n" + load(acquire, "%rd3", 16) +
                   "\tsetp.eq.b64 \t%p3, %rd3, 0;\n"
                   "\t@%p3 bra \t$L_poll;\n" +
                   store("", 0, 1);
    return observe(shape);
  };
  Seen right = credit(".release.sys", ".acquire.sys");
  EXPECT_FALSE(right.isRace);
  EXPECT_EQ(right.results, std::set<Pair>({{0, 0}}));
  EXPECT_TRUE(credit(".relaxed.sys", ".acquire.sys").isRace);
  EXPECT_TRUE(credit(".release.sys", ".relaxed.sys").isRace);
}

TEST(Litmus, storeBuffering) {
  Shape shape;
  shape.first = store(".release.sys", 0, 1) + load(".acquire.sys", "%rd2", 8) +
                keep("%rd2", 32);
  shape.second = store(".release.sys", 8, 1) + load(".acquire.sys", "%rd3", 0) +
                 keep("%rd3", 40);
  EXPECT_TRUE(observe(shape).has(0, 0));
}

TEST(Litmus, coherence) {
  auto twice = [](const char *how) {
    Shape shape;
    shape.first = store(".relaxed.sys", 0, 1);
    shape.second = load(how, "%rd2", 0) + load(how, "%rd3", 0) +
                   keep("%rd2", 32) + keep("%rd3", 40);
    return observe(shape);
  };
  Seen ordered = twice(".relaxed.sys");
  EXPECT_TRUE(ordered.has(0, 1) && ordered.has(1, 1));
  EXPECT_FALSE(ordered.has(1, 0));
  EXPECT_FALSE(ordered.isRace);
  EXPECT_TRUE(twice("").has(1, 0));
}

TEST(Litmus, accessesOfDifferentSize) {
  Shape shape;
  shape.first = store(".relaxed.sys", 0, 1);
  shape.second = "\tld.relaxed.sys.global.b32 \t%r5, [%rd1];\n";
  EXPECT_TRUE(observe(shape).isRace);
}
