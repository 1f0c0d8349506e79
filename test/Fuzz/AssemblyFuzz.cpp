//===- AssemblyFuzz.cpp - PTX and GCN text --------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "sccl/Assembly/Audit.h"
#include "sccl/Litmus/Protocol.h"

using namespace sccl;

/// The audits, and what is read of PTX for litmus tests.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  std::string chip = chipOfGCN(text);
  std::vector<AuditFinding> findings =
      chip.empty() ? auditPTX(text) : auditGCN(text, chip);
  demand(faultsOf(findings).empty() == findings.empty(), "findings are lost");
  if (chip.empty())
    (void)litmus::protocolOf(text);
  return 0;
}
