//===- GPUCode.cpp - Loading kernels --------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUDevice.h"

#include <map>
#include <mutex>
#include <tuple>

using namespace sccl;

namespace sccl {
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
} // namespace sccl

namespace {
/// A place for code that ranks of this process share. Whoever loads it holds
/// the mutex.
struct ModuleSlot {
  std::mutex mutex;
  std::weak_ptr<GPUModule> module;
};
} // namespace

/// Code of this process by vendor, device and image: drivers take seconds to
/// compile PTX, and ranks that share a GPU have the same.
using ModuleKey = std::tuple<std::string, int, std::string>;
static std::mutex modulesMutex;
static std::map<ModuleKey, std::shared_ptr<ModuleSlot>> sharedModules;

static std::shared_ptr<ModuleSlot> slotOf(const ModuleKey &key) {
  std::lock_guard lock(modulesMutex);
  // Only the map knows a slot that nobody is about to fill.
  std::erase_if(sharedModules, [](const auto &entry) {
    return entry.second.use_count() == 1 && entry.second->module.expired();
  });
  std::shared_ptr<ModuleSlot> &slot = sharedModules[key];
  if (!slot)
    slot = std::make_shared<ModuleSlot>();
  return slot;
}

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
                      int(function.grid.blockSize), size_t(0));
      !status.ok())
    return status;
  uint64_t resident = uint64_t(perMultiprocessor) * multiprocessors;
  uint64_t blocks = uint64_t(function.grid.channels) * function.grid.blocks;
  if (blocks <= resident)
    return {};
  return {scclErrorUnsupported,
          "a kernel needs " + std::to_string(blocks) + " blocks of " +
              std::to_string(function.grid.blockSize) +
              " threads at once, and this GPU holds " +
              std::to_string(resident) + ": " +
              std::to_string(perMultiprocessor) + " on each of " +
              std::to_string(multiprocessors) +
              " multiprocessors; set a smaller smBudget, or compile with fewer "
              "--blocks-per-link or a smaller --block-size"};
}

Status GPUDevice::load(llvm::StringRef image, const std::string &symbol,
                       const Grid &grid,
                       std::unique_ptr<DeviceFunction> &function) {
  CurrentContext current(*context);
  if (!current.status().ok())
    return current.status();
  auto loaded = std::make_unique<GPUFunction>();
  loaded->grid = grid;
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
