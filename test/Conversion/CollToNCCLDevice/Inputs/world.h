//===- world.h - The ranks of a simulated network of GPUs -----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef WORLD_H
#define WORLD_H

#include "nccl.h"

void sim_begin(int ranks, int ranksPerBox);
void sim_end();
ncclComm_t sim_comm(int rank);
/// Returns when all ranks are here.
void sim_meet();

#endif // WORLD_H
