//===- PTXRules.h - Rules for helpers in PTX ------------------ -*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_ASSEMBLY_AUDIT_PTXRULES_H
#define SCCL_LIB_ASSEMBLY_AUDIT_PTXRULES_H

#include "AuditRules.h"

namespace sccl::assembly {

/// Rules for @coll_signal, @coll_wait, @coll_begin and @coll_end; there are
/// none for other functions.
void auditPTXFlags(const Function &function,
                   std::vector<AuditFinding> &findings);

/// Rules for copies and reductions of LL words, by their names.
void auditPTXWords(const Function &function,
                   std::vector<AuditFinding> &findings);

/// True if the address of an access comes from an operand that the name of the
/// function says is LL words.
bool reachesWords(const Function &function, const DataFlow &flow,
                  const Instruction &access);

} // namespace sccl::assembly

#endif // SCCL_LIB_ASSEMBLY_AUDIT_PTXRULES_H
