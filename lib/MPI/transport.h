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
 */
scclResult scclMpiTransport(MPI_Comm comm, scclTransport *transport);

#endif
