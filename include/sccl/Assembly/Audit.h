//===- Audit.h - Is the order of flags in the assembly? ---------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A back end may lose what a program on several GPUs depends on: LLVM 22 drops
// the order of read-modify-writes on NVIDIA and waits of a release on AMD. Both
// go unnoticed on one GPU. So the last text before the assembler is read once
// more, and what the protocol needs must stand there on every path:
//
//  - no read-modify-write, no load past coherence, no order at a scope below
//    the system;
//  - @coll_signal: every thread passes the block barrier (on AMD after writing
//    caches back and waiting for that), then those that have a flag store 64
//    bits with release, to a peer, a value made from the number of the launch;
//  - @coll_wait: those that have a flag poll it, 64 bits with acquire, until
//    it is at least (check D4) a value made from the number of the launch, or
//    the abort word is set; then the block barrier for every thread, and no
//    other kind of load before it;
//  - @coll_begin: the epoch word plus one, which is also stored for blocks that
//    are absent; @coll_end: the block barrier before the store of the launch's
//    number into it;
//  - a block that has called @coll_begin calls @coll_end before it returns, and
//    where there is a table of flags somebody calls @coll_signal and @coll_wait
//    (check D2);
//  - memory is accessed by loads and stores only, and by helpers only.
//
// The audit reads text: it knows where operands may come from, and no more.
// That each single transfer, signal and wait of a program is called for, and
// that payload is copied right, is for other checks. Of what is left of a text
// that was cut off between two of its functions, not all is noticed in PTX.
//
// Other functions, whatever they are called, may contain flags too, for which
// the general rules hold.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ASSEMBLY_AUDIT_H
#define SCCL_ASSEMBLY_AUDIT_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace sccl {

/// A place where assembly does not do what the flag protocol needs.
struct AuditFinding {
  std::string check; ///< "P1"; B2, D2, D4 or H2 where that is what it is about
  std::string function; ///< empty if about the whole text
  unsigned line;        ///< from 1
  std::string text;     ///< of that line
  std::string message;

  /// "P1: MESSAGE, in @FUNCTION: TEXT".
  std::string str() const;
};

/// A mistake, and where it was made.
struct AuditFault {
  AuditFinding first;
  std::vector<AuditFinding> others; ///< of the same check and message

  /// "and N more like it", or nothing if there is one place.
  std::string countText() const;
};
/// The faults behind `findings`, in their order.
std::vector<AuditFault> faultsOf(const std::vector<AuditFinding> &findings);

/// Reads PTX as LLVM writes it. Text without any function is a finding.
std::vector<AuditFinding> auditPTX(llvm::StringRef text);

/// Reads GCN assembly for `chip`, of the gfx9 generation. A chip whose rules
/// are not known is a finding.
std::vector<AuditFinding> auditGCN(llvm::StringRef text, llvm::StringRef chip);

/// The chip that the .amdgcn_target line names, or an empty string.
std::string chipOfGCN(llvm::StringRef text);

} // namespace sccl

#endif // SCCL_ASSEMBLY_AUDIT_H
