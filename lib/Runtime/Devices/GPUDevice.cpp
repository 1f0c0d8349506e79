//===- GPUDevice.cpp - Ranks on GPUs --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "GPUContext.h"
#include "GPUTarget.h"
#include "Runtime/SharedMemory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// What a DeviceHandle holds.
struct GPUHandle {
  ProcessId owner;
  uint64_t address, bytes;
  int32_t index;     ///< of the device, in the owner's process
  int32_t ipcResult; ///< 0 if `ipc` is valid
  IpcMemory ipc;
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

private:
  std::shared_ptr<GPUMemory> memory;
  GPUHandle about;
};

/// Code on a GPU.
struct GPUModule {
  std::shared_ptr<GPUContext> context;
  void *module = nullptr;
  ~GPUModule() {
    if (!module)
      return;
    CurrentContext current(*context);
    context->driver.unloadModule.function(module);
  }
};

class GPUFunction : public DeviceFunction {
public:
  std::shared_ptr<GPUModule> module;
  void *entry = nullptr;
  unsigned blocks = 0, blockSize = 0;
};

/// A place for code that ranks of this process share. Whoever loads it holds
/// the mutex.
struct ModuleSlot {
  std::mutex mutex;
  std::weak_ptr<GPUModule> module;
};
} // namespace

namespace {
/// While a thread captures, it may do what is no part of the graph only in this
/// mode.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const GPUDriver &driver) : driver(driver) {
    driver.exchangeCaptureMode.function(&mode);
  }
  ~RelaxedCapture() { driver.exchangeCaptureMode.function(&mode); }

private:
  const GPUDriver &driver;
  int mode = 2; ///< relaxed; then that of before
};
} // namespace

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

/// Code of this process by vendor, device and image: drivers take seconds to
/// compile PTX, and ranks that share a GPU have the same.
using ModuleKey = std::tuple<std::string, int, std::string>;
static std::map<ModuleKey, std::shared_ptr<ModuleSlot>> sharedModules;

static std::shared_ptr<ModuleSlot> slotOf(const ModuleKey &key) {
  std::lock_guard lock(sharedMutex);
  // Only the map knows a slot that nobody is about to fill.
  std::erase_if(sharedModules, [](const auto &entry) {
    return entry.second.use_count() == 1 && entry.second->module.expired();
  });
  std::shared_ptr<ModuleSlot> &slot = sharedModules[key];
  if (!slot)
    slot = std::make_shared<ModuleSlot>();
  return slot;
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

namespace {
class GPUDevice : public Device {
public:
  explicit GPUDevice(std::shared_ptr<GPUContext> context)
      : context(std::move(context)), driver(this->context->driver) {}
  ~GPUDevice() override;
  Status prepare();

  const std::string &target() const override { return arch.name; }
  const std::string &id() const override { return busId; }
  unsigned suitability(const plan::KernelInfo &kernel) const override {
    return arch.suitability(kernel);
  }

  Status allocate(uint64_t bytes,
                  std::unique_ptr<DeviceBuffer> &buffer) override;
  Status import(const DeviceHandle &handle,
                std::unique_ptr<DeviceBuffer> &buffer) override;
  Status mapHostMemory(void *memory, uint64_t bytes, void **mapped) override;
  Status load(llvm::StringRef image, const std::string &symbol, unsigned blocks,
              unsigned blockSize,
              std::unique_ptr<DeviceFunction> &function) override;
  /// AMD's caches keep what peers change in memory of hipMalloc.
  bool peersReachAnyMemory() const override { return driver.isCUDA(); }
  Status checkBuffer(const void *buffer, const char *name) const override;
  Status checkStream(void *) const override { return {}; }
  Status begin(void *stream) override;
  Status end(void *stream) override;
  Status isCaptured(void *stream, bool &captured) override;
  Status copyNow(void *to, const void *from, uint64_t bytes) override;
  Status launch(const DeviceFunction &function,
                const LaunchArguments &arguments, void *stream) override;
  Status launchVirtual(const DeviceFunction &function, RankArguments *ranks,
                       void *stream) override;
  Status copy(void *to, const void *from, uint64_t bytes,
              void *stream) override;
  Status poll(void *stream, bool &done) override;
  bool isSynchronous() const override { return false; }

private:
  Status readArch();
  Status getMemory(uint64_t bytes, void **memory);
  Status enablePeer(int index);
  Status loadImage(const std::string &image, void **module);
  Status loadShared(const std::string &image,
                    std::shared_ptr<GPUModule> &module);
  Status checkResident(const GPUFunction &function) const;
  Status launchBlocks(const DeviceFunction &function, void **parameters,
                      void *stream);
  /// What comes to stream `then` from now on runs after what is in `first`.
  Status orderAfter(void *event, void *first, void *then);
  void *streamOr(void *stream) const { return stream ? stream : ownStream; }

  std::shared_ptr<GPUContext> context;
  const GPUDriver &driver;
  GPUTarget arch;
  std::string busId;
  int multiprocessors = 0;
  bool seesPageable = false;
  /// Used in place of the null stream, on which ranks of one GPU would wait for
  /// each other.
  void *ownStream = nullptr;
  /// For what no launch should be waited for.
  void *sideStream = nullptr;
  /// Between the null stream and the own one.
  void *beginEvent = nullptr, *endEvent = nullptr;
  std::vector<void *> registered;
  std::vector<std::shared_ptr<GPUContext>> peers;
};
} // namespace

Status GPUDevice::readArch() {
  if (!driver.isCUDA()) {
    // The structure has grown with versions; only where it begins is certain.
    std::vector<char> properties(1 << 14);
    if (Status status = driver.call(driver.getProperties,
                                    static_cast<void *>(properties.data()),
                                    context->device);
        !status.ok())
      return status;
    return GPUTarget::fromProperties({properties.data(), properties.size()},
                                     arch);
  }
  constexpr int majorAttribute = 75, minorAttribute = 76;
  int major = 0, minor = 0;
  if (Status status = context->attribute(majorAttribute, major); !status.ok())
    return status;
  if (Status status = context->attribute(minorAttribute, minor); !status.ok())
    return status;
  arch = GPUTarget::fromCapability(major, minor);
  return {};
}

Status GPUDevice::prepare() {
  if (Status status = readArch(); !status.ok())
    return status;
  int cooperative = 0, pageable = 0;
  const DriverConstants &constants = driver.constants;
  for (auto [which, value] :
       {std::pair{constants.multiprocessors, &multiprocessors},
        {constants.cooperativeLaunch, &cooperative},
        {constants.pageableMemory, &pageable}})
    if (Status status = context->attribute(which, *value); !status.ok())
      return status;
  seesPageable = pageable != 0;
  if (!cooperative)
    return {scclErrorUnsupported,
            arch.name + " device " + std::to_string(context->index) +
                " has no cooperative launches, which keep the blocks of a "
                "kernel running at the same time"};
  char bus[32] = "";
  if (Status status =
          driver.call(driver.getBusId, bus, int(sizeof(bus)), context->device);
      !status.ok())
    return status;
  busId = bus;
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  constexpr unsigned nonBlocking = 1, withoutTiming = 2;
  for (void **stream : {&ownStream, &sideStream})
    if (Status status = driver.call(driver.createStream, stream, nonBlocking);
        !status.ok())
      return status;
  for (void **event : {&beginEvent, &endEvent})
    if (Status status = driver.call(driver.createEvent, event, withoutTiming);
        !status.ok())
      return status;
  return {};
}

GPUDevice::~GPUDevice() {
  CurrentContext current(*context);
  for (void *memory : registered)
    driver.unregisterHost.function(memory);
  for (void *stream : {ownStream, sideStream})
    if (stream)
      driver.destroyStream.function(stream);
  for (void *event : {beginEvent, endEvent})
    if (event)
      driver.destroyEvent.function(event);
}

//===----------------------------------------------------------------------===//
// Memory of the device
//===----------------------------------------------------------------------===//

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
  if (Status status =
          driver.call(driver.fill, memory->address,
                      static_cast<unsigned char>(0), size_t(whole), sideStream);
      !status.ok())
    return status;
  if (Status status = driver.call(driver.waitForStream, sideStream);
      !status.ok())
    return status;
  GPUHandle about = {};
  if (Status status = ProcessId::self(about.owner); !status.ok())
    return status;
  about.address = uint64_t(memory->address);
  about.bytes = bytes;
  about.index = context->index;
  // Ranks that are threads do without, so that is an error only for others.
  about.ipcResult = driver.exportMemory.function(&about.ipc, memory->address);
  shareInProcess(memory);
  buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
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
  if (Status status = ProcessId::self(here); !status.ok())
    return status;
  if (about.owner == here) {
    std::shared_ptr<GPUMemory> memory = findInProcess(about.address);
    if (!memory)
      return {scclErrorInternal, "memory of a rank of this process is gone"};
    if (Status status = enablePeer(about.index); !status.ok())
      return status;
    buffer = std::make_unique<GPUBuffer>(std::move(memory), about);
    return {};
  }
  if (about.ipcResult != 0) {
    Status cause = driver.error(driver.exportMemory.name, about.ipcResult);
    return {cause.code(),
            "a rank cannot share memory with processes: " + cause.message()};
  }
  auto memory = std::make_shared<GPUMemory>();
  memory->context = context;
  memory->isImported = true;
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

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Status GPUDevice::loadImage(const std::string &image, void **module) {
  if (!driver.isCUDA())
    return driver.call(driver.loadModule, module,
                       static_cast<const void *>(image.data()));
  constexpr int errorLog = 5, errorLogBytes = 6;
  char log[1024] = "";
  int options[] = {errorLog, errorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  Status status =
      driver.call(driver.loadModuleEx, module,
                  static_cast<const void *>(image.data()), 2u, options, values);
  if (status.ok() || log[0] == '\0')
    return status;
  return {status.code(), status.message() + ": " + log};
}

/// Loads an image, unless a rank of this process has done so.
Status GPUDevice::loadShared(const std::string &image,
                             std::shared_ptr<GPUModule> &module) {
  std::shared_ptr<ModuleSlot> slot =
      slotOf({driver.vendor, context->index, image});
  std::lock_guard lock(slot->mutex);
  module = slot->module.lock();
  if (module)
    return {};
  auto made = std::make_shared<GPUModule>();
  made->context = context;
  if (Status status = loadImage(image, &made->module); !status.ok())
    return status;
  slot->module = module = std::move(made);
  return {};
}

Status GPUDevice::checkResident(const GPUFunction &function) const {
  int perMultiprocessor = 0;
  if (Status status =
          driver.call(driver.occupancy, &perMultiprocessor, function.entry,
                      int(function.blockSize), size_t(0));
      !status.ok())
    return status;
  uint64_t resident = uint64_t(perMultiprocessor) * multiprocessors;
  if (function.blocks <= resident)
    return {};
  return {scclErrorUnsupported,
          "a kernel needs " + std::to_string(function.blocks) + " blocks of " +
              std::to_string(function.blockSize) +
              " threads at once, and this GPU holds " +
              std::to_string(resident) + ": " +
              std::to_string(perMultiprocessor) + " on each of " +
              std::to_string(multiprocessors) +
              " multiprocessors; compile with fewer --blocks-per-link or a "
              "smaller --block-size"};
}

Status GPUDevice::load(llvm::StringRef image, const std::string &symbol,
                       unsigned blocks, unsigned blockSize,
                       std::unique_ptr<DeviceFunction> &function) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  auto loaded = std::make_unique<GPUFunction>();
  loaded->blocks = blocks;
  loaded->blockSize = blockSize;
  // Drivers take PTX that ends with a null, and other code that is aligned.
  if (Status status = loadShared(image.str(), loaded->module); !status.ok())
    return status;
  if (Status status = driver.call(driver.getFunction, &loaded->entry,
                                  loaded->module->module, symbol.c_str());
      !status.ok())
    return status;
  if (Status status = checkResident(*loaded); !status.ok())
    return status;
  function = std::move(loaded);
  return {};
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Status GPUDevice::checkBuffer(const void *buffer, const char *name) const {
  if (seesPageable)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  constexpr int memoryType = 2;
  unsigned value = 0;
  int code = driver.pointerAttribute.function(&value, memoryType, buffer);
  if (code == 0)
    return {};
  return invalid(std::string(name) + " is no memory that the " + driver.vendor +
                 " device can access");
}

Status GPUDevice::orderAfter(void *event, void *first, void *then) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  if (Status status = driver.call(driver.recordEvent, event, first);
      !status.ok())
    return status;
  return driver.call(driver.waitForEvent, then, event, 0u);
}

Status GPUDevice::begin(void *stream) {
  return stream ? Status{} : orderAfter(beginEvent, nullptr, ownStream);
}

Status GPUDevice::end(void *stream) {
  return stream ? Status{} : orderAfter(endEvent, ownStream, nullptr);
}

Status GPUDevice::isCaptured(void *stream, bool &captured) {
  captured = false;
  if (!stream)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  int state = 0;
  Status status = driver.call(driver.captureStatus, stream, &state);
  captured = state != 0;
  return status;
}

Status GPUDevice::copyNow(void *to, const void *from, uint64_t bytes) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  RelaxedCapture relaxed(driver);
  Status status = copy(to, from, bytes, sideStream);
  // What still copies may not lose its memory.
  Status waited = driver.call(driver.waitForStream, sideStream);
  return status.ok() ? waited : status;
}

Status GPUDevice::launchBlocks(const DeviceFunction &function,
                               void **parameters, void *stream) {
  const auto &loaded = static_cast<const GPUFunction &>(function);
  if (loaded.blocks == 0)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  return driver.call(driver.launch, loaded.entry, loaded.blocks, 1u, 1u,
                     loaded.blockSize, 1u, 1u, 0u, streamOr(stream),
                     parameters);
}

Status GPUDevice::launch(const DeviceFunction &function,
                         const LaunchArguments &arguments, void *stream) {
  LaunchArguments values = arguments;
  void *parameters[] = {&values.input,   &values.output,   &values.scratch,
                        &values.control, &values.peers,    &values.abort,
                        &values.segment, &values.distance, &values.table};
  return launchBlocks(function, parameters, stream);
}

Status GPUDevice::launchVirtual(const DeviceFunction &function,
                                RankArguments *ranks, void *stream) {
  void *parameters[] = {&ranks};
  return launchBlocks(function, parameters, stream);
}

Status GPUDevice::copy(void *to, const void *from, uint64_t bytes,
                       void *stream) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  constexpr int anyDirection = 4;
  if (driver.copy)
    return driver.call(driver.copy, to, from, size_t(bytes), streamOr(stream));
  return driver.call(driver.copyEx, to, from, size_t(bytes), anyDirection,
                     streamOr(stream));
}

Status GPUDevice::poll(void *stream, bool &done) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  int code = driver.queryStream.function(streamOr(stream));
  done = code == 0;
  if (code == 0 || code == GPUDriver::notReady)
    return {};
  return driver.error(driver.queryStream.name, code);
}

Status sccl::createGPUDevice(const scclConfig &config,
                             std::unique_ptr<Device> &device) {
  const GPUDriver *driver = nullptr;
  if (Status status = loadGPUDriver(config.device, driver); !status.ok())
    return status;
  std::shared_ptr<GPUContext> context;
  if (Status status = GPUContext::open(*driver, config.deviceIndex, context);
      !status.ok())
    return status;
  auto made = std::make_unique<GPUDevice>(std::move(context));
  if (Status status = made->prepare(); !status.ok())
    return status;
  device = std::move(made);
  return {};
}
