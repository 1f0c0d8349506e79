//===- GPUMemory.cpp - Memory of GPUs and who else sees it ----------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUDevice.h"
#include "GPUSwitch.h"

#include "Runtime/SharedMemory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

using namespace sccl;

namespace {
/// What a DeviceHandle holds.
struct GPUHandle {
  ProcessId owner;
  uint64_t address, bytes;
  int32_t index;     ///< of the device, in the owner's process
  int32_t ipcResult; ///< 0 if `ipc` is valid
  IpcMemory ipc;
  int32_t descriptor;   ///< in place of `ipc`, if `mappedBytes` is not 0
  uint64_t mappedBytes; ///< of memory that was made for a switch
};
static_assert(sizeof(GPUHandle) <= sizeof(DeviceHandle::bytes));

class GPUBuffer : public DeviceBuffer {
public:
  GPUBuffer(std::shared_ptr<GPUMemory> memory, const GPUHandle &about)
      : memory(std::move(memory)), about(about) {}
  char *data() const override { return static_cast<char *>(memory->address); }
  uint64_t size() const override { return about.bytes; }
  DeviceHandle handle() const override {
    DeviceHandle result;
    std::memcpy(result.bytes.data(), &about, sizeof(about));
    return result;
  }

  void seal() override { offered.withdraw(); }

  std::shared_ptr<GPUMemory> memory;
  GPUHandle about;
  OfferedDescriptor offered; ///< of memory that was made for a switch
};
} // namespace

uint64_t sccl::numberOf(const DeviceBuffer &buffer) {
  return static_cast<const GPUBuffer &>(buffer).memory->number;
}

/// Memory of this process by address. Ranks that are threads share it, so that
/// it lasts until the last of them lets go.
static std::mutex sharedMutex;
static std::map<uint64_t, std::weak_ptr<GPUMemory>> sharedMemory;

static void shareInProcess(const std::shared_ptr<GPUMemory> &memory) {
  std::lock_guard lock(sharedMutex);
  std::erase_if(sharedMemory,
                [](const auto &entry) { return entry.second.expired(); });
  sharedMemory[uint64_t(memory->address)] = memory;
}

static std::shared_ptr<GPUMemory> findInProcess(uint64_t address) {
  std::lock_guard lock(sharedMutex);
  auto found = sharedMemory.find(address);
  return found == sharedMemory.end() ? nullptr : found->second.lock();
}

Status GPUDevice::getMemory(uint64_t bytes, void **memory) {
  if (driver.isCUDA())
    return driver.call(driver.allocate, memory, size_t(bytes));
  // Peers write here while kernels run. Where a cache of the GPU may hold stale
  // lines even of fine-grained memory, uncached memory is what is coherent.
  constexpr unsigned fineGrained = 1, uncached = 3;
  if (arch.wantsUncached &&
      driver.allocateEx.function(memory, bytes, uncached) == 0)
    return {};
  return driver.call(driver.allocateEx, memory, size_t(bytes), fineGrained);
}

/// Fills in what is alike for all memory of this process, of which `bytes` are
/// asked for.
static Status describe(const GPUMemory &memory, uint64_t bytes,
                       GPUHandle &about) {
  about.address = uint64_t(memory.address);
  about.bytes = bytes;
  about.index = memory.context->index;
  return ProcessId::find(getpid(), about.owner);
}

Status GPUDevice::allocate(uint64_t bytes,
                           std::unique_ptr<DeviceBuffer> &buffer) {
  // Drivers put small allocations together and export them together.
  constexpr uint64_t granule = 2 << 20;
  if (bytes > UINT64_MAX - granule)
    return {scclErrorOutOfMemory,
            "no device has " + std::to_string(bytes) + " bytes of memory"};
  uint64_t whole = (bytes + granule - 1) / granule * granule;
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  RelaxedCapture relaxed(driver);
  auto memory = std::make_shared<GPUMemory>();
  memory->context = context;
  if (Status status = getMemory(whole, &memory->address); !status.ok())
    return status;
  if (Status status = clear(memory->address, whole); !status.ok())
    return status;
  GPUHandle about = {};
  if (Status status = describe(*memory, bytes, about); !status.ok())
    return status;
  // Ranks that are threads do without, so that is an error only for others.
  about.ipcResult = driver.exportMemory.function(&about.ipc, memory->address);
  shareInProcess(memory);
  buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
  return {};
}

Status GPUDevice::clear(void *memory, uint64_t bytes) {
  if (Status status =
          driver.call(driver.fill, memory, static_cast<unsigned char>(0),
                      size_t(bytes), sideStream);
      !status.ok())
    return status;
  return driver.call(driver.waitForStream, sideStream);
}

Status GPUDevice::allocateForSwitch(uint64_t bytes, unsigned ranks,
                                    std::unique_ptr<DeviceBuffer> &buffer) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  RelaxedCapture relaxed(driver);
  uint64_t whole = bytes;
  if (Status status = roundForSwitch(driver, ranks, whole); !status.ok())
    return status;
  PhysicalMemory kind;
  kind.device = context->device;
  size_t granule = 0;
  if (Status status =
          driver.call(driver.memoryGranularity, &granule,
                      static_cast<const void *>(&kind), /*minimum=*/0);
      !status.ok())
    return status;
  granule = std::max<size_t>(granule, 1);
  whole = (whole + granule - 1) / granule * granule;
  auto memory = std::make_shared<GPUMemory>();
  memory->context = context;
  if (Status status =
          driver.call(driver.createMemory, &memory->number, size_t(whole),
                      static_cast<const void *>(&kind), 0ull);
      !status.ok())
    return status;
  if (Status status = memory->map(whole); !status.ok())
    return status;
  if (Status status = clear(memory->address, whole); !status.ok())
    return status;
  GPUHandle about = {};
  if (Status status = describe(*memory, bytes, about); !status.ok())
    return status;
  about.mappedBytes = whole;
  auto made = std::make_unique<GPUBuffer>(memory, about);
  if (Status status = made->offered.offer(driver, memory->number); !status.ok())
    return status;
  made->about.descriptor = made->offered.number();
  shareInProcess(memory);
  buffer = std::move(made);
  return {};
}

/// Makes memory of another GPU accessible to kernels of this one.
Status GPUDevice::enablePeer(int index) {
  auto isPeer = [index](const auto &peer) { return peer->index == index; };
  if (index == context->index ||
      std::any_of(peers.begin(), peers.end(), isPeer))
    return {};
  std::shared_ptr<GPUContext> peer;
  if (Status status = GPUContext::open(driver, index, peer); !status.ok())
    return status;
  int can = 0;
  if (Status status = driver.call(driver.canAccessPeer, &can, context->device,
                                  peer->device);
      !status.ok())
    return status;
  if (!can)
    return {scclErrorUnsupported, std::string(driver.vendor) + " device " +
                                      std::to_string(context->index) +
                                      " cannot access memory of device " +
                                      std::to_string(index)};
  bool isCUDA = driver.isCUDA();
  int code = isCUDA ? driver.enablePeerContext.function(peer->primary, 0)
                    : driver.enablePeerDevice.function(peer->device, 0);
  if (code != 0 && code != GPUDriver::peerAlreadyEnabled)
    return driver.error(isCUDA ? driver.enablePeerContext.name
                               : driver.enablePeerDevice.name,
                        code);
  peers.push_back(std::move(peer));
  return {};
}

Status GPUDevice::import(const DeviceHandle &handle,
                         std::unique_ptr<DeviceBuffer> &buffer) {
  GPUHandle about;
  std::memcpy(&about, handle.bytes.data(), sizeof(about));
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  ProcessId here;
  if (Status status = ProcessId::find(getpid(), here); !status.ok())
    return status;
  if (about.owner == here) {
    std::shared_ptr<GPUMemory> memory = findInProcess(about.address);
    if (!memory)
      return {scclErrorInternal, "memory of a rank of this process is gone"};
    if (Status status = about.mappedBytes != 0 ? memory->share(context->device)
                                               : enablePeer(about.index);
        !status.ok())
      return status;
    buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
    return {};
  }
  auto memory = std::make_shared<GPUMemory>();
  memory->context = context;
  memory->isImported = true;
  if (about.mappedBytes != 0) {
    if (Status status =
            takeMemory(driver, about.owner, about.descriptor, memory->number);
        !status.ok())
      return status;
    if (Status status = memory->map(about.mappedBytes); !status.ok())
      return status;
    buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
    return {};
  }
  if (about.ipcResult != 0) {
    Status cause = driver.error(driver.exportMemory.name, about.ipcResult);
    return {cause.code(),
            "a rank cannot share memory with processes: " + cause.message()};
  }
  constexpr unsigned enablePeerAccess = 1;
  if (Status status = driver.call(driver.importMemory, &memory->address,
                                  about.ipc, enablePeerAccess);
      !status.ok())
    return status;
  buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
  return {};
}

Status GPUDevice::mapHostMemory(void *memory, uint64_t bytes, void **mapped) {
  constexpr unsigned portableAndMapped = 3;
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  if (Status status = driver.call(driver.registerHost, memory, size_t(bytes),
                                  portableAndMapped);
      !status.ok())
    return status;
  registered.push_back(memory);
  return driver.call(driver.hostPointer, mapped, memory, 0u);
}
