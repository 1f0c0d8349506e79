//===- UcxLibrary.h - Messages to other hosts without MPI -------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libsccl-ucx, which makes transports of UCX, is loaded when ranks of
// scclCommInit are on several hosts, so libsccl needs no UCX.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_MESSAGES_UCXLIBRARY_H
#define SCCL_LIB_RUNTIME_MESSAGES_UCXLIBRARY_H

#include "Runtime/Bootstrap.h"

namespace sccl {

/// Collective. Makes a transport for the ranks of `bootstrap`, of which `why`
/// says that they need one. Collective functions wait `limitSeconds`. Fails on
/// every rank if it fails on one: with scclErrorUnsupported where a rank has no
/// libsccl-ucx, or the one that SCCL_UCX_LIBRARY names, where "none" is no
/// library.
Status makeUcxTransport(const Bootstrap &bootstrap, unsigned rank,
                        double limitSeconds, const Status &why,
                        scclTransport &transport);

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_MESSAGES_UCXLIBRARY_H
