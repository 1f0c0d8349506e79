//===- Protocol.h - The flag protocol as PTX performs it --------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What helpers in PTX do to flags, with which orders, scopes, fences and
// barriers, and on which paths, is read from the text and put where the
// protocol needs it: a payload that is pushed, sent on, or overwritten in the
// next launch. So it is not the protocol that is checked but its compiled form.
//
// The audit (sccl/Assembly/Audit.h) looks for the instructions that it knows to
// be right; this one asks what others would do.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LITMUS_PROTOCOL_H
#define SCCL_LITMUS_PROTOCOL_H

#include "sccl/Litmus/Program.h"

namespace sccl::litmus {

/// The protocol with each combination of paths through the helpers in `ptx`,
/// as litmus tests that expect `Verdict::Never`; their lines are those of
/// @coll_signal, or of a copy of LL words. In each block one thread has the
/// flag and another has not. Errors, "LINE:1: message", are instructions that
/// the model says nothing about, and text with neither flags nor LL words.
///
/// Left out: what payload helpers do between their accesses, so no fence of
/// theirs counts; and who waits for whom, which is for coll-check-program. The
/// end of a kernel counts as a fence at system scope for LL words, see
/// docs/Rationale/LL.md, and as nothing for flags.
Result<std::vector<Program>> protocolOf(llvm::StringRef ptx);

} // namespace sccl::litmus

#endif // SCCL_LITMUS_PROTOCOL_H
