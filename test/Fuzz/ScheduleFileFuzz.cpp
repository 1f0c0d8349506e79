//===- ScheduleFileFuzz.cpp - Schedules and plans of other tools --------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Exchange/Forest.h"
#include "sccl/Exchange/Msccl.h"
#include "sccl/Exchange/Mscclpp.h"
#include "sccl/Exchange/Teccl.h"

using namespace sccl;
using namespace sccl::exchange;

/// What is accepted converts; what is not says why.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view text(reinterpret_cast<const char *>(data), size);
  Findings findings;
  if (isTeccl(text)) {
    (void)parseTeccl(text, findings);
  } else if (isForest(text)) {
    (void)parseForest(text, findings);
  } else if (text.starts_with("<")) {
    if (auto algorithm = parseMsccl(text, findings))
      if (checkMsccl(*algorithm, {}, findings))
        (void)fromMsccl(*algorithm, {});
  } else if (auto plan = parseMscclpp(text, findings)) {
    if (checkMscclpp(*plan, {}, findings))
      (void)fromMscclpp(*plan, {});
  }
  return 0;
}
