/*===- Aware.c - What MPI says that takes memory of GPUs ----------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Loaded before a library of MPI, answers for it: memory of the fake GPUs is *|
|* memory of the host, which all of them take.                                *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

int MPIX_Query_cuda_support(void) { return 1; }
int MPIX_Query_rocm_support(void) { return 1; }
int MPIX_GPU_query_support(int type, int *isSupported) {
  (void)type;
  *isSupported = 1;
  return 0;
}
