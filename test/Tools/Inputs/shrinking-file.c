/*===- shrinking-file.c - A file that is cut off ----------------*- C -*-===*\
|*                                                                            *|
|* Part of sccl, under the Apache License v2.0 with LLVM Exceptions.          *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Preloaded, the file SCCL_SHRINKS is cut off while it is read: before bytes *|
|* of it are copied, and after it is mapped. The file is left with 8192 bytes.
*|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void shrink(int file) {
  const char *path = getenv("SCCL_SHRINKS");
  struct stat given, wanted;
  if (path && file >= 0 && fstat(file, &given) == 0 &&
      stat(path, &wanted) == 0 && given.st_dev == wanted.st_dev &&
      given.st_ino == wanted.st_ino && truncate(path, 8192) != 0)
    abort();
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define READS(name, offset)                                                    \
  ssize_t name(int file, void *to, size_t count, offset at) {                  \
    shrink(file);                                                              \
    return NEXT(name)(file, to, count, at);                                    \
  }
READS(pread, off_t)
READS(pread64, off64_t)

ssize_t read(int file, void *to, size_t count) {
  shrink(file);
  return NEXT(read)(file, to, count);
}

#define MAPS(name, offset)                                                     \
  void *name(void *where, size_t bytes, int access, int flags, int file,       \
             offset at) {                                                      \
    void *mapped = NEXT(name)(where, bytes, access, flags, file, at);          \
    shrink(file);                                                              \
    return mapped;                                                             \
  }
MAPS(mmap, off_t)
MAPS(mmap64, off64_t)
