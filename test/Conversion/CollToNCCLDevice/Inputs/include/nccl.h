//===- nccl.h - NCCL's host functions, as far as tests need them ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef NCCL_H
#define NCCL_H

#include <stddef.h>
#include <stdint.h>

#define NCCL_VERSION(major, minor, patch)                                      \
  ((major)*10000 + (minor)*100 + (patch))
#define NCCL_VERSION_CODE NCCL_VERSION(2, 30, 7)
#define NCCL_WIN_COLL_SYMMETRIC 1

typedef struct ncclComm *ncclComm_t;
typedef struct ncclWindow_vidmem *ncclWindow_t;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5
} ncclResult_t;

extern "C" {
ncclResult_t ncclCommCount(ncclComm_t, int *);
ncclResult_t ncclCommUserRank(ncclComm_t, int *);
ncclResult_t ncclMemAlloc(void **, size_t);
ncclResult_t ncclMemFree(void *);
ncclResult_t ncclCommWindowRegister(ncclComm_t, void *, size_t, ncclWindow_t *,
                                    int);
ncclResult_t ncclCommWindowDeregister(ncclComm_t, ncclWindow_t);
}

#endif // NCCL_H
