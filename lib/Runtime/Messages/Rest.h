/*===- Rest.h - Naps of whoever polls -----------------------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef SCCL_LIB_RUNTIME_MESSAGES_REST_H
#define SCCL_LIB_RUNTIME_MESSAGES_REST_H

#include <sched.h>
#include <time.h>

/* Seconds since some moment. */
static inline double scclNow(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Waits in naps of a quarter of what has been waited, up to 1 ms: whoever polls
 * takes the processor from ranks that are measured meanwhile. */
static inline void scclRest(double waited) {
  const double least = 1e-5, most = 1e-3;
  double nap = waited / 4 < most ? waited / 4 : most;
  struct timespec time = {0, (long)(nap * 1e9)};
  if (nap < least)
    sched_yield();
  else
    nanosleep(&time, NULL);
}

#endif
