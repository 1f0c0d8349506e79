/*===- failing-fork.c - No more processes ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Preloaded, no process can be started.                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <errno.h>
#include <sys/types.h>

pid_t fork(void) {
  errno = EAGAIN;
  return -1;
}
