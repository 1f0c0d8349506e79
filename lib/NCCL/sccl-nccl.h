//===- sccl-nccl.h - Launches kernels of sccl on NCCL -----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `sccl compile --target=nccl-device` makes, linked with libnccl_device.bc
// or with sccl-nccl-device.cu, and compiled to PTX or a cubin, runs on a
// communicator of NCCL 2.28.7 or newer. This file and sccl-nccl.cpp are source
// to build with the program that uses them, against the headers of the NCCL
// whose bitcode the kernels have. docs/NcclDevice.md says how. No GPU has run
// it so far.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_NCCL_H
#define SCCL_NCCL_H

#include <cuda.h>
#include <nccl.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A program on a communicator, with buffers.
typedef struct scclNcclPlan *scclNcclPlan_t;

/// Loads the program `name` from `image`, PTX or a cubin that is not released
/// before, for calls whose segments have `segment` bytes, a multiple of the
/// element size. `input` and `output` are memory of ncclMemAlloc, which do not
/// overlap, and have at least the bytes that scclNcclBytes says. All ranks of
/// `comm` call it, with equal images and segments, on the device of the
/// communicator. Returns ncclInvalidUsage if the image is for another number of
/// ranks, or for boxes that the communicator does not have, and
/// ncclInvalidArgument if buffers overlap or the image has no such program.
ncclResult_t scclNcclCreate(ncclComm_t comm, const void *image,
                            const char *name, void *input, void *output,
                            size_t segment, CUstream stream,
                            scclNcclPlan_t *plan);

/// How many bytes all ranks must have for the two buffers. They are the same
/// on all ranks, also where a rank has no use for a buffer.
ncclResult_t scclNcclBytes(const void *image, const char *name, size_t segment,
                           size_t *inputBytes, size_t *outputBytes);

/// Enqueues one launch. All ranks launch in the same order; a rank may be ahead
/// of the others. One launch of a plan is under way at a time, as on one
/// stream.
ncclResult_t scclNcclLaunch(scclNcclPlan_t plan, CUstream stream);

/// Makes launches that are under way return, with wrong results. The plan is of
/// no use any more, but to be destroyed.
void scclNcclAbort(scclNcclPlan_t plan);

/// Frees what the plan has, when launches on all ranks have ended. All ranks
/// call it. Returns ncclInvalidArgument for a plan that was destroyed, as
/// scclNcclLaunch does; null is none.
ncclResult_t scclNcclDestroy(scclNcclPlan_t plan);

#ifdef __cplusplus
}
#endif

#endif // SCCL_NCCL_H
