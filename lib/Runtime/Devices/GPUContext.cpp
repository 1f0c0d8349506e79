//===- GPUContext.cpp - One GPU, as a process uses it ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUContext.h"

using namespace sccl;

Status GPUContext::open(const GPUDriver &driver, int index,
                        std::shared_ptr<GPUContext> &context) {
  int count = 0;
  if (Status status = driver.call(driver.countDevices, &count); !status.ok())
    return status;
  if (count == 0)
    return {scclErrorUnsupported,
            std::string("there is no ") + driver.vendor + " device here"};
  if (index < 0 || index >= count)
    return {scclErrorUnsupported,
            "deviceIndex is " + std::to_string(index) + ", and there are " +
                std::to_string(count) + " " + driver.vendor + " devices"};
  auto made = std::make_shared<GPUContext>(driver, index);
  if (Status status = driver.call(driver.getDevice, &made->device, index);
      !status.ok())
    return status;
  if (driver.retainContext)
    if (Status status =
            driver.call(driver.retainContext, &made->primary, made->device);
        !status.ok())
      return status;
  context = std::move(made);
  return {};
}

GPUContext::~GPUContext() {
  if (primary)
    driver.releaseContext.function(device);
}

CurrentContext::CurrentContext(const GPUContext &context) : context(context) {
  const GPUDriver &driver = context.driver;
  if (driver.pushContext) {
    entered = driver.call(driver.pushContext, context.primary);
    return;
  }
  entered = driver.call(driver.currentDevice, &before);
  if (entered.ok())
    entered = driver.call(driver.setDevice, context.device);
}

CurrentContext::~CurrentContext() {
  if (!entered.ok())
    return;
  const GPUDriver &driver = context.driver;
  void *old = nullptr;
  if (driver.popContext)
    driver.popContext.function(&old);
  else
    driver.setDevice.function(before);
}

Status GPUMemory::map(uint64_t bytes) {
  const GPUDriver &driver = context->driver;
  uint64_t place = 0;
  if (Status status = driver.call(driver.reserveAddress, &place, size_t(bytes),
                                  size_t(0), uint64_t(0), 0ull);
      !status.ok())
    return status;
  if (Status status = driver.call(driver.mapMemory, place, size_t(bytes),
                                  size_t(0), number, 0ull);
      !status.ok()) {
    driver.freeAddress.function(place, bytes);
    return status;
  }
  address = reinterpret_cast<void *>(place);
  mappedBytes = bytes;
  return share(context->device);
}

Status GPUMemory::share(int device) const {
  // CUmemAccessDesc
  struct {
    int kind = 1; ///< a device
    int device;
    int access = 3; ///< reads and writes
  } rights;
  rights.device = device;
  return context->driver.call(context->driver.setAccess, uint64_t(address),
                              size_t(mappedBytes),
                              static_cast<const void *>(&rights), size_t(1));
}

GPUMemory::~GPUMemory() {
  if (!address && number == 0)
    return;
  CurrentContext current(*context);
  const GPUDriver &driver = context->driver;
  if (number != 0) {
    if (address) {
      driver.unmapMemory.function(uint64_t(address), mappedBytes);
      driver.freeAddress.function(uint64_t(address), mappedBytes);
    }
    driver.releaseMemory.function(number);
    return;
  }
  if (isImported)
    driver.closeMemory.function(address);
  else
    driver.free.function(address);
}
