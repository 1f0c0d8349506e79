//===- MultimemTest.cpp - Accesses through a switch -----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a switch computes; that what it does and what is done to the same memory
// by plain addresses is ordered by fences of aliases only, wherever they lie on
// the way from one to the other; and what is refused.
//
//===----------------------------------------------------------------------===//

#include "sccl/Emulate/Machine.h"

#include "gtest/gtest.h"

#include <bit>
#include <cstring>
#include <set>

using namespace sccl;
using namespace sccl::emulate;

namespace {
constexpr unsigned gpus = 3;
constexpr uint64_t bytesOfGPU = 64;

/// GPU i runs kernel k<i>: %rd1 is its own memory, %rd2 the switch, %rd3 words
/// that all share, of which the last two are results; %r1 is the thread.
std::string kernelOf(unsigned gpu, const std::string &body) {
  std::string name = "k" + std::to_string(gpu), text;
  text = ".visible .entry " + name + "(\n)\n{\n";
  for (unsigned i = 0; i < 3; ++i)
    text += "\tld.param.b64 \t%rd" + std::to_string(i + 1) + ", [" + name +
            "_param_" + std::to_string(i) + "];\n";
  return text + "\tmov.u32 \t%r1, %tid.x;\n" + body + "$L_end" +
         std::to_string(gpu) + ":\n\tret;\n}\n";
}

struct RunOutcome {
  Findings findings;
  std::vector<std::string> memories; ///< of the GPUs
  std::vector<uint64_t> words;       ///< those that all share
};

/// `initial` is what the memories hold at first, as the hosts have written it
/// before a fence of aliases of each GPU.
RunOutcome runOnce(const std::vector<std::string> &bodies, uint64_t seed,
                   const std::vector<std::string> &initial = {},
                   unsigned threads = 1) {
  std::string text;
  for (unsigned gpu = 0; gpu < bodies.size(); ++gpu)
    text += kernelOf(gpu, bodies[gpu]);
  Result<Code> code = Code::parse(text);
  EXPECT_TRUE(code) << code.error();
  Settings settings;
  settings.seed = seed;
  settings.instructions = 1 << 20;
  Machine machine(*code, gpus, 1, threads, settings);
  std::vector<std::pair<uint64_t, uint64_t>> members;
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    members.emplace_back(machine.allocate(bytesOfGPU, "memory"), bytesOfGPU);
    if (gpu < initial.size())
      machine.write(gpu, members[gpu].first, initial[gpu]);
  }
  // The last one has less at the switch.
  members.back().second -= 16;
  uint64_t atSwitch = machine.allocateMulticast(members, "the switch");
  uint64_t words = machine.allocate(64, "words");
  machine.meet();
  for (unsigned gpu = 0; gpu < bodies.size(); ++gpu)
    machine.launch(gpu, "k" + std::to_string(gpu), 1,
                   {members[gpu].first, atSwitch, words});
  machine.meet();
  RunOutcome run;
  run.memories.resize(gpus);
  for (unsigned gpu = 0; gpu < gpus; ++gpu)
    machine.read(
        gpu, members[gpu].first, bytesOfGPU,
        [&run, gpu](const std::string &bytes) { run.memories[gpu] = bytes; });
  machine.read(0, words, 64, [&run](const std::string &bytes) {
    run.words.resize(8);
    std::memcpy(run.words.data(), bytes.data(), 64);
  });
  machine.run();
  run.findings = machine.findings();
  return run;
}

const std::string aliasFence = "\tfence.proxy.alias;\n";
std::string signal(unsigned flag) {
  return "\tst.release.sys.global.b64 \t[%rd3+" + std::to_string(8 * flag) +
         "], 1;\n";
}
std::string await(unsigned flag) {
  std::string label = "$L_poll" + std::to_string(flag);
  return label + ":\n\tld.acquire.sys.global.b64 \t%rd9, [%rd3+" +
         std::to_string(8 * flag) +
         "];\n\tsetp.eq.b64 \t%p1, %rd9, 0;\n\t@%p1 bra \t" + label + ";\n";
}
const std::string plainStore = "\tst.global.b32 \t[%rd1], 1;\n";
const std::string plainLoad = "\tld.global.b32 \t%r8, [%rd1];\n";
const std::string multicast = "\tmultimem.st.weak.global.b32 \t[%rd2], 1;\n";
const std::string reduce =
    "\tmultimem.ld_reduce.weak.global.add.u32 \t%r8, [%rd2];\n";
const std::string keep = "\tst.global.b32 \t[%rd3+48], %r8;\n";

struct Seen {
  bool isRace = false;
  std::set<uint32_t> results;
};

/// What is kept, for many seeds. The hosts see no memory of GPUs.
Seen observe(const std::vector<std::string> &bodies, unsigned threads = 1) {
  Seen seen;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RunOutcome run = runOnce(bodies, seed, {}, threads);
    for (const Finding &finding : run.findings) {
      EXPECT_EQ(finding.kind, FindingKind::Race) << finding.message;
      // The hosts read at last, without a fence of aliases.
      seen.isRace |= finding.message.find("host") == std::string::npos;
    }
    seen.results.insert(uint32_t(run.words[6]));
  }
  return seen;
}
} // namespace

/// The first does something, and signals; the second waits, and does something
/// else. One fence on either side is needed, and enough.
static void expectOneFence(const std::string &first,
                           const std::string &second) {
  for (unsigned where = 0; where < 3; ++where) {
    SCOPED_TRACE(where);
    Seen seen = observe({first + (where == 1 ? aliasFence : "") + signal(0),
                         await(0) + (where == 2 ? aliasFence : "") + second});
    EXPECT_EQ(seen.isRace, where == 0);
  }
  // Before the one or after the other it orders nothing.
  EXPECT_TRUE(
      observe({aliasFence + first + signal(0), await(0) + second + aliasFence})
          .isRace);
}

TEST(Multimem, fencesBetweenProxies) {
  // Both of the second GPU's memory, which the first has at the switch.
  expectOneFence(plainStore, reduce + keep);
  expectOneFence(multicast, plainLoad + keep);
  expectOneFence(plainLoad, multicast);
  expectOneFence(reduce, plainStore);
  expectOneFence(plainStore, multicast);
  expectOneFence(multicast, plainStore);
}

TEST(Multimem, staleWithoutFence) {
  EXPECT_EQ(observe({plainStore + signal(0), await(0) + reduce + keep}).results,
            std::set<uint32_t>({0, 1}));
  EXPECT_EQ(
      observe({plainStore + signal(0), await(0) + aliasFence + reduce + keep})
          .results,
      std::set<uint32_t>({1}));
  EXPECT_EQ(
      observe({multicast + signal(0), await(0) + plainLoad + keep}).results,
      std::set<uint32_t>({0, 1}));
}

TEST(Multimem, oneProxyNeedsNoFence) {
  Seen seen = observe({multicast + signal(0), await(0) + reduce + keep});
  EXPECT_FALSE(seen.isRace);
  EXPECT_EQ(seen.results, std::set<uint32_t>({gpus}));
}

/// Of one thread too, program order does not do.
TEST(Multimem, ofOneThread) {
  EXPECT_TRUE(observe({plainStore + reduce}).isRace);
  EXPECT_FALSE(observe({plainStore + aliasFence + reduce}).isRace);
  EXPECT_TRUE(observe({reduce + plainStore}).isRace);
  EXPECT_TRUE(observe({multicast + plainLoad}).isRace);
}

/// A fence in a thread between the two.
TEST(Multimem, fenceOfAnotherThread) {
  auto through = [](const std::string &middle) {
    return observe({plainStore + signal(0), await(0) + middle + signal(1),
                    await(1) + reduce + keep});
  };
  EXPECT_FALSE(through(aliasFence).isRace);
  EXPECT_EQ(through(aliasFence).results, std::set<uint32_t>({1}));
  EXPECT_TRUE(through("").isRace);
  // One that the path does not pass.
  EXPECT_TRUE(observe({plainStore + signal(0), await(0) + reduce + keep,
                       await(0) + aliasFence})
                  .isRace);
}

/// Thread 0 has the flag, and thread 1 the memory.
TEST(Multimem, fencesAndBarriers) {
  auto in = [](const std::string &fence) {
    std::string isOne = "\tsetp.ne.b32 \t%p2, %r1, 0;\n";
    return observe({isOne + "\t@%p2 bra \t$L_end0;\n" + plainStore + signal(0),
                    isOne + "\t@%p2 bra \t$L_one;\n" + await(0) + fence +
                        "\tbar.sync \t0;\n\tbra.uni \t$L_end1;\n"
                        "$L_one:\n\tbar.sync \t0;\n" +
                        reduce + keep},
                   2);
  };
  EXPECT_TRUE(in("").isRace);
  EXPECT_FALSE(in(aliasFence).isRace);
  EXPECT_EQ(in(aliasFence).results, std::set<uint32_t>({1}));
}

TEST(Multimem, orderedAccesses) {
  // A switch sets flags, which others poll at the switch.
  std::string publish = plainStore + aliasFence +
                        "\tmultimem.st.release.sys.global.b64 \t[%rd2+8], 1;\n";
  std::string poll = "$L_poll:\n\tmultimem.ld_reduce.acquire.sys.global.and."
                     "b64 \t%rd9, [%rd2+8];\n\tsetp.eq.b64 \t%p1, %rd9, "
                     "0;\n\t@%p1 bra \t$L_poll;\n";
  Seen seen = observe({publish, poll + reduce + keep});
  EXPECT_FALSE(seen.isRace);
  EXPECT_EQ(seen.results, std::set<uint32_t>({1}));
  // Two that add at once; who has seen both has what each has released.
  std::string add =
      "\tmultimem.red.release.sys.global.add.u64 \t[%rd2+8], 1;\n";
  std::string both = "$L_poll:\n\tmultimem.ld_reduce.acquire.sys.global.min."
                     "u64 \t%rd9, [%rd2+8];\n\tsetp.lt.u64 \t%p1, %rd9, "
                     "2;\n\t@%p1 bra \t$L_poll;\n";
  seen = observe({plainStore + aliasFence + add, plainStore + aliasFence + add,
                  both + reduce + keep});
  EXPECT_FALSE(seen.isRace);
  EXPECT_EQ(seen.results, std::set<uint32_t>({2}));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
template <typename T> std::string bytesOf(const std::vector<T> &values) {
  std::string bytes(values.size() * sizeof(T), 0);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// What GPU 0 gets of what the three have.
template <typename T>
T reduced(const std::string &opcode, const char *reg, std::vector<T> values,
          uint64_t seed = 0) {
  std::vector<std::string> initial;
  for (T value : values)
    initial.push_back(bytesOf<T>({value}));
  std::string type = "b" + std::to_string(8 * sizeof(T));
  RunOutcome run = runOnce({aliasFence + "\tmultimem.ld_reduce.weak.global." +
                            opcode + " \t" + reg + ", [%rd2];\n\tst.global." +
                            type + " \t[%rd3+48], " + reg + ";\n"},
                           seed, initial);
  EXPECT_TRUE(run.findings.empty()) << run.findings.front().message;
  T result;
  std::memcpy(&result, &run.words[6], sizeof(T));
  return result;
}
uint32_t of32(const char *opcode, std::vector<uint32_t> values) {
  return reduced<uint32_t>(opcode, "%r8", std::move(values));
}
uint64_t of64(const char *opcode, std::vector<uint64_t> values) {
  return reduced<uint64_t>(opcode, "%rd8", std::move(values));
}
} // namespace

TEST(Multimem, integers) {
  constexpr uint32_t top = uint32_t(1) << 31;
  EXPECT_EQ(of32("add.u32", {top, top, 5}), 5u);
  EXPECT_EQ(of32("add.s32", {top, top, 6}), 6u);
  EXPECT_EQ(of32("min.u32", {top, 7, 9}), 7u);
  EXPECT_EQ(of32("min.s32", {top, 7, 9}), top);
  EXPECT_EQ(of32("max.u32", {top, 7, 9}), top);
  EXPECT_EQ(of32("max.s32", {top, 7, 9}), 9u);
  EXPECT_EQ(of32("and.b32", {7, 14, 6}), 6u);
  EXPECT_EQ(of32("or.b32", {1, 2, 8}), 11u);
  EXPECT_EQ(of32("xor.b32", {1, 3, 8}), 10u);
  constexpr uint64_t high = uint64_t(1) << 63;
  EXPECT_EQ(of64("add.u64", {high, high, 5}), 5u);
  EXPECT_EQ(of64("min.s64", {high, 7, 9}), high);
  EXPECT_EQ(of64("max.s64", {high, 7, 9}), 9u);
  EXPECT_EQ(of64("min.u64", {high, 7, 9}), 7u);
  EXPECT_EQ(of64("max.u64", {high, 7, 9}), high);
  EXPECT_EQ(of64("xor.b64", {high, 7, high}), 7u);
}

TEST(Multimem, floats) {
  EXPECT_EQ(reduced<float>("add.f32", "%r8", {1, 2, 4.5}), 7.5f);
  EXPECT_EQ(reduced<double>("add.f64", "%rd8", {1, 2, 4.5}), 7.5);
  // 1, 2 and 4, and 0.5, 1 and -2, in the low and the high halves.
  EXPECT_EQ(of32("add.f16x2", {0x38003c00, 0x3c004000, 0xc0004400}),
            0xb8004700);
  EXPECT_EQ(of32("add.acc::f32.bf16x2", {0x3f003f80, 0x3f804000, 0xc0004080}),
            0xbf0040e0);
  EXPECT_EQ(of32("min.f16x2", {0x38003c00, 0x3c004000, 0xc0004400}),
            0xc0003c00);
  EXPECT_EQ(of32("max.bf16x2", {0x3f003f80, 0x3f804000, 0xc0004080}),
            0x3f804080);
}

/// What is not associative has several sums, and one for each seed.
TEST(Multimem, orderAndPrecisionAreOpen) {
  std::set<float> sums;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    auto sum = [&] {
      return reduced<float>("add.f32", "%r8", {3e8f, 1, -3e8f}, seed);
    };
    float first = sum();
    EXPECT_EQ(first, sum());
    sums.insert(first);
  }
  EXPECT_EQ(sums, std::set<float>({0, 1}));
  // 2048 + 1 + 1 in halves, or in floats in between.
  std::set<uint32_t> halves, wide;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    std::vector<uint32_t> values = {0x6800, 0x3c00, 0x3c00};
    halves.insert(reduced<uint32_t>("add.f16x2", "%r8", values, seed));
    wide.insert(reduced<uint32_t>("add.acc::f32.f16x2", "%r8", values, seed));
  }
  EXPECT_EQ(halves, std::set<uint32_t>({0x6800, 0x6801}));
  EXPECT_EQ(wide, std::set<uint32_t>({0x6801}));
}

TEST(Multimem, vectors) {
  std::vector<std::string> initial;
  for (float gpu : {1.f, 2.f, 4.f})
    initial.push_back(bytesOf<float>({gpu, 10 * gpu, 100 * gpu, 1000 * gpu}));
  RunOutcome run = runOnce(
      {aliasFence +
       "\tmultimem.ld_reduce.relaxed.sys.global.add.v4.f32 \t{%r4, %r5, %r6, "
       "%r7}, [%rd2];\n"
       "\tmultimem.st.weak.global.v4.f32 \t[%rd2+16], {%r7, %r6, %r5, %r4};\n"
       "\tmultimem.ld_reduce.weak.global.add.acc::f32.v8.bf16 \t{%h1, %h2, "
       "%h3, %h4, %h5, %h6, %h7, %h8}, [%rd2+32];\n"
       "\tmultimem.st.weak.v4.bf16x2 \t[%rd2+32], {%r4, %r4, %r5, %r5};\n"
       "\tmultimem.red.relaxed.sys.global.add.v2.f32 \t[%rd2+16], {%r4, "
       "%r4};\n" +
       aliasFence},
      3, initial);
  std::string expected = initial[2] + bytesOf<float>({7007, 707, 70, 7}) +
                         bytesOf<float>({7, 7, 70, 70});
  for (unsigned gpu = 0; gpu < gpus; ++gpu) {
    EXPECT_EQ(run.memories[gpu].substr(0, 16), initial[gpu]);
    EXPECT_EQ(run.memories[gpu].substr(16, 32), expected.substr(16));
  }
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

static std::string faultOf(const std::string &instruction) {
  for (const Finding &finding :
       runOnce({"\t" + instruction + ";\n"}, 0).findings)
    if (finding.kind == FindingKind::Fault)
      return finding.message;
  return "";
}

TEST(Multimem, faults) {
  EXPECT_EQ(faultOf("ld.global.b32 \t%r8, [%rd2+4]"),
            "line 8: the switch+4 is at a switch, for multimem only");
  EXPECT_EQ(faultOf("st.global.b32 \t[%rd2], 1"),
            "line 8: the switch+0 is at a switch, for multimem only");
  EXPECT_EQ(faultOf("multimem.st.weak.global.b32 \t[%rd1+8], 1"),
            "line 8: memory+8 is at no switch, and an access is through one");
  EXPECT_EQ(faultOf("multimem.st.weak.global.v4.f32 \t[%rd2+8], {1, 2, 3, 4}"),
            "line 8: the address is not aligned");
  EXPECT_EQ(faultOf("multimem.ld_reduce.weak.global.add.u64 \t%rd8, [%rd2+4]"),
            "line 8: the address is not aligned");
  EXPECT_EQ(faultOf("multimem.st.weak.global.b32 \t[%rd2+48], 1"),
            "line 8: the switch+48 is beyond memory+48, where what is bound "
            "there ends");
  EXPECT_EQ(faultOf("multimem.red.relaxed.sys.global.add.u32 \t[%rd2+64], 1"),
            "line 8: 4 bytes at the switch+64 are nobody's");
}

TEST(Multimem, refusesWhatPtxasRefuses) {
  auto isKnown = [](const std::string &instruction) {
    return bool(Code::parse(kernelOf(0, "\t" + instruction + ";\n")));
  };
  EXPECT_TRUE(isKnown("multimem.ld_reduce.global.add.f32 \t%r8, [%rd2]"));
  EXPECT_TRUE(isKnown("multimem.st.b64 \t[%rd2], %rd8"));
  for (const char *load :
       {"add.s64", "min.f32", "max.f64", "add.b32", "and.u32", "add.f16",
        "add.acc::f32.f32", "min.acc::f32.f16x2", "add.e4m3x4", "mul.f32"})
    EXPECT_FALSE(isKnown("multimem.ld_reduce.weak.global." + std::string(load) +
                         " \t%r8, [%rd2]"))
        << load;
  for (const char *unknown :
       {"multimem.ld_reduce.weak.global.f32 \t%r8, [%rd2]",
        "multimem.ld_reduce.release.sys.global.add.f32 \t%r8, [%rd2]",
        "multimem.ld_reduce.acquire.global.add.f32 \t%r8, [%rd2]",
        "multimem.ld_reduce.weak.global.add.v2.f64 \t{%rd8, %rd9}, [%rd2]",
        "multimem.ld_reduce.weak.global.add.v2.u32 \t{%r8, %r9}, [%rd2]",
        "multimem.ld_reduce.weak.global.add.v4.f32 \t{%r8, %r9}, [%rd2]",
        "multimem.st.acquire.sys.global.b32 \t[%rd2], %r8",
        "multimem.st.weak.global.add.b32 \t[%rd2], %r8",
        "multimem.red.global.add.u32 \t[%rd2], %r8",
        "multimem.cp.global.b32 \t[%rd2], %r8", "fence.proxy.async"})
    EXPECT_FALSE(isKnown(unknown)) << unknown;
}
