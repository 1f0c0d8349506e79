//===- GPUDevice.cpp - Ranks on GPUs --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUDevice.h"

#include "Runtime/Tracer.h"

using namespace sccl;

/// How events are made.
static constexpr unsigned withoutTiming = 2;

GPUDevice::GPUDevice(std::shared_ptr<GPUContext> context)
    : context(std::move(context)), driver(this->context->driver),
      theTracer(std::make_unique<Tracer>()) {}

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
  constexpr unsigned nonBlocking = 1;
  for (void **stream : {&ownStream, &sideStream, &forkedStream})
    if (Status status = driver.call(driver.createStream, stream, nonBlocking);
        !status.ok())
      return status;
  for (void **event : {&beginEvent, &endEvent, &forkEvent, &joinEvent})
    if (Status status = driver.call(driver.createEvent, event, withoutTiming);
        !status.ok())
      return status;
  return {};
}

GPUDevice::~GPUDevice() {
  CurrentContext current(*context);
  for (void *memory : registered)
    driver.unregisterHost.function(memory);
  for (void *stream : {ownStream, sideStream, forkedStream})
    if (stream)
      driver.destroyStream.function(stream);
  for (void *event : {beginEvent, endEvent, forkEvent, joinEvent})
    if (event)
      driver.destroyEvent.function(event);
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

/// Both streams may wait for other GPUs: 32 blocks of ours, and as many as NCCL
/// or RCCL have channels.
bool GPUDevice::hasRoomToFork() const {
  constexpr int ownBlocks = 32, channelsOfNCCL = 64, channelsOfRCCL = 128;
  return multiprocessors >=
         ownBlocks + (driver.isCUDA() ? channelsOfNCCL : channelsOfRCCL);
}

/// While a capture has the forked stream, streams that are no part of it do
/// without.
Status GPUDevice::fork(void *stream, void *&side) {
  side = stream;
  if (!hasRoomToFork())
    return {};
  std::optional<Capture> taken, own;
  if (Status status = captureOf(forkedStream, taken); !status.ok())
    return status;
  if (Status status = captureOf(stream, own); !status.ok())
    return status;
  if (taken && taken != own)
    return {};
  side = forkedStream;
  return orderAfter(forkEvent, streamOr(stream), side);
}

Status GPUDevice::join(void *stream) {
  return orderAfter(joinEvent, forkedStream, streamOr(stream));
}

/// None for a stream that is not captured.
Status GPUDevice::captureOf(void *stream, std::optional<Capture> &capture) {
  if (!stream)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  int state = 0;
  Capture found = 0;
  Status status = driver.call(driver.captureInfo, stream, &state, &found);
  if (state != 0)
    capture = found;
  return status;
}

Status GPUDevice::isCaptured(void *stream, bool &captured) {
  std::optional<Capture> capture;
  Status status = captureOf(stream, capture);
  captured = capture.has_value();
  return status;
}

Status GPUDevice::withStream(void *stream,
                             llvm::function_ref<Status(void *)> call) {
  CurrentContext current(*context);
  return current.status().ok() ? call(streamOr(stream)) : current.status();
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

/// Launches so many blocks for each channel.
Status GPUDevice::launchBlocks(const DeviceFunction &function, uint64_t blocks,
                               void **parameters, void *stream) {
  const auto &loaded = static_cast<const GPUFunction &>(function);
  if (loaded.grid.channels == 0)
    return {};
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  return driver.call(
      driver.launch, loaded.entry, loaded.grid.channels * unsigned(blocks), 1u,
      1u, loaded.grid.blockSize, 1u, 1u, 0u, streamOr(stream), parameters);
}

Status GPUDevice::launch(const DeviceFunction &function,
                         const LaunchArguments &arguments, void *stream) {
  LaunchArguments values = arguments;
  void *parameters[] = {&values.input,     &values.output,   &values.scratch,
                        &values.control,   &values.peers,    &values.abort,
                        &values.segment,   &values.distance, &values.table,
                        &values.reduction, &values.blocks};
  return launchBlocks(function, values.blocks, parameters, stream);
}

Status GPUDevice::launchVirtual(const DeviceFunction &function,
                                RankArguments *ranks, uint64_t blocks,
                                void *stream) {
  void *parameters[] = {&ranks};
  return launchBlocks(function, blocks, parameters, stream);
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

Status GPUDevice::fill(void *to, uint8_t byte, uint64_t bytes, void *stream) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  return driver.call(driver.fill, to, static_cast<unsigned char>(byte),
                     size_t(bytes), streamOr(stream));
}

/// Asks one of the driver's objects whether it is done.
static Status query(const GPUContext &context, const GPUDriver &driver,
                    const DriverCall<void *> &call, void *object, bool &done) {
  CurrentContext current(context);
  if (!current.status().ok())
    return current.status();
  RelaxedCapture relaxed(driver);
  int code = call.function(object);
  done = code == 0;
  if (code == 0 || code == GPUDriver::notReady)
    return {};
  return driver.error(call.name, code);
}

Status GPUDevice::poll(void *stream, bool &done) {
  return query(*context, driver, driver.queryStream, streamOr(stream), done);
}

namespace {
class GPUEvent : public StreamEvent {
public:
  GPUEvent(std::shared_ptr<GPUContext> context, const GPUDriver &driver,
           void *ownStream, void *event)
      : context(std::move(context)), driver(driver), ownStream(ownStream),
        event(event) {}
  ~GPUEvent() override {
    CurrentContext current(*context);
    driver.destroyEvent.function(event);
  }
  Status record(void *stream) override {
    CurrentContext current(*context);
    if (!current.status().ok())
      return current.status();
    return driver.call(driver.recordEvent, event, stream ? stream : ownStream);
  }
  Status poll(bool &isReached) const override {
    return query(*context, driver, driver.queryEvent, event, isReached);
  }

private:
  const std::shared_ptr<GPUContext> context;
  const GPUDriver &driver;
  void *const ownStream, *const event;
};
} // namespace

Status GPUDevice::makeEvent(std::unique_ptr<StreamEvent> &event) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  void *made = nullptr;
  if (Status status =
          driver.call(driver.createEvent, &made, unsigned(withoutTiming));
      !status.ok())
    return status;
  event = std::make_unique<GPUEvent>(context, driver, ownStream, made);
  return {};
}

/// %globaltimer counts nanoseconds, and s_memrealtime what the driver says.
Status GPUDevice::clockPeriod(double &nanoseconds) const {
  nanoseconds = 1;
  if (driver.isCUDA())
    return {};
  constexpr int wallClockRate = 10017; // kilohertz
  constexpr double nanosecondsPerMillisecond = 1e6;
  int kilohertz = 0;
  if (Status status = context->attribute(wallClockRate, kilohertz);
      !status.ok())
    return status;
  if (kilohertz <= 0)
    return {scclErrorUnsupported, arch.name + " device " +
                                      std::to_string(context->index) +
                                      " does not say how fast its clock is"};
  nanoseconds = nanosecondsPerMillisecond / kilohertz;
  return {};
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
