//===- Switch.cpp - Memory without addresses, and switches ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What CUDA has beside cuMemAlloc: memory that is made and mapped apart, and
// multicast objects. Both are files without names; that of a multicast object
// says which memory of which process is bound to it. Its addresses cannot be
// loaded from or stored to, like those of a switch: tests use the functions at
// the end in place of multimem.
//
// Environment variables, read at every call:
//   SCCL_FAKE_NO_SWITCH=N      1: no device has multicast; 2: device 1 has none
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

using namespace fake;

namespace {
constexpr size_t granule = 2 << 20;
constexpr unsigned mostMembers = 16;

/// In the file of a multicast object.
struct Switch {
  std::atomic<unsigned> devices, joined, bound;
  size_t bytes;
  struct Member {
    std::atomic<int> device; ///< and 1
    std::atomic<bool> isBound;
    int64_t pid, fd;
    size_t offset, bytes;
  } members[mostMembers];
};

/// Memory, or a multicast object, as this process has it.
struct Object {
  int fd;
  size_t bytes;
  Switch *shared = nullptr; ///< of a multicast object
  unsigned users = 1;       ///< who has made or imported it, and mappings
};
struct Mapping {
  uint64_t object;
  size_t bytes;
  bool isAccessible = false;
};
struct Objects {
  std::mutex mutex;
  uint64_t next = 100;
  std::map<uint64_t, Object> objects;
  std::map<uint64_t, Mapping> mappings; ///< by address
  std::map<uint64_t, size_t> reserved;
};
Objects &objects() {
  static Objects *made = new Objects;
  return *made;
}

uint64_t add(Object object) {
  uint64_t number = objects().next++;
  objects().objects[number] = object;
  return number;
}

void drop(uint64_t number) {
  Object &object = objects().objects[number];
  if (--object.users != 0)
    return;
  if (object.shared)
    munmap(object.shared, sizeof(Switch));
  close(object.fd);
  objects().objects.erase(number);
}

Object *find(uint64_t number, bool isSwitch) {
  auto found = objects().objects.find(number);
  bool isIt = found != objects().objects.end() &&
              (found->second.shared != nullptr) == isSwitch;
  return isIt ? &found->second : nullptr;
}

Switch *openSwitch(int fd) {
  void *made =
      mmap(nullptr, sizeof(Switch), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return made == MAP_FAILED ? nullptr : static_cast<Switch *>(made);
}
constexpr const char *switchName = "fake-switch", *memoryName = "fake-memory";
} // namespace

#define ENTER(name)                                                            \
  if (int code = enter(name))                                                  \
    return code;                                                               \
  std::lock_guard lock(objects().mutex)

unsigned fake::liveObjects() {
  std::lock_guard lock(objects().mutex);
  return objects().objects.size() + objects().mappings.size() +
         objects().reserved.size();
}

bool fake::hasSwitch(int device) {
  long none = setting("SCCL_FAKE_NO_SWITCH", 0);
  return none == 0 || (none == 2 && device != 1);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

EXPORT int cuMemGetAllocationGranularity(size_t *bytes, const int *, int) {
  ENTER("cuMemGetAllocationGranularity");
  *bytes = granule;
  return 0;
}
EXPORT int cuMemCreate(uint64_t *number, size_t bytes, const int *kind,
                       unsigned long long) {
  ENTER("cuMemCreate");
  bool isOfDevice = kind[0] == 1 && kind[1] == 1 && kind[2] == 1;
  if (bytes == 0 || bytes % granule != 0 || !isOfDevice)
    return invalidValue;
  int fd = memfd_create(memoryName, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, bytes) != 0)
    return outOfMemory;
  *number = add({fd, bytes});
  return 0;
}
EXPORT int cuMemRelease(uint64_t number) {
  ENTER("cuMemRelease");
  if (!objects().objects.count(number))
    return invalidHandle;
  drop(number);
  return 0;
}
EXPORT int cuMemAddressReserve(uint64_t *address, size_t bytes, size_t,
                               uint64_t, unsigned long long) {
  ENTER("cuMemAddressReserve");
  void *made = mmap(nullptr, bytes, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (bytes % granule != 0 || made == MAP_FAILED)
    return invalidValue;
  *address = uintptr_t(made);
  objects().reserved[*address] = bytes;
  return 0;
}
EXPORT int cuMemAddressFree(uint64_t address, size_t bytes) {
  ENTER("cuMemAddressFree");
  auto found = objects().reserved.find(address);
  if (found == objects().reserved.end() || found->second != bytes ||
      objects().mappings.count(address))
    return invalidValue;
  munmap(reinterpret_cast<void *>(address), bytes);
  objects().reserved.erase(found);
  return 0;
}
EXPORT int cuMemMap(uint64_t address, size_t bytes, size_t offset,
                    uint64_t number, unsigned long long) {
  ENTER("cuMemMap");
  auto found = objects().objects.find(number);
  if (found == objects().objects.end() || offset != 0 ||
      bytes > found->second.bytes || objects().reserved[address] != bytes)
    return invalidValue;
  ++found->second.users;
  objects().mappings[address] = {number, bytes};
  return 0;
}
EXPORT int cuMemUnmap(uint64_t address, size_t bytes) {
  ENTER("cuMemUnmap");
  auto found = objects().mappings.find(address);
  if (found == objects().mappings.end() || found->second.bytes != bytes)
    return invalidValue;
  mmap(reinterpret_cast<void *>(address), bytes, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  uint64_t number = found->second.object;
  objects().mappings.erase(found);
  drop(number);
  return 0;
}
/// Switches stay without access.
EXPORT int cuMemSetAccess(uint64_t address, size_t bytes, const int *rights,
                          size_t count) {
  ENTER("cuMemSetAccess");
  auto found = objects().mappings.find(address);
  if (found == objects().mappings.end() || found->second.bytes != bytes ||
      count != 1 || rights[0] != 1 || rights[2] != 3)
    return invalidValue;
  const Object &object = objects().objects[found->second.object];
  if (object.shared || found->second.isAccessible)
    return 0;
  found->second.isAccessible = true;
  void *made =
      mmap(reinterpret_cast<void *>(address), bytes, PROT_READ | PROT_WRITE,
           MAP_SHARED | MAP_FIXED, object.fd, 0);
  return made == MAP_FAILED ? outOfMemory : 0;
}
EXPORT int cuMemExportToShareableHandle(int *fd, uint64_t number, int type,
                                        unsigned long long) {
  ENTER("cuMemExportToShareableHandle");
  auto found = objects().objects.find(number);
  if (found == objects().objects.end() || type != 1)
    return invalidValue;
  *fd = fcntl(found->second.fd, F_DUPFD_CLOEXEC, 0);
  return *fd < 0 ? outOfMemory : 0;
}
EXPORT int cuMemImportFromShareableHandle(uint64_t *number, void *handle,
                                          int type) {
  ENTER("cuMemImportFromShareableHandle");
  int fd = fcntl(int(intptr_t(handle)), F_DUPFD_CLOEXEC, 0);
  if (fd < 0 || type != 1)
    return invalidValue;
  char link[64] = "";
  std::string path = "/proc/self/fd/" + std::to_string(fd);
  (void)!readlink(path.c_str(), link, sizeof(link) - 1);
  Object object{fd, size_t(lseek(fd, 0, SEEK_END))};
  if (std::strstr(link, switchName)) {
    object.shared = openSwitch(fd);
    object.bytes = object.shared->bytes;
  }
  *number = add(object);
  return 0;
}

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

namespace {
struct SwitchKind {
  unsigned devices;
  size_t bytes;
  unsigned long long types, flags;
};
} // namespace

EXPORT int cuMulticastGetGranularity(size_t *bytes, const SwitchKind *kind,
                                     int) {
  ENTER("cuMulticastGetGranularity");
  *bytes = granule;
  return kind->devices == 0 ? invalidValue : 0;
}
EXPORT int cuMulticastCreate(uint64_t *number, const SwitchKind *kind) {
  ENTER("cuMulticastCreate");
  if (kind->devices < 2 || kind->devices > mostMembers || kind->bytes == 0 ||
      kind->bytes % granule != 0 || kind->types != 1 || kind->flags != 0)
    return invalidValue;
  int fd = memfd_create(switchName, MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, sizeof(Switch)) != 0)
    return outOfMemory;
  Switch *made = openSwitch(fd);
  made->devices = kind->devices;
  made->bytes = kind->bytes;
  *number = add({fd, kind->bytes, made});
  return 0;
}
EXPORT int cuMulticastAddDevice(uint64_t number, int device) {
  ENTER("cuMulticastAddDevice");
  Object *object = find(number, true);
  if (!object || !hasSwitch(device))
    return invalidValue;
  for (const Switch::Member &member : object->shared->members)
    if (member.device == device + 1)
      return invalidValue; // it is in already
  unsigned index = object->shared->joined++;
  if (index >= object->shared->devices)
    return invalidValue;
  object->shared->members[index].device = device + 1;
  return 0;
}
/// The device is that of the memory for a real driver, here the current one.
EXPORT int cuMulticastBindMem(uint64_t number, size_t offset, uint64_t memory,
                              size_t memoryOffset, size_t bytes,
                              unsigned long long) {
  ENTER("cuMulticastBindMem");
  Object *object = find(number, true), *bound = find(memory, false);
  if (!object || !bound || offset != 0 || memoryOffset % granule != 0 ||
      bytes == 0 || bytes % granule != 0 || bytes > object->bytes ||
      memoryOffset + bytes > bound->bytes)
    return invalidValue;
  if (object->shared->joined != object->shared->devices)
    return notReady; // others have yet to join
  for (Switch::Member &member : object->shared->members)
    if (member.device == currentDevice() + 1 && !member.isBound) {
      member.pid = getpid();
      // Which stays open as long as this process has the memory bound.
      member.fd = bound->fd;
      member.offset = memoryOffset;
      member.bytes = bytes;
      member.isBound = true;
      ++object->shared->bound;
      return 0;
    }
  return invalidValue;
}
EXPORT int cuMulticastUnbind(uint64_t number, int device, size_t, size_t) {
  ENTER("cuMulticastUnbind");
  Object *object = find(number, true);
  if (!object)
    return invalidValue;
  for (Switch::Member &member : object->shared->members)
    if (member.device == device + 1 && member.isBound) {
      member.isBound = false;
      --object->shared->bound;
      return 0;
    }
  return invalidValue;
}

//===----------------------------------------------------------------------===//
// In place of multimem
//===----------------------------------------------------------------------===//

/// Has `visit` access a word of each member; false if `address` is none that
/// all of them have bound.
static bool
forEachMember(uint64_t address,
              const std::function<bool(int fd, size_t offset)> &visit) {
  std::lock_guard lock(objects().mutex);
  auto found = objects().mappings.upper_bound(address);
  if (found == objects().mappings.begin())
    return false;
  --found;
  size_t offset = address - found->first;
  Switch *shared = objects().objects[found->second.object].shared;
  if (!shared || offset + sizeof(uint32_t) > found->second.bytes ||
      shared->bound != shared->devices)
    return false;
  for (unsigned i = 0; i < shared->devices; ++i) {
    const Switch::Member &member = shared->members[i];
    std::string path = "/proc/" + std::to_string(member.pid) + "/fd/" +
                       std::to_string(member.fd);
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    bool isDone = fd >= 0 && visit(fd, member.offset + offset);
    if (fd >= 0)
      close(fd);
    if (!isDone)
      return false;
  }
  return true;
}
EXPORT bool scclFakeMulticast(uint64_t address, uint32_t value) {
  return forEachMember(address, [&](int fd, size_t offset) {
    return pwrite(fd, &value, sizeof(value), offset) == sizeof(value);
  });
}
EXPORT bool scclFakeLoadReduce(uint64_t address, uint32_t *sum) {
  *sum = 0;
  return forEachMember(address, [&](int fd, size_t offset) {
    uint32_t value = 0;
    bool isRead = pread(fd, &value, sizeof(value), offset) == sizeof(value);
    *sum += value;
    return isRead;
  });
}
