//===- TraceTables.cpp - What traced code tells, as data ------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TraceTables.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/ABI/TraceTable.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace sccl;
using namespace sccl::collk;

TraceMark collk::traceMarkOf(MarkOp op, uint32_t chunks) {
  static_assert(unsigned(MarkKind::End) == TraceMark::End);
  TraceMark mark = {};
  mark.kind = uint32_t(op.getKind());
  mark.channel = op.getChannel();
  mark.peer = op.getPeer().value_or(TraceMark::noPeer);
  mark.isPull = op.getPull();
  mark.position = op.getPosition().value_or(0);
  mark.count = op.getCount().value_or(0);
  mark.times = op.getTimes().value_or(0);
  mark.chunksPerSegment = chunks;
  if (!op.getFlag())
    return mark;
  auto flag = cast<FlagOp>(op.getFlag().getDefiningOp());
  auto number = [](Value value) {
    return uint32_t(getConstantIntValue(value).value_or(0));
  };
  mark.owner = number(flag.getPeer());
  mark.offset = FlagOffset::of(number(flag.getOffset())).bytes;
  mark.perLaunch = number(flag.getPerLaunch());
  mark.value = number(flag.getValue());
  return mark;
}

/// Adds the marks of a channel, which belong to one line.
static void addLine(ChannelOp channel, uint32_t chunks, TraceTable &table) {
  TraceLine line = {};
  line.firstMark = table.marks.size();
  uint32_t number = 0;
  for (MarkOp mark : channel.getBody().getOps<MarkOp>()) {
    number = mark.getLine().value_or(0);
    table.marks.push_back(traceMarkOf(mark, chunks));
  }
  line.marks = table.marks.size() - line.firstMark;
  if (line.marks == 0)
    return;
  if (table.lines.size() <= number)
    table.lines.resize(number + 1);
  table.lines[number] = line;
}

std::vector<std::string> collk::traceTables(ProgramOp program) {
  std::vector<TraceTable> tables(program.getRanks());
  bool hasMarks = false;
  for (auto kernel : program.getBody().getOps<KernelOp>()) {
    if (program.getHost() || !kernel.getRank())
      continue;
    TraceTable &table = tables[*kernel.getRank()];
    for (auto channel : kernel.getBody().getOps<ChannelOp>())
      addLine(channel, program.getChunks(), table);
    hasMarks |= !table.lines.empty();
  }
  std::vector<std::string> result;
  if (hasMarks)
    for (const TraceTable &table : tables)
      result.push_back(table.bytes());
  return result;
}
