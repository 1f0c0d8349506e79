//===- SharedMemory.cpp - Memory that processes share ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"

#include "Descriptor.h"

#include "sccl/Model/AvailableMemory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

namespace {
/// What /proc says about a process.
struct ProcessStat {
  char state;
  int threads; ///< a main thread that has ended counts
  uint64_t startTime;
  /// Nothing is left but the entry in the table of processes. A main thread may
  /// end before the others do.
  bool isOver() const { return state == 'X' || (state == 'Z' && threads <= 1); }
};
} // namespace

/// Returns 0, or a number of an error: ENOENT and ESRCH if there is no such
/// process.
static int readStat(int64_t pid, ProcessStat &result) {
  char path[64], text[1024];
  std::snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
  Descriptor fd(open(path, O_RDONLY | O_CLOEXEC));
  if (fd < 0)
    return errno;
  ssize_t length = read(fd, text, sizeof(text) - 1);
  int error = length < 0 ? errno : EIO;
  if (length <= 0)
    return error;
  text[length] = '\0';
  // The name in parentheses may contain anything.
  const char *rest = std::strrchr(text, ')');
  unsigned long long start;
  if (!rest ||
      std::sscanf(rest + 1,
                  " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d "
                  "%*d %*d %*d %d %*d %llu",
                  &result.state, &result.threads, &start) != 3)
    return EIO;
  result.startTime = start;
  return 0;
}

Status ProcessId::find(int64_t pid, ProcessId &id) {
  ProcessStat stat;
  if (int error = readStat(pid, stat)) {
    errno = error;
    return systemError("cannot read /proc/" + std::to_string(pid) + "/stat");
  }
  id = {pid, stat.startTime};
  return {};
}

bool ProcessId::isAlive() const {
  ProcessStat stat;
  int error = readStat(pid, stat);
  if (error == ENOENT || error == ESRCH)
    return false;
  if (error != 0)
    return kill(pid, 0) == 0 || errno != ESRCH;
  return stat.startTime == startTime && !stat.isOver();
}

bool ProcessId::isStopped() const {
  ProcessStat stat;
  return readStat(pid, stat) == 0 && stat.startTime == startTime &&
         (stat.state == 'T' || stat.state == 't');
}

// Main threads may end before others do, and then have no files any more in
// /proc/self: hence /proc/thread-self here and elsewhere.
Status sccl::machineId(uint64_t &id, unsigned rank) {
  const char *path = "/proc/sys/kernel/random/boot_id";
  Descriptor fd(open(path, O_RDONLY | O_CLOEXEC));
  if (fd < 0)
    return systemError(std::string("cannot open ") + path);
  char text[64];
  ssize_t length = read(fd, text, sizeof(text));
  if (length < 0)
    return systemError(std::string("cannot read ") + path);
  path = "/proc/thread-self/ns/pid";
  struct stat space;
  if (stat(path, &space) != 0)
    return systemError(std::string("cannot find ") + path);
  id = space.st_ino;
  for (ssize_t i = 0; i < length; ++i)
    id = (id ^ uint8_t(text[i])) * 0x100000001b3u;
  const char *most = secure_getenv("SCCL_RANKS_PER_HOST");
  if (!most)
    return {};
  unsigned ranks = 0;
  auto [end, error] = std::from_chars(most, most + std::strlen(most), ranks);
  if (*end != 0 || error != std::errc() || ranks == 0)
    return invalid("SCCL_RANKS_PER_HOST is '" + std::string(most) +
                   "', expected a number of ranks");
  id += rank / ranks;
  return {};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr uint64_t page = 4096;

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
  int error;
  do
    error = posix_fallocate(descriptor, 0, headBytes + dataBytes);
  while (error == EINTR);
  if (error != 0) {
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

void SharedMemory::detach(uint64_t offset, uint64_t length) {
  uint64_t begin = offset / page * page;
  uint64_t end = std::min(bytes, (offset + length + page - 1) / page * page);
  if (begin >= end)
    return;
  length = end - begin;
  void *copy = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED)
    return;
  std::memcpy(copy, data() + begin, length);
  if (mremap(copy, length, length, MREMAP_MAYMOVE | MREMAP_FIXED,
             data() + begin) == MAP_FAILED)
    munmap(copy, length);
}

SharedMemoryHandle SharedMemory::handle() const {
  SharedMemoryHandle result;
  result.process = getpid();
  result.thread = gettid();
  result.descriptor = descriptor;
  result.bytes = bytes;
  std::memcpy(&result.nonce, address, sizeof(result.nonce));
  return result;
}

Status SharedMemory::open(const SharedMemoryHandle &handle) {
  char path[128];
  std::snprintf(path, sizeof(path), "/proc/%lld/task/%lld/fd/%lld",
                (long long)handle.process, (long long)handle.thread,
                (long long)handle.descriptor);
  Descriptor fd(::open(path, O_RDWR | O_CLOEXEC));
  if (fd < 0)
    return systemError("cannot open the shared memory of process " +
                       std::to_string(handle.process) +
                       " (all ranks must run under one user)");
  struct stat info;
  bool fits = fstat(fd, &info) == 0 && handle.bytes < UINT64_MAX / 4 &&
              uint64_t(info.st_size) == headBytes + handle.bytes;
  Status status =
      fits ? map(fd, handle.bytes)
           : Status(scclErrorSystem, "the shared memory of process " +
                                         std::to_string(handle.process) +
                                         " does not have the size it should");
  if (!status.ok())
    return status;
  if (std::memcmp(address, &handle.nonce, sizeof(handle.nonce)) != 0)
    return {scclErrorSystem, "the shared memory of process " +
                                 std::to_string(handle.process) +
                                 " is not what it said it would be"};
  return {};
}
