//===- OpcodesTest.cpp - What instructions compute ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OpcodeTests.h"

#include "Emulate/PTX/Opcodes.h"

#include "sccl/Emulate/Machine.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace sccl;
using namespace sccl::emulate;

namespace {
struct Row {
  std::string opcode;
  std::vector<uint64_t> operands;
  uint64_t result = 0;
};

std::vector<Row> readRows() {
  std::vector<Row> rows;
  std::ifstream file(SCCL_OPCODE_ROWS);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream fields(line);
    Row row;
    fields >> row.opcode >> std::hex;
    for (uint64_t number; fields >> number;)
      row.operands.push_back(number);
    fields.clear();
    std::string equals;
    fields >> equals >> row.result;
    rows.push_back(row);
  }
  return rows;
}

/// The width of the type that a result has: that of `setp` is a predicate.
unsigned resultBits(const std::string &opcode) {
  if (opcode.starts_with("setp.") || opcode.ends_with(".pred"))
    return 1;
  if (opcode.starts_with("mul.wide.") || opcode.ends_with(".f32x2"))
    return 64;
  if (opcode.starts_with("add.rn.f32."))
    return 32; // of a smaller number and a float
  std::string type = opcode.substr(opcode.rfind('.') + 1);
  if (opcode.starts_with("cvt.rn.")) {
    std::string rest = opcode.substr(7);
    type = rest.substr(0, rest.find('.'));
  } else if (opcode.starts_with("cvt.")) {
    // Extended to the register, whatever it is.
    return opcode.starts_with("cvt.f32") ? 32 : 64;
  }
  if (type.ends_with("x2"))
    return 32;
  return std::stoi(type.substr(type.find_first_of("1346")));
}

/// Memory and control: each kind of access, calls with and without a result,
/// branches, and an exit in place of a return.
constexpr const char *memoryAndControl = R"(
.version 7.8
.target sm_90
.address_size 64
.global .align 16 .b32 numbers[4] = {1, 2, 3, 4294967295};
.func  (.param .b64 func_retval0) twice(
	.param .b64 twice_param_0
)
{
	ld.param.b64 	%rd1, [twice_param_0];
	add.s64 	%rd2, %rd1, %rd1;
	st.param.b64 	[func_retval0], %rd2;
	ret;
}
.visible .entry all(
	.param .u64 all_param_0
)
{
	ld.param.b64 	%rd1, [all_param_0];
	mov.u32 	%r1, %tid.x;
	setp.ne.b32 	%p1, %r1, 0;
	@%p1 bra 	$L__wait;
	ld.param.b32 	%rd9, [all_param_0];
	st.global.b64 	[%rd1], %rd9;
	mov.b64 	%rd2, numbers;
	ld.global.v4.b32 	{%r2, %r3, %r4, %r5}, [%rd2];
	st.global.v4.b32 	[%rd1+16], {%r5, %r4, %r3, %r2};
	ld.global.v2.b32 	{%r2, %r3}, [%rd2+8];
	st.global.b32 	[%rd1+32], %r2;
	ld.global.b32 	%r6, [%rd1+16];
	st.global.b16 	[%rd1+36], %r6;
	st.global.b8 	[%rd1+39], %r2;
	ld.global.s8 	%rs1, [%rd2+12];
	ld.global.b8 	%rs2, [%rd2+12];
	ld.global.b16 	%rs3, [%rd2+14];
	cvt.u32.u16 	%r7, %rs1;
	st.global.b32 	[%rd1+40], %r7;
	st.global.b32 	[%rd1+44], %rs2;
	ld.global.v2.b64 	{%rd3, %rd4}, [%rd2];
	st.global.v2.b64 	[%rd1+48], {%rd4, %rd3};
	st.param.b64 	[param0], 21;
	call.uni (retval0), twice, (param0);
	ld.param.b64 	%rd5, [retval0];
	st.param.b32 	[param0], 4294967297;
	call.uni (retval0), twice, (param0);
	ld.param.b64 	%rd6, [retval0];
	st.release.sys.global.b64 	[%rd1+64], %rd5;
	st.relaxed.sys.global.b64 	[%rd1+72], %rd6;
	ld.acquire.sys.global.b64 	%rd7, [%rd1+64];
	ld.relaxed.sys.global.b64 	%rd8, [%rd1+72];
	st.global.b64 	[%rd1+80], %rd7;
	st.global.b64 	[%rd1+88], %rd8;
	st.global.b32 	[%rd1+96], %rs3;
	{ .reg .b32 tmp; mov.b64 {tmp, %r9}, %rd3; }
	mov.b64 	{_, %r8}, %rd3;
	mov.b64 	%rd10, {%r8, %r9};
	st.global.b64 	[%rd1+104], %rd10;
	bar.sync 	0;
	bra.uni 	$L__end;
$L__wait:
	bar.sync 	0;
	setp.eq.b32 	%p1, %r1, 5;
	@!%p1 bra 	$L__end;
	ld.global.b64 	%rd11, [%rd1+104];
	st.global.b64 	[%rd1+112], %rd11;
	mov.u64 	%rd12, %globaltimer;
	mov.u64 	%rd13, %globaltimer;
	sub.s64 	%rd12, %rd13, %rd12;
	min.u64 	%rd12, %rd12, 1;
	st.global.b64 	[%rd1+120], %rd12;
	exit;
$L__end:
	ret;
}
.visible .entry pairs(
	.param .u64 pairs_param_0
)
{
	ld.param.b64 	%rd1, [pairs_param_0];
	mov.b64 	%rd2, numbers;
	ld.global.v2.b64 	{%rd3, %rd4}, [%rd2];
	st.relaxed.sys.global.v2.b64 	[%rd1], {%rd3, %rd4};
	ld.relaxed.sys.global.v2.b64 	{%rd5, %rd6}, [%rd1];
	st.global.b64 	[%rd1+16], %rd6;
	mov.b64 	{%r1, %r2}, %rd5;
	st.global.v2.b32 	[%rd1+24], {%r2, %r1};
	ret;
}
)";
} // namespace

const std::set<std::string> &test::testedOpcodes() {
  static const std::set<std::string> names = [] {
    std::set<std::string> tested;
    for (const Row &row : readRows())
      tested.insert(row.opcode);
    Result<Code> code = Code::parse(memoryAndControl);
    for (const std::string &opcode : code->opcodes())
      tested.insert(opcode);
    return tested;
  }();
  return names;
}

TEST(Opcodes, compute) {
  std::vector<Row> rows = readRows();
  EXPECT_GT(rows.size(), 300u);
  for (const Row &row : rows) {
    const Opcode *opcode = findOpcode(row.opcode);
    ASSERT_TRUE(opcode) << row.opcode;
    ASSERT_EQ(opcode->operands, row.operands.size()) << row.opcode;
    uint64_t mask = ~uint64_t(0) >> (64 - resultBits(row.opcode));
    EXPECT_EQ(opcode->evaluate(row.operands.data()) & mask, row.result & mask)
        << row.opcode;
  }
}

/// The first words of memory, and its address, after `kernel` has run.
static std::pair<std::vector<uint64_t>, uint64_t>
wordsAfter(const char *kernel, unsigned threads, size_t count) {
  Result<Code> code = Code::parse(memoryAndControl);
  EXPECT_TRUE(code) << code.error();
  Machine machine(*code, 1, 1, threads, {});
  size_t size = count * sizeof(uint64_t);
  uint64_t memory = machine.allocate(size, "memory");
  machine.launch(0, kernel, 1, {memory});
  std::vector<uint64_t> words(count);
  machine.read(0, memory, size, [&](const std::string &bytes) {
    std::memcpy(words.data(), bytes.data(), size);
  });
  machine.run();
  for (const Finding &finding : machine.findings())
    ADD_FAILURE() << finding.message;
  return {words, memory};
}

TEST(Opcodes, memoryAndControl) {
  auto [words, memory] = wordsAfter("all", 64, 16);
  std::vector<uint64_t> expected = {uint32_t(memory),
                                    0,
                                    0x3ffffffff,
                                    0x100000002,
                                    0x0300ffff00000003,
                                    0xff0000ffff,
                                    0xffffffff00000003,
                                    0x200000001,
                                    42,
                                    2,
                                    42,
                                    2,
                                    0xffff,
                                    0x200000002,
                                    0x200000002,
                                    1};
  EXPECT_EQ(words, expected);
}

TEST(Opcodes, pairsOfWords) {
  std::vector<uint64_t> expected = {0x200000001, 0xffffffff00000003,
                                    0xffffffff00000003, 0x100000002};
  EXPECT_EQ(wordsAfter("pairs", 1, 4).first, expected);
}

TEST(Opcodes, refusesWhatItDoesNotKnow) {
  auto errorOf = [](const std::string &instruction) {
    Result<Code> code = Code::parse(".visible .entry k(\n)\n{\n\t" +
                                    instruction + "\n\tret;\n}\n");
    return code ? "" : code.error();
  };
  EXPECT_EQ(errorOf("add.s32 	%r1, %r2, 1;"), "");
  for (const char *unknown :
       {"atom.global.add.u64 	%rd1, [%rd2], 1;",
        "ld.volatile.global.b32 	%r1, [%rd2];",
        "ld.global.nc.b32 	%r1, [%rd2];",
        "ld.release.sys.global.b64 	%rd1, [%rd2];",
        "ld.acquire.global.b64 	%rd1, [%rd2];", "st.shared.b32 	[%rd2], %r1;",
        "bar.sync 	1;", "add.s32 	%r1, %r2;",
        "mov.b64 	%rd1, nobody;", "mov.u64 	%rd1, %clock64;",
        "call.uni nobody, (param0);", "vote.sync.any 	%p1, %p2, -1;"})
    EXPECT_NE(errorOf(unknown), "") << unknown;
}
