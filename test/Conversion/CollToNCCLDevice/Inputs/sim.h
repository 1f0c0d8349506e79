//===- sim.h - A simulated network of GPUs, for device functions ----------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SIM_H
#define SIM_H

#include <stddef.h>
#include <stdint.h>

extern "C" {
int sim_tid();
int sim_ctaid();
void sim_barrier();
void sim_yield();
void sim_check(bool isRight, const char *what);

void *sim_peer_pointer(void *window, size_t offset, int peer);
/// Hands a put, or a signal, to the network. Those of a context to a peer keep
/// their order; memory is read when the network comes to it.
void sim_put(void *sim, int context, int peer, void *dstWindow,
             size_t dstOffset, void *srcWindow, size_t srcOffset, size_t bytes);
void sim_signal(void *sim, int context, int peer, uint32_t signal);
uint64_t sim_read_signal(void *sim, int context, uint32_t signal);
/// Returns when all memory that a context puts has been read.
void sim_flush(void *sim, int context);
void sim_lsa_barrier(void *sim);
}

#endif // SIM_H
