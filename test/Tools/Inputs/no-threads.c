/*===- no-threads.c - A system with no room for threads ---------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Preloaded, no thread can be started after the first SCCL_THREADS.          *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int started;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                   void *(*body)(void *), void *argument) {
  const char *most = getenv("SCCL_THREADS");
  if (atomic_fetch_add(&started, 1) >= (most ? atoi(most) : 0))
    return EAGAIN;
  return ((__typeof__(&pthread_create))dlsym(RTLD_NEXT, "pthread_create"))(
      thread, attributes, body, argument);
}
