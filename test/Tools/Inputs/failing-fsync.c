/*===- failing-fsync.c - A disk that fails ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Preloaded, fsync fails with the number in SCCL_FSYNC_FAILS_WITH, or EIO.   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#include <errno.h>
#include <stdlib.h>

int fsync(int file) {
  const char *number = getenv("SCCL_FSYNC_FAILS_WITH");
  (void)file;
  errno = number ? atoi(number) : EIO;
  return -1;
}
