//===- GCNOpcodesTest.cpp - What GCN instructions do ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpcodeTests.h"

#include "Emulate/GCN/Opcodes.h"

#include "sccl/Emulate/Machine.h"

#include "gtest/gtest.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>

using namespace sccl;
using namespace sccl::emulate;

namespace {
struct Row {
  std::string opcode;
  gcn::Lane lane;
  unsigned operands = 0;
  std::optional<uint64_t> result;
  std::optional<bool> flag;
};

/// "v_add_co_u32 7 fffffffe c0 = 5 c1".
std::vector<Row> readRows() {
  std::vector<Row> rows;
  std::ifstream file(SCCL_GCN_OPCODE_ROWS);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream fields(line);
    Row &row = rows.emplace_back();
    fields >> row.opcode;
    bool isResult = false;
    for (std::string field; fields >> field;) {
      if (field == "=")
        isResult = true;
      else if (field == "c0" || field == "c1")
        (isResult ? row.flag.emplace() : row.lane.flag) = field == "c1";
      else if (isResult)
        row.result = std::stoull(field, nullptr, 16);
      else
        row.lane.in[row.operands++] = std::stoull(field, nullptr, 16);
    }
  }
  return rows;
}

uint64_t maskOf(gcn::Kind kind) {
  switch (kind) {
  case gcn::Kind::Int16:
  case gcn::Kind::Float16:
  case gcn::Kind::Halves:
    return 0xffff;
  case gcn::Kind::Int64:
  case gcn::Kind::Float64:
    return ~uint64_t(0);
  default:
    return 0xffffffff;
  }
}

/// Accesses, control, and operands in all their forms. What differs between
/// chips has a name in capitals.
constexpr const char *kernel = R"(
	.amdgcn_target "amdgcn-amd-amdhsa--CHIP"
	.text
	.type	twice,@function
twice:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_add_u32_e32 v0, v0, v0
	s_setpc_b64 s[30:31]
.Lfunc_end0:
	.type	all,@function
all:
	s_load_dwordx2 s[8:9], s[ARGUMENTS], 0x0
	BEGIN
	s_mov_b32 s33, 0
	v_mov_b32_e32 v40, v0
	v_lshlrev_b32_e32 v1, 2, v0
	s_getpc_b64 s[10:11]
	s_add_u32 s10, s10, twice@rel32@lo+4
	s_addc_u32 s11, s11, twice@rel32@hi+12
	s_waitcnt lgkmcnt(0)
	s_swappc_b64 s[30:31], s[10:11]
	global_store_dword v1, v0, s[8:9]
	v_mov_b32_e32 v2, 0x81234567
	v_mov_b32_e32 v3, 0x9abc80f0
	v_add_u16_sdwa v4, v2, v3 dst_sel:BYTE_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:WORD_1
	global_store_dword v1, v4, s[8:9] offset:512
	v_max_i16_sdwa v4, sext(v2), sext(v3) dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_3 src1_sel:BYTE_0
	global_store_dword v1, v4, s[8:9] offset:1024
	v_and_b32_e32 v4, 1, v40
	v_cmp_eq_u32_e32 vcc, 0, v4
	v_mov_b32_e32 v5, 7
	s_and_saveexec_b64 s[12:13], vcc
	s_cbranch_execz .LBB1_2
	v_mov_b32_e32 v5, 9
	s_xor_b64 exec, exec, s[12:13]
	v_add_u32_e32 v5, v5, v40
.LBB1_2:
	s_mov_b64 exec, s[12:13]
	global_store_dword v1, v5, s[8:9] offset:1536
	v_readlane_b32 s14, v40, 5
	v_readfirstlane_b32 s15, v40
	s_add_i32 s14, s14, s15
	v_mov_b32_e32 v6, s14
	v_writelane_b32 v6, s15, 3
	global_store_dword v1, v6, s[8:9] offset:2048
	s_getpc_b64 s[16:17]
	s_add_u32 s16, s16, numbers@rel32@lo+4
	s_addc_u32 s17, s17, numbers@rel32@hi+12
	v_mov_b32_e32 v7, 0
	global_load_sbyte v8, v7, s[16:17] offset:3
	global_load_ubyte v9, v7, s[16:17] offset:3
	global_load_ushort v10, v7, s[16:17] offset:2
	global_load_dwordx4 v[12:15], v7, s[16:17]
	s_load_dwordx4 s[20:23], s[16:17], 0x0
	s_waitcnt vmcnt(1)
	v_add3_u32 v8, v8, v9, v10
	s_waitcnt vmcnt(0) lgkmcnt(0)
	v_add_u32_e32 v8, v8, v15
	v_add_u32_e32 v8, s23, v8
	global_store_dword v1, v8, s[8:9] offset:2560
	v_mov_b32_e32 v16, 1.0
	v_mov_b32_e32 v17, 2.0
	v_mov_b32_e32 v18, 0.5
	v_mov_b32_e32 v19, 4.0
	v_pk_add_f32 v[20:21], v[16:17], v[18:19] op_sel_hi:[1,0]
	v_pk_mov_b32 v[22:23], v[20:21], v[16:17] op_sel:[1,0]
	v_fma_f32 v24, -v22, |v23|, 4.0
	global_store_dword v1, v24, s[8:9] offset:3072
	s_add_u32 s8, s8, 0xe00
	s_addc_u32 s9, s9, 0
	STORE
	v_mov_b32_e32 v25, 0
	LOAD
	s_waitcnt vmcnt(0)
	global_store_dword v1, v25, s[8:9]
	s_mov_b32 s18, 0
.LBB1_3:
	s_add_i32 s18, s18, 3
	s_cmp_lt_u32 s18, 10
	s_cbranch_scc1 .LBB1_3
	s_memrealtime s[24:25]
	s_waitcnt lgkmcnt(0)
	s_memrealtime s[26:27]
	s_waitcnt lgkmcnt(0)
	s_cmp_lg_u64 s[24:25], s[26:27]
	s_cselect_b32 s18, s18, 0
	v_mov_b32_e32 v26, s18
	v_mov_b32_e32 v28, 0xabcd1234
	global_store_short v1, v26, s[8:9] offset:512
	global_store_byte v1, v28, s[8:9] offset:514
	global_store_short_d16_hi v1, v28, s[8:9] offset:1024
	global_store_byte_d16_hi v1, v28, s[8:9] offset:1026
	s_barrier
	s_endpgm
.Lfunc_end1:
	.section	.rodata,"a",@progbits
	.amdhsa_kernel all
		.amdhsa_private_segment_fixed_size 8
		.amdhsa_user_sgpr_count COUNT
		.amdhsa_user_sgpr_private_segment_buffer HASBUFFER
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_private_segment_wavefront_offset HASBUFFER
		.amdhsa_system_sgpr_workgroup_id_x 1
	.end_amdhsa_kernel
	.type	numbers,@object
	.data
numbers:
	.long	0xf1020304
	.long	2, 3, 5
	.size	numbers, 16
	.end_amdgpu_metadata
)";

std::string textFor(const std::string &chip) {
  bool isNew = chip == "gfx942";
  const std::pair<const char *, const char *> names[] = {
      {"CHIP", chip.c_str()},
      {"ARGUMENTS", isNew ? "0:1" : "4:5"},
      {"BEGIN",
       isNew ? "s_nop 0" : "s_add_u32 s0, s0, s7\n\ts_addc_u32 s1, s1, 0"},
      {"STORE", isNew ? "scratch_store_dword off, v40, s33 offset:4"
                      : "buffer_store_dword v40, off, s[0:3], s33 offset:4"},
      {"LOAD", isNew ? "scratch_load_dword v25, off, s33 offset:4"
                     : "buffer_load_dword v25, off, s[0:3], s33 offset:4"},
      {"COUNT", isNew ? "2" : "6"},
      {"HASBUFFER", isNew ? "0" : "1"}};
  std::string text = kernel;
  for (const auto &[name, value] : names)
    text = std::regex_replace(text, std::regex(name), value);
  return text;
}

/// Runs `text` on one block of 128 threads, with `bytes` of memory.
std::pair<std::vector<uint32_t>, Findings> run(const std::string &text) {
  Result<Code> code = Code::parse(text);
  std::vector<uint32_t> words(10 * 128);
  if (!code) {
    ADD_FAILURE() << code.error();
    return {words, {}};
  }
  Machine machine(*code, 1, 1, 128, {});
  uint64_t memory = machine.allocate(4 * words.size(), "memory");
  machine.launch(0, "all", 1, {memory});
  machine.read(0, memory, 4 * words.size(), [&](const std::string &bytes) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
  });
  machine.run();
  return {words, machine.findings()};
}

std::string errorOf(const std::string &instruction) {
  std::string text = textFor("gfx942");
  size_t at = text.find("\ts_barrier");
  Result<Code> code = Code::parse(text.insert(at, "\t" + instruction + "\n"));
  return code ? "" : code.error();
}

/// The text with one instruction changed.
Findings findingsOf(const char *chip, const char *from, const char *to) {
  std::string text = textFor(chip);
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return run(text.replace(at, std::strlen(from), to)).second;
}
} // namespace

const std::set<std::string> &test::testedGCNOpcodes() {
  static const std::set<std::string> names = [] {
    std::set<std::string> tested;
    for (const Row &row : readRows())
      tested.insert(row.opcode);
    tested.insert("v_pk_mov_b32"); // in the text
    return tested;
  }();
  return names;
}

TEST(GCNOpcodes, compute) {
  std::vector<Row> rows = readRows();
  EXPECT_GT(rows.size(), 1000u);
  for (Row &row : rows) {
    SCOPED_TRACE(row.opcode);
    const gcn::Opcode *opcode = gcn::findOpcode(row.opcode);
    ASSERT_TRUE(opcode);
    std::ostringstream operands;
    for (uint64_t operand : row.lane.in)
      operands << std::hex << operand << ' ';
    opcode->evaluate(row.lane);
    EXPECT_EQ(row.lane.refusal, nullptr) << operands.str();
    if (row.result) {
      uint64_t mask = maskOf(opcode->results.front());
      EXPECT_EQ(row.lane.out & mask, *row.result) << operands.str();
    }
    if (row.flag) {
      EXPECT_EQ(row.lane.flag, *row.flag) << operands.str();
    }
  }
}

TEST(GCNOpcodes, memoryAndControl) {
  for (const char *chip : {"gfx942", "gfx90a"}) {
    SCOPED_TRACE(chip);
    auto [words, findings] = run(textFor(chip));
    ASSERT_TRUE(findings.empty()) << findings.front().message;
    for (uint32_t thread = 0; thread < 128; ++thread) {
      uint32_t first = thread / 64 * 64, lane = thread % 64;
      const uint32_t expected[] = {2 * thread,
                                   0x3d00,
                                   0xfff00000,
                                   thread % 2 == 0 ? 9 : 7 + thread,
                                   lane == 3 ? first : 2 * first + 5,
                                   61934,
                                   std::bit_cast<uint32_t>(1.5f),
                                   thread,
                                   0x34000c,
                                   0xcdabcd};
      for (unsigned i = 0; i < std::size(expected); ++i)
        EXPECT_EQ(words[i * 128 + thread], expected[i])
            << "word " << i << " of thread " << thread;
    }
  }
}

TEST(GCNOpcodes, findsRegistersThatNobodyHasWaitedFor) {
  for (const char *chip : {"gfx942", "gfx90a"})
    for (auto [from, to] :
         {std::pair("vmcnt(1)", "vmcnt(2)"),
          std::pair("vmcnt(0) lgkmcnt(0)", "lgkmcnt(0)"),
          std::pair("vmcnt(0) lgkmcnt(0)", "vmcnt(0)"),
          std::pair("s[26:27]\n\ts_waitcnt", "s[26:27]\n\ts_nop 0 ;"),
          std::pair("\ts_waitcnt vmcnt(1)", "\tv_mov_b32_e32 v14, 0")}) {
      Findings findings = findingsOf(chip, from, to);
      ASSERT_FALSE(findings.empty()) << chip << ": " << to;
      EXPECT_EQ(findings.front().kind, FindingKind::Unawaited) << to;
    }
}

TEST(GCNOpcodes, findsOtherMistakes) {
  auto kindOf = [](const char *from, const char *to) {
    Findings findings = findingsOf("gfx942", from, to);
    return findings.empty() ? "none" : toString(findings.front().kind);
  };
  // All lanes store to one word.
  EXPECT_EQ(kindOf("v_lshlrev_b32_e32 v1, 2, v0", "v_mov_b32_e32 v1, 0"),
            std::string("race"));
  EXPECT_EQ(kindOf("offset:4", "offset:8"), std::string("fault"));
  EXPECT_EQ(kindOf("s_load_dwordx4 s[20:23], s[16:17]",
                   "s_load_dwordx4 s[20:23], s[8:9]"),
            std::string("fault"));
  EXPECT_EQ(kindOf("s_addc_u32 s11, s11", "s_add_u32 s11, 5"),
            std::string("fault"));
}

TEST(GCNOpcodes, refusesWhatItDoesNotKnow) {
  EXPECT_EQ(errorOf("v_add_u32_e32 v1, v2, v3"), "");
  for (const char *unknown :
       {"global_atomic_add v1, v2, s[8:9]", "flat_load_dword v1, v[2:3]",
        "ds_write_b32 v1, v2", "global_load_dword v1, v[2:3], off nt",
        "global_load_dword v1, v[2:3], off glc", "buffer_invl2",
        "v_add_u32_e32 v1, v2", "v_add_u32_e32 v1, v[2:3], v4",
        "v_add_f32_e64 v1, v2, v3 clamp", "v_add_u32_e32 v1, -v2, v3",
        "v_mov_b32_dpp v1, v2 row_shr:1", "s_memtime s[0:1]", "s_memrealtime",
        "s_sleep 1", "s_waitcnt lgkmcnt(1)",
        "v_lshl_add_u64 v[0:1], v[2:3], 0, 0x80000000", "s_branch .Lnowhere",
        "s_add_u32 s0, s0, nobody@rel32@lo+4"})
    EXPECT_NE(errorOf(unknown), "") << unknown;
  std::string text = textFor("gfx942");
  for (auto [from, to] :
       {std::pair("gfx942", "gfx1100"),
        std::pair("user_sgpr_count 2", "user_sgpr_count 4"),
        std::pair(".amdhsa_private_segment_fixed_size 8", ".amdhsa_tg_split 1"),
        std::pair("\t.long\t0xf1020304", "\t.string\t\"x\"")})
    EXPECT_FALSE(Code::parse(std::regex_replace(text, std::regex(from), to)))
        << to;
}
