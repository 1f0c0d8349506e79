//===- TraceFuzz.cpp - Traces to draw a model beside ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Report/Trace.h"

using namespace sccl;

/// What traces are read for, with the model of a transfer from rank 0 to 1.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  report::TraceEvent transfer = {/*rank=*/0, /*channel=*/1,
                                 report::TraceEvent::Kind::Transfer,
                                 /*begin=*/0, /*end=*/1};
  transfer.peer = 1;
  report::TraceEvent wait = {/*rank=*/1, /*channel=*/2,
                             report::TraceEvent::Kind::Wait, 0, 1};
  auto recorded = report::RecordedTrace::parse(text);
  if (!recorded)
    return 0;
  report::Trace model = {"model", {transfer, wait}, recorded->isOfMessages()};
  auto both = std::move(*recorded).withModel(model);
  demand(!both || !both->empty(), "nothing is drawn");
  return 0;
}
