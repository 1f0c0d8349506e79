//===- SourceWriter.cpp - Keeps the modules of a plan ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SourceWriter.h"

#include "sccl/Dialect/Coll/CollOps.h"
#include "sccl/Dialect/Coll/ImportExport.h"
#include "sccl/Plan/Sources.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sccl;

/// False if a plan would grow by many megabytes.
static bool isShort(ModuleOp module) {
  constexpr size_t mostSends = 1 << 18;
  size_t sends = 0;
  for (auto schedule : module.getOps<coll::ScheduleOp>())
    for (auto step : schedule.getBody().getOps<coll::StepOp>())
      sends += step.getBody().front().getOperations().size();
  return sends <= mostSends;
}

SourceWriter::SourceWriter(ModuleOp module, bool isWanted) {
  if (isWanted && isShort(module))
    copy = module.clone();
}

void SourceWriter::setWays(StringRef schedule, ArrayRef<coll::Way> ways) {
  if (!copy)
    return;
  auto op = copy->lookupSymbol<coll::ScheduleOp>(schedule);
  if (ArrayAttr attribute = coll::exportWays(copy->getContext(), ways))
    op.setWaysAttr(attribute);
}

std::string SourceWriter::take() {
  if (!copy)
    return "";
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy->print(stream, OpPrintingFlags().assumeVerified().useLocalScope());
  return plan::packSource(text);
}
