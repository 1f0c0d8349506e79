/*===- sccl-mpi.c - Communicators of MPI --------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include "transport.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

scclResult scclCommInitMPI(MPI_Comm comm, const scclConfig *config,
                           scclComm *result) {
  const scclConfig standard = SCCL_CONFIG_INITIALIZER;
  scclTransport transport;
  scclResult made;
  /* What is no limit is refused when there are others to be told. */
  double limit = config && config->size >= offsetof(scclConfig, scratchBytes) &&
                         config->timeoutSeconds > 0
                     ? config->timeoutSeconds
                     : standard.timeoutSeconds;
  made = scclMpiTransport(comm, limit, &transport);
  if (made != scclSuccess)
    return made;
  return scclCommInitTransport(&transport, config, result);
}

#ifdef MPICH_VERSION
static int exitCode;

static void end(int signal) {
  (void)signal;
  _exit(exitCode);
}

/* The most ranks of one host, or 0 if there is one host. */
static int ranksOfHosts(void) {
  MPI_Comm host;
  int here, most, count;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &host);
  MPI_Comm_size(host, &here);
  MPI_Comm_free(&host);
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  MPI_Allreduce(&here, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return most == count ? 0 : most;
}
#endif

/* A rank closes its connections and needs an answer of a peer that is further
 * on in MPI_Finalize and gives none. When all are done, processes may as well
 * just end; but where a host has several, its mpirun ends the others then. */
int scclFinalizeMPI(int code) {
#ifdef MPICH_VERSION
  const unsigned patience = 5;
  int ranks = ranksOfHosts();
  MPI_Barrier(MPI_COMM_WORLD);
  fflush(NULL);
  if (ranks == 1)
    return 0;
  exitCode = code;
  if (ranks > 1 && signal(SIGALRM, end) != SIG_ERR)
    alarm(patience);
#else
  (void)code;
#endif
  return MPI_Finalize() != MPI_SUCCESS;
}
