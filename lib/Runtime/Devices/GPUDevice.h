//===- GPUDevice.h - Ranks on GPUs ------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_GPUDEVICE_H
#define SCCL_LIB_RUNTIME_DEVICES_GPUDEVICE_H

#include "Device.h"
#include "GPUContext.h"
#include "GPUTarget.h"

#include <optional>
#include <vector>

namespace sccl {

struct GPUModule;

/// A kernel, and how it is launched.
class GPUFunction : public DeviceFunction {
public:
  std::shared_ptr<GPUModule> module;
  void *entry = nullptr;
  Grid grid;
};

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

/// One GPU as one rank uses it.
class GPUDevice : public Device {
public:
  explicit GPUDevice(std::shared_ptr<GPUContext> context);
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
  Status checkSwitch() const override;
  Status allocateForSwitch(uint64_t bytes, unsigned ranks,
                           std::unique_ptr<DeviceBuffer> &buffer) override;
  Status makeSwitch(uint64_t bytes, unsigned ranks,
                    std::unique_ptr<SwitchMemory> &memory) override;
  Status joinSwitch(const DeviceHandle &handle,
                    std::unique_ptr<SwitchMemory> &memory) override;
  Status mapHostMemory(void *memory, uint64_t bytes, void **mapped) override;
  Status load(llvm::StringRef image, const std::string &symbol,
              const Grid &grid,
              std::unique_ptr<DeviceFunction> &function) override;
  /// AMD's caches keep what peers change in memory of hipMalloc.
  bool peersReachAnyMemory() const override { return driver.isCUDA(); }
  Status checkBuffer(const void *buffer, const char *name) const override;
  Status checkStream(void *) const override { return {}; }
  Status begin(void *stream) override;
  Status end(void *stream) override;
  Status isCaptured(void *stream, bool &captured) override;
  Status withStream(void *stream,
                    llvm::function_ref<Status(void *)> call) override;
  Status fork(void *stream, void *&side) override;
  Status join(void *stream) override;
  bool hasRoomToFork() const override;
  Status fill(void *to, uint8_t byte, uint64_t bytes, void *stream) override;
  Status copyNow(void *to, const void *from, uint64_t bytes) override;
  Status launch(const DeviceFunction &function,
                const LaunchArguments &arguments, void *stream) override;
  Status launchVirtual(const DeviceFunction &function, RankArguments *ranks,
                       uint64_t blocks, void *stream) override;
  Status copy(void *to, const void *from, uint64_t bytes,
              void *stream) override;
  Status makeEvent(std::unique_ptr<StreamEvent> &event) override;
  Status poll(void *stream, bool &done) override;
  bool isSynchronous() const override { return false; }
  Tracer *tracer() const override { return theTracer.get(); }
  Status clockPeriod(double &nanoseconds) const override;

private:
  using Capture = unsigned long long; ///< as the driver numbers them
  Status captureOf(void *stream, std::optional<Capture> &capture);
  Status readArch();
  Status getMemory(uint64_t bytes, void **memory);
  Status clear(void *memory, uint64_t bytes);
  Status enablePeer(int index);
  Status loadImage(const std::string &image, void **module);
  Status loadShared(const std::string &image,
                    std::shared_ptr<GPUModule> &module);
  Status checkResident(const GPUFunction &function) const;
  Status launchBlocks(const DeviceFunction &function, uint64_t blocks,
                      void **parameters, void *stream);
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
  /// Of `fork`.
  void *forkedStream = nullptr;
  /// Between the null stream and the own one.
  void *beginEvent = nullptr, *endEvent = nullptr;
  /// Between a stream and the forked one.
  void *forkEvent = nullptr, *joinEvent = nullptr;
  std::unique_ptr<Tracer> theTracer;
  std::vector<void *> registered;
  std::vector<std::shared_ptr<GPUContext>> peers;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_GPUDEVICE_H
