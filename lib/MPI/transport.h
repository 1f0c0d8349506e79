/*===- transport.h - Messages of MPI -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_LIB_MPI_TRANSPORT_H
#define SCCL_LIB_MPI_TRANSPORT_H

#include "sccl/sccl-mpi.h"

/* Collective. A transport for the ranks of `comm`, through a duplicate of it.
 * Its collective functions wait for others up to `limit` seconds. A failure has
 * a message; all ranks fail unless some do not come. */
scclResult scclMpiTransport(MPI_Comm comm, double limit,
                            scclTransport *transport);

/* Returns when the request is done, with an error of MPI if it fails, or
 * SCCL_ERROR_LATE after `limit` seconds; 0: never. */
int scclMpiAwait(MPI_Request *request, double limit);

#endif
