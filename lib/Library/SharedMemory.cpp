//===- SharedMemory.cpp - Memory that processes share ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "AvailableMemory.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace sccl;

Status sccl::systemError(const std::string &what) {
  int error = errno;
  return {error == ENOMEM || error == ENOSPC ? scclErrorOutOfMemory
                                             : scclErrorSystem,
          what + ": " + std::strerror(error)};
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// Reads the state and the start time of a process from /proc.
static bool readStat(int64_t pid, char &state, uint64_t &startTime) {
  char path[64], text[1024];
  std::snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t length = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (length <= 0)
    return false;
  text[length] = '\0';
  // The name in parentheses may contain anything.
  const char *rest = std::strrchr(text, ')');
  unsigned long long start;
  if (!rest ||
      std::sscanf(rest + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                  "%*d %*d %*d %*d %*d %llu",
                  &state, &start) != 2)
    return false;
  startTime = start;
  return true;
}

ProcessId ProcessId::self() {
  ProcessId id;
  char state;
  id.pid = getpid();
  readStat(id.pid, state, id.startTime);
  return id;
}

bool ProcessId::isAlive() const {
  char state;
  uint64_t start;
  return readStat(pid, state, start) && start == startTime && state != 'Z' &&
         state != 'X';
}

uint64_t sccl::machineId() {
  char text[128] = {};
  int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    if (read(fd, text, 64) < 0)
      text[0] = '\0';
    close(fd);
  }
  struct stat space;
  uint64_t hash = stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
  for (const char *c = text; *c; ++c)
    hash = (hash ^ uint8_t(*c)) * 0x100000001b3u;
  return hash;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept {
  std::swap(address, other.address);
  std::swap(bytes, other.bytes);
  std::swap(descriptor, other.descriptor);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (address)
    munmap(address, headBytes + bytes);
  seal();
}

void SharedMemory::seal() {
  if (descriptor >= 0)
    close(descriptor);
  descriptor = -1;
}

Status SharedMemory::map(int fd, uint64_t dataBytes) {
  void *mapped = mmap(nullptr, headBytes + dataBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED)
    return systemError("cannot map " + std::to_string(dataBytes) +
                       " bytes of shared memory");
  address = mapped;
  bytes = dataBytes;
  return {};
}

Status sccl::checkFileSize(uint64_t bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      bytes <= limit.rlim_cur)
    return {};
  return {scclErrorOutOfMemory, "cannot get " + std::to_string(bytes) +
                                    " bytes of memory: the limit of files, "
                                    "ulimit -f, is " +
                                    std::to_string(limit.rlim_cur)};
}

/// The system would grant what is checked here, and then kill processes.
static Status checkAvailable(uint64_t bytes) {
  uint64_t available = availableMemory();
  if (bytes <= available)
    return {};
  return {scclErrorOutOfMemory,
          "cannot get " + std::to_string(bytes) + " bytes of shared memory: " +
              std::to_string(available) + " are available"};
}

Status SharedMemory::create(uint64_t dataBytes) {
  constexpr uint64_t page = 4096;
  if (dataBytes > UINT64_MAX / 4)
    return {scclErrorOutOfMemory,
            std::to_string(dataBytes) + " bytes are too many"};
  dataBytes = (dataBytes + page - 1) / page * page;
  if (Status status = checkAvailable(headBytes + dataBytes); !status.ok())
    return status;
  if (Status status = checkFileSize(headBytes + dataBytes); !status.ok())
    return status;
  descriptor = memfd_create("sccl", MFD_CLOEXEC);
  if (descriptor < 0)
    return systemError("cannot create shared memory");
  // Without this, a lack of memory would show as a signal at the first access.
  if (int error = posix_fallocate(descriptor, 0, headBytes + dataBytes)) {
    errno = error == EFBIG ? ENOMEM : error;
    return systemError("cannot get " + std::to_string(dataBytes) +
                       " bytes of shared memory");
  }
  if (Status status = map(descriptor, dataBytes); !status.ok())
    return status;
  if (getrandom(address, sizeof(uint64_t), 0) != sizeof(uint64_t))
    return systemError("cannot get random numbers");
  return {};
}

SharedMemoryHandle SharedMemory::handle() const {
  SharedMemoryHandle result;
  result.owner = ProcessId::self();
  result.descriptor = descriptor;
  result.bytes = bytes;
  std::memcpy(&result.nonce, address, sizeof(result.nonce));
  return result;
}

Status SharedMemory::open(const SharedMemoryHandle &handle) {
  char path[64];
  std::snprintf(path, sizeof(path), "/proc/%lld/fd/%lld",
                (long long)handle.owner.pid, (long long)handle.descriptor);
  int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0)
    return systemError("cannot open the shared memory of process " +
                       std::to_string(handle.owner.pid) +
                       " (all ranks must run under one user)");
  struct stat info;
  bool fits = fstat(fd, &info) == 0 && handle.bytes < UINT64_MAX / 4 &&
              uint64_t(info.st_size) == headBytes + handle.bytes;
  Status status =
      fits ? map(fd, handle.bytes)
           : Status(scclErrorSystem, "the shared memory of process " +
                                         std::to_string(handle.owner.pid) +
                                         " does not have the size it should");
  close(fd);
  if (!status.ok())
    return status;
  if (std::memcmp(address, &handle.nonce, sizeof(handle.nonce)) != 0)
    return {scclErrorSystem, "the shared memory of process " +
                                 std::to_string(handle.owner.pid) +
                                 " is not what it said it would be"};
  return {};
}
