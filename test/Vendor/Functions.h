//===- Functions.h - The functions of NCCL that tests call ------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TEST_VENDOR_FUNCTIONS_H
#define SCCL_TEST_VENDOR_FUNCTIONS_H

#include "Vendor/Interface.h"

extern "C" {
ncclResult_t ncclGetVersion(int *);
ncclResult_t ncclGetUniqueId(ncclUniqueId *);
ncclResult_t ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *, int, int, int,
                                      ncclUniqueId *, void *);
ncclResult_t ncclCommInitAll(ncclComm_t *, int, const int *);
ncclResult_t ncclCommSplit(ncclComm_t, int, int, ncclComm_t *, void *);
ncclResult_t ncclCommShrink(ncclComm_t, int *, int, ncclComm_t *, void *, int);
ncclResult_t ncclCommFinalize(ncclComm_t);
ncclResult_t ncclCommDestroy(ncclComm_t);
ncclResult_t ncclCommAbort(ncclComm_t);
ncclResult_t ncclCommCount(ncclComm_t, int *);
ncclResult_t ncclCommUserRank(ncclComm_t, int *);
ncclResult_t ncclCommCuDevice(ncclComm_t, int *);
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *);
const char *ncclGetErrorString(ncclResult_t);
const char *ncclGetLastError(ncclComm_t);
ncclResult_t ncclAllReduce(const void *, void *, size_t, int, int, ncclComm_t,
                           void *);
ncclResult_t ncclReduceScatter(const void *, void *, size_t, int, int,
                               ncclComm_t, void *);
ncclResult_t ncclReduce(const void *, void *, size_t, int, int, int, ncclComm_t,
                        void *);
ncclResult_t ncclAllGather(const void *, void *, size_t, int, ncclComm_t,
                           void *);
ncclResult_t ncclBroadcast(const void *, void *, size_t, int, int, ncclComm_t,
                           void *);
ncclResult_t ncclAllToAll(const void *, void *, size_t, int, ncclComm_t,
                          void *);
ncclResult_t ncclAllToAllv(const void *, const size_t *, const size_t *, void *,
                           const size_t *, const size_t *, int, ncclComm_t,
                           void *);
ncclResult_t ncclSend(const void *, size_t, int, int, ncclComm_t, void *);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclMemAlloc(void **, size_t);
ncclResult_t ncclMemFree(void *);
ncclResult_t ncclCommRegister(ncclComm_t, void *, size_t, void **);
ncclResult_t ncclCommDeregister(ncclComm_t, void *);
}

#endif // SCCL_TEST_VENDOR_FUNCTIONS_H
