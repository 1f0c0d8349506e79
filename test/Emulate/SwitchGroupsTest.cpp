//===- SwitchGroupsTest.cpp - Plans whose ranks are behind switches -------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of peers has an entry more, for scratch at the switch of a rank's
// group.
//
//===----------------------------------------------------------------------===//

#include "Emulated.h"
#include "Judging.h"

#include <numeric>

using namespace sccl;
using namespace sccl::emulate;
using namespace sccl::test;

/// A kernel that writes to its group's scratch, and has its own as output.
static std::string kernelAtSwitch(const std::string &name, unsigned rank,
                                  unsigned ranks) {
  std::string own = std::to_string(4 * rank);
  std::string entry = std::to_string(32 * ranks + 16);
  return ".visible .entry " + name + "(\n)\n{\n\tld.param.b64 \t%rd1, [" +
         name + "_param_1];\n\tld.param.b64 \t%rd2, [" + name +
         "_param_2];\n\tld.param.b64 \t%rd3, [" + name +
         "_param_4];\n"
         "\tmov.u32 \t%r1, %tid.x;\n\tmov.u32 \t%r2, %ctaid.x;\n"
         "\tor.b32 \t%r1, %r1, %r2;\n\tsetp.ne.b32 \t%p1, %r1, 0;\n"
         "\t@%p1 bra \t$L_end" +
         own + ";\n\tld.global.b64 \t%rd4, [%rd3+" + entry +
         "];\n\tmultimem.st.weak.global.b32 \t[%rd4+" + own +
         "], 7;\n\tfence.proxy.alias;\n\tld.global.b32 \t%r3, [%rd2+" + own +
         "];\n\tst.global.b32 \t[%rd1], %r3;\n$L_end" + own + ":\n\tret;\n}\n";
}

TEST(SwitchGroups, haveAnEntryOfPeers) {
  std::optional<Subject> subject = oneShotGather();
  ASSERT_TRUE(subject);
  LoweringOptions options;
  options.throughScratch = true;
  options.virtualRanks = true;
  std::optional<Compiled> compiled = compile(*subject, options);
  ASSERT_TRUE(compiled);
  const plan::KernelInfo &kernel = compiled->plan.manifest.kernels.front();
  unsigned ranks = compiled->plan.manifest.ranks;
  std::string text;
  for (unsigned rank = 0; rank < ranks; ++rank)
    text += kernelAtSwitch(kernel.symbolOf(rank), rank, ranks);
  Result<Code> code = Code::parse(text);
  ASSERT_TRUE(code) << code.error();
  RunRequest request;
  request.segmentBytes = {4096};
  request.launches = 1;
  unsigned right = 0;
  RunData data;
  data.fill = [](unsigned, unsigned, void *) {};
  data.compare = [&](unsigned, unsigned, const void *output) {
    right += *static_cast<const uint32_t *>(output) == 7;
  };
  auto run = [&] {
    return runPlan(*code, compiled->plan, kernel, request, data);
  };
  using Groups = std::vector<std::vector<unsigned>>;
  std::vector<unsigned> all(ranks), most;
  std::iota(all.begin(), all.end(), 0);
  most.assign(all.begin() + 1, all.end());
  for (const Groups &groups : {Groups{all}, Groups{{0}, most}}) {
    request.switchGroups = groups;
    right = 0;
    Result<RunReport> report = run();
    ASSERT_TRUE(report) << report.error();
    EXPECT_TRUE(report->findings.empty()) << report->findings.front().message;
    EXPECT_EQ(right, ranks);
  }
  for (const Groups &groups : {Groups{most}, Groups{all, {0}}, Groups{all, {}},
                               Groups{all, {ranks}}}) {
    request.switchGroups = groups;
    EXPECT_FALSE(run());
  }
  request.switchGroups = {all};
  request.sharedGPUs = 1;
  EXPECT_FALSE(run());
  // Without groups, the table ends before.
  request.switchGroups.clear();
  request.sharedGPUs = 0;
  Result<RunReport> report = run();
  ASSERT_TRUE(report);
  ASSERT_FALSE(report->findings.empty());
  EXPECT_EQ(report->findings.front().kind, FindingKind::Fault);
}
