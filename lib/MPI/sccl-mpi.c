/*===- sccl-mpi.c - Communicators of MPI --------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

scclResult scclCommInitMPI(MPI_Comm comm, const scclConfig *config,
                           scclComm *result) {
  scclTransport transport;
  scclResult made = scclMpiTransport(comm, &transport);
  if (made != scclSuccess)
    return made;
  return scclCommInitTransport(&transport, config, result);
}
