//===- MarkCode.cpp - Code of marks ---------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MarkCode.h"

#include "CodeBuilder.h"

#include "sccl/ABI/HelperNames.h"
#include "sccl/ABI/TraceTable.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::coll;

static constexpr unsigned markBytes = sizeof(uint64_t);

/// Builds `body` for the first thread of block 0 of the channel, if the rank
/// got a table.
static void forTeller(CodeBuilder &code, Value table, Value block,
                      llvm::function_ref<void()> body) {
  Value thread = code.threadId(code.i32);
  Value number = code.bitOr(thread, block);
  Value isFirst = code.is(Compare::Equal, number, code.c32(0));
  Value address = code.toInteger(table);
  Value isThere = code.is(Compare::NotEqual, address, code.c64(0));
  code.when(code.bitAnd(isFirst, isThere), body);
}

/// The word of a line at `offset`.
static Value fieldOf(CodeBuilder &code, Value line, size_t offset) {
  return code.at(line, int32_t(offset));
}

/// Table, offset of the line, launch, segment, block.
static void buildRecord(CodeBuilder &code) {
  code.function(
      helper::record, {code.pointer, code.i32, code.i64, code.i64, code.i32},
      [&](ValueRange arguments) {
        forTeller(code, arguments[0], arguments[4], [&] {
          Value bytes = code.zeroExtend(arguments[1], code.i64);
          Value line = code.at(arguments[0], bytes);
          auto load = [&](size_t offset) {
            return code.load(code.i64, fieldOf(code, line, offset), markBytes);
          };
          Value buffer = load(offsetof(TraceLine, buffer));
          Value launches = load(offsetof(TraceLine, launches));
          Value capacity = load(offsetof(TraceLine, capacity));
          Value stride = load(offsetof(TraceLine, stride));
          Value next = code.add(launches, code.c64(1));
          Value isOn = code.is(Compare::NotEqual, buffer, code.c64(0));
          Value isRoom = code.is(Compare::Less, launches, capacity);
          Value writes = code.bitAnd(isOn, isRoom);
          Value skipped = code.mul(launches, stride);
          Value record = code.add(buffer, skipped);
          Value place = code.select(writes, record, code.c64(0));
          code.store(place, fieldOf(code, line, offsetof(TraceLine, place)),
                     markBytes);
          Value counted = code.select(isOn, next, launches);
          code.store(counted,
                     fieldOf(code, line, offsetof(TraceLine, launches)),
                     markBytes);
          code.when(writes, [&] {
            Value to = code.toPointer(record);
            code.store(arguments[2], to, markBytes);
            code.store(arguments[3], code.at(to, int32_t(markBytes)),
                       markBytes);
          });
        });
      },
      CodeBuilder::Linkage::Hidden);
}

/// Table, offset of the line, place, block.
static void buildMark(CodeBuilder &code) {
  code.function(
      helper::mark, {code.pointer, code.i32, code.i32, code.i32},
      [&](ValueRange arguments) {
        forTeller(code, arguments[0], arguments[3], [&] {
          Value bytes = code.zeroExtend(arguments[1], code.i64);
          Value line = code.at(arguments[0], bytes);
          Value record = code.load(
              code.i64, fieldOf(code, line, offsetof(TraceLine, place)),
              markBytes);
          Value isOn = code.is(Compare::NotEqual, record, code.c64(0));
          code.when(isOn, [&] {
            Value time = code.time();
            Value skip = code.mul(arguments[2], code.c32(markBytes));
            Value offset = code.add(skip, code.c32(traceTimes));
            Value to = code.at(code.toPointer(record),
                               code.zeroExtend(offset, code.i64));
            code.store(time, to, markBytes);
          });
        });
      },
      CodeBuilder::Linkage::Hidden);
}

/// Not internal, so that the audit knows which parameter is which.
void coll::buildMarkHelpers(CodeBuilder &code) {
  buildRecord(code);
  buildMark(code);
}
