//===- GPUDriver.cpp - Finding a vendor's driver --------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUDriver.h"

#include <dlfcn.h>
#include <mutex>

using namespace sccl;

namespace {
/// Looks up functions until one is missing.
class Loader {
public:
  Loader(GPUDriver &driver, void *library)
      : driver(driver), library(library), isCUDA(driver.vendor[0] == 'C') {}

  /// A null name means that the vendor's interface has no such call.
  template <typename... Parameters>
  void find(DriverCall<Parameters...> &entry, const char *cuda,
            const char *hip) {
    entry.name = isCUDA ? cuda : hip;
    entry.function =
        reinterpret_cast<int (*)(Parameters...)>(lookUp(entry.name));
  }

  void findCommon();
  void findPaired();
  void findSwitches();
  void findErrors() {
    find(driver.describeError, "cuGetErrorString", nullptr);
    driver.errorText = reinterpret_cast<const char *(*)(int)>(
        lookUp(isCUDA ? nullptr : "hipGetErrorString"));
  }

  const char *missing = nullptr;

private:
  void *lookUp(const char *name) {
    void *found = name ? dlsym(library, name) : nullptr;
    if (name && !found && !missing)
      missing = name;
    return found;
  }

  GPUDriver &driver;
  void *library;
  bool isCUDA;
};
} // namespace

/// Calls with the same arguments.
void Loader::findCommon() {
  GPUDriver &d = driver;
  find(d.init, "cuInit", "hipInit");
  find(d.countDevices, "cuDeviceGetCount", "hipGetDeviceCount");
  find(d.getDevice, "cuDeviceGet", "hipDeviceGet");
  find(d.getAttribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute");
  find(d.getBusId, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId");
  find(d.unloadModule, "cuModuleUnload", "hipModuleUnload");
  find(d.getFunction, "cuModuleGetFunction", "hipModuleGetFunction");
  find(d.free, "cuMemFree_v2", "hipFree");
  find(d.fill, "cuMemsetD8Async", "hipMemsetD8Async");
  find(d.exportMemory, "cuIpcGetMemHandle", "hipIpcGetMemHandle");
  find(d.importMemory, "cuIpcOpenMemHandle_v2", "hipIpcOpenMemHandle");
  find(d.closeMemory, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle");
  find(d.registerHost, "cuMemHostRegister_v2", "hipHostRegister");
  find(d.unregisterHost, "cuMemHostUnregister", "hipHostUnregister");
  find(d.hostPointer, "cuMemHostGetDevicePointer_v2",
       "hipHostGetDevicePointer");
  find(d.pointerAttribute, "cuPointerGetAttribute", "hipPointerGetAttribute");
  find(d.canAccessPeer, "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer");
  find(d.createStream, "cuStreamCreate", "hipStreamCreateWithFlags");
  find(d.destroyStream, "cuStreamDestroy_v2", "hipStreamDestroy");
  find(d.queryStream, "cuStreamQuery", "hipStreamQuery");
  find(d.waitForStream, "cuStreamSynchronize", "hipStreamSynchronize");
  find(d.createEvent, "cuEventCreate", "hipEventCreateWithFlags");
  find(d.destroyEvent, "cuEventDestroy_v2", "hipEventDestroy");
  find(d.recordEvent, "cuEventRecord", "hipEventRecord");
  find(d.queryEvent, "cuEventQuery", "hipEventQuery");
  find(d.waitForEvent, "cuStreamWaitEvent", "hipStreamWaitEvent");
  find(d.captureInfo, "cuStreamGetCaptureInfo", "hipStreamGetCaptureInfo");
  find(d.exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode",
       "hipThreadExchangeStreamCaptureMode");
  find(d.occupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor",
       "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor");
  find(d.launch, "cuLaunchCooperativeKernel",
       "hipModuleLaunchCooperativeKernel");
}

/// Calls that only one has, or that differ in arguments.
void Loader::findPaired() {
  GPUDriver &d = driver;
  find(d.retainContext, "cuDevicePrimaryCtxRetain", nullptr);
  find(d.releaseContext, "cuDevicePrimaryCtxRelease_v2", nullptr);
  find(d.pushContext, "cuCtxPushCurrent_v2", nullptr);
  find(d.popContext, "cuCtxPopCurrent_v2", nullptr);
  find(d.currentDevice, nullptr, "hipGetDevice");
  find(d.setDevice, nullptr, "hipSetDevice");
  find(d.getProperties, nullptr, "hipGetDevicePropertiesR0600");
  find(d.loadModuleEx, "cuModuleLoadDataEx", nullptr);
  find(d.loadModule, nullptr, "hipModuleLoadData");
  find(d.allocate, "cuMemAlloc_v2", nullptr);
  find(d.allocateEx, nullptr, "hipExtMallocWithFlags");
  find(d.copy, "cuMemcpyAsync", nullptr);
  find(d.copyEx, nullptr, "hipMemcpyAsync");
  find(d.enablePeerContext, "cuCtxEnablePeerAccess", nullptr);
  find(d.enablePeerDevice, nullptr, "hipDeviceEnablePeerAccess");
}

/// Drivers before CUDA 12.1 lack some, and do for all else.
void Loader::findSwitches() {
  GPUDriver &d = driver;
  const char *before = missing;
  missing = nullptr;
  find(d.createMemory, "cuMemCreate", nullptr);
  find(d.releaseMemory, "cuMemRelease", nullptr);
  find(d.memoryGranularity, "cuMemGetAllocationGranularity", nullptr);
  find(d.reserveAddress, "cuMemAddressReserve", nullptr);
  find(d.freeAddress, "cuMemAddressFree", nullptr);
  find(d.mapMemory, "cuMemMap", nullptr);
  find(d.unmapMemory, "cuMemUnmap", nullptr);
  find(d.setAccess, "cuMemSetAccess", nullptr);
  find(d.exportDescriptor, "cuMemExportToShareableHandle", nullptr);
  find(d.importDescriptor, "cuMemImportFromShareableHandle", nullptr);
  find(d.createSwitch, "cuMulticastCreate", nullptr);
  find(d.switchGranularity, "cuMulticastGetGranularity", nullptr);
  find(d.addToSwitch, "cuMulticastAddDevice", nullptr);
  find(d.bindAtSwitch, "cuMulticastBindMem", nullptr);
  find(d.unbindAtSwitch, "cuMulticastUnbind", nullptr);
  d.hasSwitches = isCUDA && !missing;
  missing = before;
}

Status GPUDriver::error(const char *call, int code) const {
  const char *text = nullptr;
  if (describeError)
    describeError.function(code, &text);
  else if (errorText)
    text = errorText(code);
  scclResult result = code == outOfMemory ? scclErrorOutOfMemory
                      : code == noDevice  ? scclErrorUnsupported
                                          : scclErrorDevice;
  return {result, std::string(call) +
                      " failed: " + (text ? text : "unknown error") + " (" +
                      vendor + " error " + std::to_string(code) + ")"};
}

/// Opens the first of the libraries that there is.
static void *openLibrary(const char *const (&names)[3], std::string &reason) {
  for (const char *name : names) {
    if (!name)
      continue;
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
    if (reason.empty())
      reason = dlerror();
  }
  return nullptr;
}

static Status load(scclDeviceKind kind, GPUDriver &driver) {
  bool isCUDA = kind == scclDeviceCUDA;
  static constexpr const char *cuda[3] = {"libcuda.so.1"};
  static constexpr const char *hip[3] = {"libamdhip64.so", "libamdhip64.so.7",
                                         "libamdhip64.so.6"};
  driver = {};
  driver.vendor = isCUDA ? "CUDA" : "HIP";
  driver.constants =
      isCUDA ? DriverConstants{16, 95, 88} : DriverConstants{63, 10, 65};
  std::string reason;
  void *library = openLibrary(isCUDA ? cuda : hip, reason);
  if (!library)
    return {scclErrorUnsupported, std::string("there is no ") + driver.vendor +
                                      " driver here: " + reason};
  Loader loader(driver, library);
  loader.findCommon();
  loader.findPaired();
  loader.findErrors();
  loader.findSwitches();
  Status status;
  if (loader.missing)
    status = {scclErrorUnsupported, std::string("the ") + driver.vendor +
                                        " driver here has no function " +
                                        loader.missing + "; it is too old"};
  else
    status = driver.call(driver.init, 0u);
  if (!status.ok())
    dlclose(library);
  return status;
}

Status sccl::loadGPUDriver(scclDeviceKind kind, const GPUDriver *&driver) {
  static std::mutex mutex;
  static GPUDriver drivers[2];
  static bool loaded[2];
  unsigned which = kind == scclDeviceCUDA ? 0 : 1;
  std::lock_guard lock(mutex);
  if (!loaded[which])
    if (Status status = load(kind, drivers[which]); !status.ok())
      return status;
  loaded[which] = true;
  driver = &drivers[which];
  return {};
}
