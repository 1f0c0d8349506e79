/*===- sccl-trace.h - What ranks do when ------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Functions of libsccl that record what the channels of this rank do in      *|
|* launches; see sccl.h. `sccl run --trace` and `sccl bench --trace` use      *|
|* them.                                                                      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_SCCL_TRACE_H
#define SCCL_SCCL_TRACE_H

#include "sccl/sccl.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum scclTraceKind SCCL_INT {
  scclTraceWait = 0,
  scclTraceTransfer = 1,
  scclTraceReduce = 2,
  scclTraceCopy = 3,
  scclTraceSignal = 4,
  scclTraceBarrier = 5 /**< of all ranks, between steps */
} scclTraceKind;

/** Something that a channel has done, or waited for. */
typedef struct scclTraceEvent {
  scclTraceKind kind;
  /** Of the program, among those of the rank. Of ranks that exchange messages:
   * 0 is what they compute, 1 + 2 * p what they send to rank p, and 2 + 2 * p
   * what they expect from it; messages overlap. */
  int channel;
  int peer;   /**< whose memory it touches, or who sends; or -1 */
  int isPull; /**< it comes from there, and does not go there */
  /** Nanoseconds of CLOCK_MONOTONIC. GPUs have clocks of their own: times of a
   * rank keep their distances, and all are as far from scclCommTrace as from
   * scclQueryTrace. */
  uint64_t begin, end;
  uint64_t bytes;
  /** Of signals and waits, and of messages: what tells flags of all ranks
   * apart, and the value that it sets or waits for, which grows from launch to
   * launch. */
  uint64_t flag, value;
} scclTraceEvent;

/**
 * From now on records what this rank does in launches, and forgets what was
 * recorded; or with `on` 0 ends that. Not collective. Code of plans that are
 * loaded tells if it was compiled for it (`sccl compile --traced`), ranks that
 * exchange messages always do. Launches need memory then; on a GPU this gets
 * it, up to 32 MiB for each program, for up to 4096 launches. If it fails,
 * nothing is recorded. Must not be called while a launch is in flight, or
 * enqueued.
 *
 * Of a GPU the first block of each channel tells. A graph tells when it is
 * replayed, if somebody records then.
 */
SCCL_API scclResult scclCommTrace(scclComm comm, int on);
/**
 * What was recorded since scclCommTrace, in the order in which it began. Valid
 * until the next launch or scclCommTrace. Of launches that are enqueued, those
 * that have ended. Returns scclErrorOutOfMemory if there was no memory for all
 * of it; on a GPU `events` is then what there was memory for. Returns
 * scclErrorUnsupported if the driver of an AMD GPU does not say how fast its
 * clock is.
 */
SCCL_API scclResult scclQueryTrace(scclComm comm, const scclTraceEvent **events,
                                   size_t *count);

#ifdef __cplusplus
}
#endif

#endif /* SCCL_SCCL_TRACE_H */
