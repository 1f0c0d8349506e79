//===- Device.h - What runs programs ----------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that differs between CPUs, CUDA and HIP is behind this interface.
// What ranks tell each other outside of programs (mail, abort word) is always
// in memory of the host, see ControlPlane.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DEVICES_DEVICE_H
#define SCCL_LIB_RUNTIME_DEVICES_DEVICE_H

#include "Runtime/SharedMemory.h"

#include "sccl/ABI/KernelABI.h"
#include "sccl/Plan/Plan.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <array>
#include <chrono>
#include <memory>

namespace sccl {

class Tracer;

/// What another rank needs to map a buffer; copied as bytes.
struct DeviceHandle {
  std::array<uint8_t, 128> bytes = {};
};

/// Memory of the device that other ranks may map. Unmapped or freed with this
/// object.
class DeviceBuffer {
public:
  virtual ~DeviceBuffer();
  virtual char *data() const = 0;
  virtual uint64_t size() const = 0;
  /// Valid until `seal`. Of a buffer that was imported: nothing.
  virtual DeviceHandle handle() const = 0;
  /// All ranks have mapped the buffer: what only served that may go.
  virtual void seal() {}
  /// Others have no part in these bytes any more, as far as that can be.
  virtual void detach(uint64_t, uint64_t) {}
};

/// What the ranks of a group have at their switch. Unbound with this object.
class SwitchMemory {
public:
  virtual ~SwitchMemory();
  /// What another rank needs to join; valid until `seal`, of who has made it.
  virtual DeviceHandle handle() const = 0;
  /// All ranks have joined.
  virtual void seal() = 0;
  /// All ranks have joined: what is written at the switch goes to `memory`,
  /// too, from its beginning on. Of this rank's `allocateForSwitch`.
  virtual Status bind(const DeviceBuffer &memory) = 0;
  /// Its address for functions, once all ranks have bound their memory.
  virtual char *data() const = 0;
};

/// A function of a loaded image. The code goes with this object.
class DeviceFunction {
public:
  virtual ~DeviceFunction();
};

/// A place in a stream, of which the host finds out whether it was reached.
class StreamEvent {
public:
  virtual ~StreamEvent();
  /// It is now behind all that `stream` has, and no part of any graph.
  virtual Status record(void *stream) = 0;
  /// `isReached` unless something before it is still to be done.
  virtual Status poll(bool &isReached) const = 0;
};

/// The arguments of every function, with addresses as the device sees them.
using LaunchArguments = RankArguments;

/// What is launched of a function on a GPU.
struct Grid {
  unsigned channels = 0;  ///< those that are spread count as several
  unsigned blocks = 1;    ///< that a launch may have for each
  unsigned blockSize = 1; ///< threads
};

class Device {
public:
  virtual ~Device();

  /// The name that tables of a plan know the device by: one of the targets that
  /// `suitability` accepts, the best.
  virtual const std::string &target() const = 0;
  /// Tells devices of this machine apart whose blocks have to fit together;
  /// empty if that is no concern. At most 31 bytes.
  virtual const std::string &id() const = 0;
  /// 0 if the device cannot run the kernel; more is better.
  virtual unsigned suitability(const plan::KernelInfo &kernel) const = 0;

  /// Bytes that `allocate` can give to all ranks together, where they share
  /// them and asking for more does harm. Otherwise UINT64_MAX.
  virtual uint64_t availableBytes() const { return UINT64_MAX; }
  /// Zeroed memory, coherent between peers while programs run.
  virtual Status allocate(uint64_t bytes,
                          std::unique_ptr<DeviceBuffer> &buffer) = 0;
  virtual Status import(const DeviceHandle &handle,
                        std::unique_ptr<DeviceBuffer> &buffer) = 0;
  /// Why functions cannot access memory through a switch; success if they can.
  virtual Status checkSwitch() const;
  /// As `allocate`, for what `ranks` ranks bind at a switch.
  virtual Status allocateForSwitch(uint64_t bytes, unsigned ranks,
                                   std::unique_ptr<DeviceBuffer> &buffer);
  /// Has a group of `ranks` ranks share `bytes` bytes at a switch; this one is
  /// the first to join.
  virtual Status makeSwitch(uint64_t bytes, unsigned ranks,
                            std::unique_ptr<SwitchMemory> &memory);
  virtual Status joinSwitch(const DeviceHandle &handle,
                            std::unique_ptr<SwitchMemory> &memory);
  /// Makes memory of the host accessible to functions; `mapped` is its address
  /// there. Lasts until the device is destroyed. Pages of the memory must not
  /// be mapped twice.
  virtual Status mapHostMemory(void *memory, uint64_t bytes, void **mapped) = 0;

  /// Loads `symbol` from an image. Fails if the blocks of `grid` cannot all be
  /// resident at once.
  virtual Status load(llvm::StringRef image, const std::string &symbol,
                      const Grid &grid,
                      std::unique_ptr<DeviceFunction> &function) = 0;

  /// True if peers in this process may access memory that `allocate` did not
  /// return.
  virtual bool peersReachAnyMemory() const = 0;
  /// Fails if functions cannot access the caller's memory.
  virtual Status checkBuffer(const void *buffer, const char *name) const = 0;
  /// Null is a stream everywhere; fails on what is none.
  virtual Status checkStream(void *stream) const = 0;
  /// What follows comes after all that the caller has enqueued.
  virtual Status begin(void *stream) = 0;
  /// What the caller enqueues from now on comes after all that went before.
  virtual Status end(void *) { return {}; }
  /// True if what is enqueued becomes part of a graph in place of being done.
  virtual Status isCaptured(void *, bool &captured) {
    captured = false;
    return {};
  }
  /// Calls `call` with the stream of the driver that `stream` stands for, and
  /// the device as the current one of this thread, for libraries of vendors.
  virtual Status
  withStream(void *stream,
             llvm::function_ref<Status(void *driverStream)> call) {
    return call(stream);
  }
  /// What is enqueued in `side` from now on comes after all that is in
  /// `stream`, and beside what follows there, until `join`. There is one at a
  /// time; a second `fork` before `join` has it come after what is in `stream`
  /// by then, too.
  virtual Status fork(void *stream, void *&side) {
    side = stream;
    return {};
  }
  /// The device has room for what `fork` puts beside a stream.
  virtual bool hasRoomToFork() const { return false; }
  /// What follows in `stream` comes after what is in the side of `fork`.
  virtual Status join(void *) { return {}; }
  /// Copies from the host, at once; does not wait for any stream of a launch,
  /// and is no part of any graph.
  virtual Status copyNow(void *to, const void *from, uint64_t bytes) = 0;
  /// Runs the function, or enqueues it, with as many blocks as `arguments` say.
  virtual Status launch(const DeviceFunction &function,
                        const LaunchArguments &arguments, void *stream) = 0;
  /// The same for a virtual kernel; `ranks` is memory of the device, and says
  /// that there are `blocks`. Only devices with an `id` have such kernels.
  virtual Status launchVirtual(const DeviceFunction &function,
                               RankArguments *ranks, uint64_t blocks,
                               void *stream);
  /// Sets all bytes of own memory of the device to `byte`, in stream order.
  virtual Status fill(void *to, uint8_t byte, uint64_t bytes, void *stream) = 0;
  /// Copies between any two addresses of host and device, in stream order.
  virtual Status copy(void *to, const void *from, uint64_t bytes,
                      void *stream) = 0;
  /// Copies from an address of another process that is not mapped here; done on
  /// return. Fails if the device has no way to. `isTheirs`: because of the
  /// process, or of its memory.
  virtual Status readFrom(const ProcessId &process, uint64_t from, void *to,
                          uint64_t bytes, bool &isTheirs);
  /// Null if streams of the device have none.
  virtual Status makeEvent(std::unique_ptr<StreamEvent> &event) {
    event = nullptr;
    return {};
  }
  /// Tells whether all that was enqueued is done, or how it failed.
  virtual Status poll(void *stream, bool &done) = 0;
  /// Records what functions and hosts do; on a GPU, hosts only.
  virtual Tracer *tracer() const = 0;
  /// Nanoseconds between ticks of the clock that functions read. Fails if the
  /// driver does not say.
  virtual Status clockPeriod(double &nanoseconds) const {
    nanoseconds = 1;
    return {};
  }
  /// True if `launch` and `copy` return when they are done.
  virtual bool isSynchronous() const = 0;
};

/// The device that `config` asks for. Fails with scclErrorUnsupported if this
/// machine or this build lacks it.
Status createDevice(const scclConfig &config, std::unique_ptr<Device> &device);

/// The parts of it for CPUs, and for GPUs.
std::unique_ptr<Device> createCPUDevice();
/// A CPU that runs the code of plans for ranks that exchange messages.
std::unique_ptr<Device> createMessageDevice();
Status createGPUDevice(const scclConfig &config,
                       std::unique_ptr<Device> &device);

/// What a waiting thread of a rank does between polls. As long as every rank
/// can have a core, giving it away costs more than keeping it.
class Patience {
public:
  /// Before a launch, by the thread that executes it.
  static void begin(unsigned ranksHere);
  /// One poll has failed.
  static int pause();
  /// One poll for messages has failed, so long after one that has not. Ranks
  /// that share cores sleep: the kernel needs the cores to move messages.
  static void rest(std::chrono::nanoseconds waited);

  /// While it lives, waits of this thread call `ask` some ten times a second,
  /// but not at once.
  class Asking {
  public:
    explicit Asking(llvm::function_ref<void()> ask);
    ~Asking();
    Asking(const Asking &) = delete;

  private:
    llvm::function_ref<void()> before; ///< of a wait that this one is part of
  };
  static constexpr std::chrono::milliseconds questionInterval{100};
  /// Calls that if it is time. Waits other than by `pause` and `rest` do this.
  static void askSometimes();
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DEVICES_DEVICE_H
