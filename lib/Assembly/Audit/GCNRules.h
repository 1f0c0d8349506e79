//===- GCNRules.h - Rules for helpers in GCN ------------------ -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_GCNRULES_H
#define SCCL_LIB_ASSEMBLY_AUDIT_GCNRULES_H

#include "AuditRules.h"
#include "GCNInstructions.h"

namespace sccl::assembly {

/// Rules for @coll_signal, @coll_wait, @coll_begin and @coll_end; there are
/// none for other functions. `isOneWave` tells of the blocks of all kernels.
void auditGCNFlags(const Function &function,
                   std::vector<AuditFinding> &findings,
                   const gcn::Coherence &caches, bool isOneWave);

/// Rules for copies and reductions of LL words, by their names.
void auditGCNWords(const Function &function,
                   std::vector<AuditFinding> &findings,
                   const gcn::Coherence &caches);

} // namespace sccl::assembly

#endif // SCCL_LIB_ASSEMBLY_AUDIT_GCNRULES_H
