/*===- UcxTransport.h - Messages of UCX --------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What libsccl-ucx has. libsccl loads it when ranks of scclCommInit are on *|
|* several hosts, so that everything else works without UCX.                  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_LIB_RUNTIME_MESSAGES_UCXTRANSPORT_H
#define SCCL_LIB_RUNTIME_MESSAGES_UCXTRANSPORT_H

#include "sccl/sccl.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Collective. A transport for ranks that meet by `allGather`, which is not
 * called any more when this returns. Collective functions of the transport wait
 * for others up to `limit` seconds, and so, or 30 seconds, does its `close`,
 * unless the communicator has failed, for others to take what was sent. A
 * failure has a message; all ranks fail if one does, unless some do not come.
 */
SCCL_API scclResult scclUcxTransport(int rank, int numRanks,
                                     scclAllGatherFn allGather, void *context,
                                     double limit, scclTransport *transport);

#ifdef __cplusplus
}
#endif

#endif
