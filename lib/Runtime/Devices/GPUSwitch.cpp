//===- GPUSwitch.cpp - Memory of GPUs at a switch -------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A switch is a number of CUDA's driver, like memory that was made apart from
// its address. All devices join it before the first binds memory, and kernels
// use it when all have.
//
//===----------------------------------------------------------------------===//

#include "GPUSwitch.h"

#include "GPUDevice.h"

#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

static constexpr int byDescriptor = 1;

Status OfferedDescriptor::offer(const GPUDriver &driver, uint64_t memory) {
  if (Status status =
          driver.call(driver.exportDescriptor, static_cast<void *>(&descriptor),
                      memory, byDescriptor, 0ull);
      !status.ok()) {
    descriptor = -1;
    return status;
  }
  (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  return {};
}

void OfferedDescriptor::withdraw() {
  if (descriptor < 0)
    return;
  close(descriptor);
  descriptor = -1;
  (void)prctl(PR_SET_PTRACER, 0, 0, 0, 0);
}

/// Takes a copy of a descriptor of a process, which may be this one.
static Status takeDescriptor(const ProcessId &owner, int number, int &taken) {
  if (owner.pid == getpid()) {
    taken = fcntl(number, F_DUPFD_CLOEXEC, 0);
  } else {
    long process = syscall(SYS_pidfd_open, pid_t(owner.pid), 0);
    if (process >= 0) {
      taken = int(syscall(SYS_pidfd_getfd, int(process), number, 0));
      int error = errno;
      close(int(process));
      errno = error;
    }
  }
  if (taken >= 0)
    return {};
  return {scclErrorSystem, "a descriptor of process " +
                               std::to_string(owner.pid) +
                               " cannot be taken: " + std::strerror(errno)};
}

Status sccl::takeMemory(const GPUDriver &driver, const ProcessId &owner,
                        int descriptor, uint64_t &memory) {
  int taken = -1;
  if (Status status = takeDescriptor(owner, descriptor, taken); !status.ok())
    return status;
  Status status =
      driver.call(driver.importDescriptor, &memory,
                  reinterpret_cast<void *>(intptr_t(taken)), byDescriptor);
  close(taken);
  return status;
}

Status sccl::roundForSwitch(const GPUDriver &driver, unsigned devices,
                            uint64_t &bytes) {
  SwitchKind kind;
  kind.devices = devices;
  kind.bytes = bytes;
  size_t granule = 0;
  if (Status status =
          driver.call(driver.switchGranularity, &granule,
                      static_cast<const void *>(&kind), /*minimum=*/0);
      !status.ok())
    return status;
  if (granule == 0 || bytes > UINT64_MAX - granule)
    return {scclErrorOutOfMemory,
            "no switch has " + std::to_string(bytes) + " bytes of memory"};
  bytes = (std::max<uint64_t>(bytes, 1) + granule - 1) / granule * granule;
  return {};
}

//===----------------------------------------------------------------------===//
// Switches
//===----------------------------------------------------------------------===//

namespace {
/// What a DeviceHandle of a switch holds.
struct SwitchHandle {
  ProcessId owner;
  uint64_t bytes;
  int32_t descriptor;
};
static_assert(sizeof(SwitchHandle) <= sizeof(DeviceHandle::bytes));

class GPUSwitch : public SwitchMemory {
public:
  GPUSwitch(std::shared_ptr<GPUContext> context, uint64_t number,
            uint64_t bytes)
      : bytes(bytes) {
    memory.context = std::move(context);
    memory.number = number;
  }
  ~GPUSwitch() override {
    if (!isBound)
      return;
    CurrentContext current(*memory.context);
    driver().unbindAtSwitch.function(memory.number, memory.context->device, 0,
                                     bytes);
  }

  Status join() {
    return driver().call(driver().addToSwitch, memory.number,
                         memory.context->device);
  }
  Status offer() { return offered.offer(driver(), memory.number); }

  DeviceHandle handle() const override {
    SwitchHandle about = {{}, bytes, offered.number()};
    DeviceHandle result;
    if (ProcessId::find(getpid(), about.owner).ok())
      std::memcpy(result.bytes.data(), &about, sizeof(about));
    return result;
  }
  void seal() override { offered.withdraw(); }

  Status bind(const DeviceBuffer &buffer) override {
    CurrentContext current(*memory.context);
    if (!current.status().ok())
      return current.status();
    if (Status status =
            driver().call(driver().bindAtSwitch, memory.number, size_t(0),
                          numberOf(buffer), size_t(0), size_t(bytes), 0ull);
        !status.ok())
      return status;
    isBound = true;
    return memory.map(bytes);
  }
  char *data() const override { return static_cast<char *>(memory.address); }

private:
  const GPUDriver &driver() const { return memory.context->driver; }

  GPUMemory memory; ///< the switch itself
  uint64_t bytes;
  bool isBound = false;
  OfferedDescriptor offered;
};
} // namespace

Status GPUDevice::checkSwitch() const {
  constexpr int multicastSupported = 132;
  int can = 0;
  // Drivers that do not know the attribute have no switches.
  bool isKnown =
      driver.hasSwitches && context->attribute(multicastSupported, can).ok();
  if (isKnown && can != 0)
    return {};
  return {scclErrorUnsupported, arch.name + " device " +
                                    std::to_string(context->index) +
                                    " has no multicast through a switch"};
}

Status GPUDevice::makeSwitch(uint64_t bytes, unsigned ranks,
                             std::unique_ptr<SwitchMemory> &memory) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  if (Status status = roundForSwitch(driver, ranks, bytes); !status.ok())
    return status;
  SwitchKind kind;
  kind.devices = ranks;
  kind.bytes = bytes;
  uint64_t number = 0;
  if (Status status = driver.call(driver.createSwitch, &number,
                                  static_cast<const void *>(&kind));
      !status.ok())
    return status;
  auto made = std::make_unique<GPUSwitch>(context, number, bytes);
  if (Status status = made->offer(); !status.ok())
    return status;
  if (Status status = made->join(); !status.ok())
    return status;
  memory = std::move(made);
  return {};
}

Status GPUDevice::joinSwitch(const DeviceHandle &handle,
                             std::unique_ptr<SwitchMemory> &memory) {
  SwitchHandle about;
  std::memcpy(&about, handle.bytes.data(), sizeof(about));
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  uint64_t number = 0;
  if (Status status = takeMemory(driver, about.owner, about.descriptor, number);
      !status.ok())
    return status;
  auto made = std::make_unique<GPUSwitch>(context, number, about.bytes);
  if (Status status = made->join(); !status.ok())
    return status;
  memory = std::move(made);
  return {};
}
