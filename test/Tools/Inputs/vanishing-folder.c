/*===- vanishing-folder.c - A folder that goes in between -------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Preloaded, the folder SCCL_VANISHES is removed, and a file with its name   *|
|* and ".gone" made, before call number SCCL_VANISH_AT of those that name     *|
|* something in it, or wait for the disk.                                     *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static atomic_int calls;
static __thread int isOwn;

static int removeEntry(const char *path, const struct stat *info, int kind,
                       struct FTW *where) {
  return remove(path);
}

static void count(const char *path) {
  const char *folder = getenv("SCCL_VANISHES");
  const char *at = getenv("SCCL_VANISH_AT");
  if (!folder || !at || isOwn ||
      (path && strncmp(path, folder, strlen(folder)) != 0) ||
      atomic_fetch_add(&calls, 1) + 1 != atoi(at))
    return;
  isOwn = 1;
  char mark[4096];
  snprintf(mark, sizeof(mark), "%s.gone", folder);
  nftw(folder, removeEntry, 8, FTW_DEPTH | FTW_PHYS);
  fclose(fopen(mark, "w"));
  isOwn = 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define OPENS(name)                                                            \
  int name(const char *path, int flags, ...) {                                 \
    va_list arguments;                                                         \
    va_start(arguments, flags);                                                \
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, int) : 0;     \
    va_end(arguments);                                                         \
    count(path);                                                               \
    return NEXT(name)(path, flags, mode);                                      \
  }
OPENS(open)
OPENS(open64)

int rename(const char *from, const char *to) {
  count(from);
  return NEXT(rename)(from, to);
}
int link(const char *from, const char *to) {
  count(from);
  return NEXT(link)(from, to);
}
int unlink(const char *path) {
  count(path);
  return NEXT(unlink)(path);
}
int mkdir(const char *path, mode_t mode) {
  count(path);
  return NEXT(mkdir)(path, mode);
}
int stat(const char *path, struct stat *info) {
  count(path);
  return NEXT(stat)(path, info);
}
int stat64(const char *path, struct stat64 *info) {
  count(path);
  return NEXT(stat64)(path, info);
}
int fsync(int file) {
  count(0);
  return NEXT(fsync)(file);
}
