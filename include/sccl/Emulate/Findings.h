//===- Findings.h - What is wrong with an execution -------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_EMULATE_FINDINGS_H
#define SCCL_EMULATE_FINDINGS_H

#include <string>
#include <vector>

namespace sccl::emulate {

enum class FindingKind {
  Race,       ///< accesses that conflict, which nothing orders
  Fault,      ///< an address that is nobody's, constant or not aligned
  Divergence, ///< a barrier that not all threads of a block come to
  NoProgress, ///< threads wait, and nothing happens any more
  Unawaited,  ///< a register whose load nobody has waited for (GCN)
};

/// "race".
const char *toString(FindingKind kind);

struct Finding {
  FindingKind kind;
  std::string message;
};

using Findings = std::vector<Finding>;

} // namespace sccl::emulate

#endif // SCCL_EMULATE_FINDINGS_H
