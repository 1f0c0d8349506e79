//===- CPUDevice.cpp - Ranks as threads or processes ----------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Device.h"

#include "Runtime/Descriptor.h"
#include "Runtime/Fork.h"
#include "Runtime/SharedMemory.h"
#include "Runtime/Tracer.h"
#include "sccl/ABI/MessageTable.h"
#include "sccl/Model/AvailableMemory.h"
#include "sccl/Model/HostTarget.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <map>
#include <sched.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

using namespace sccl;

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Failed polls after which a thread with a core of its own gives it away: some
/// 100 us, more than any message between running ranks takes.
static constexpr unsigned patientPolls = 2000;
static thread_local unsigned pollsLeft = 0;
static thread_local bool sharesCores = false;

void Patience::begin(unsigned ranksHere) {
  static const unsigned cores = [] {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0
               ? std::max(CPU_COUNT(&set), int(sysconf(_SC_NPROCESSORS_ONLN)))
               : 1;
  }();
  sharesCores = ranksHere > cores;
  pollsLeft = sharesCores ? 0 : patientPolls;
}

/// What a thread asks when it waits, and when it does so next; not at all in
/// launches of which it is not known yet that they wait.
static thread_local llvm::function_ref<void()> question = nullptr;
static thread_local std::chrono::steady_clock::time_point nextQuestion;

Patience::Asking::Asking(llvm::function_ref<void()> ask) : before(question) {
  question = ask;
  nextQuestion = {};
}

Patience::Asking::~Asking() { question = before; }

void Patience::askSometimes() {
  if (!question)
    return;
  auto now = std::chrono::steady_clock::now();
  if (now < nextQuestion)
    return;
  if (nextQuestion != std::chrono::steady_clock::time_point())
    question();
  nextQuestion = now + questionInterval;
}

int Patience::pause() {
  if (pollsLeft == 0) {
    askSometimes();
    return sched_yield();
  }
  --pollsLeft;
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
  return 0;
}

void Patience::rest(std::chrono::nanoseconds waited) {
  if (!sharesCores) {
    pause();
    return;
  }
  askSometimes();
  // Whoever has waited long can wait a little longer.
  constexpr std::chrono::nanoseconds longest = std::chrono::microseconds(100);
  timespec time = {0, long(std::min(waited / 4, longest).count())};
  nanosleep(&time, nullptr);
}

//===----------------------------------------------------------------------===//
// The device
//===----------------------------------------------------------------------===//

DeviceBuffer::~DeviceBuffer() = default;
DeviceFunction::~DeviceFunction() = default;
StreamEvent::~StreamEvent() = default;
SwitchMemory::~SwitchMemory() = default;

Device::~Device() = default;

static Status noSwitch() {
  return {scclErrorUnsupported, "the device has no multicast through a switch"};
}
Status Device::checkSwitch() const { return noSwitch(); }
Status Device::allocateForSwitch(uint64_t, unsigned,
                                 std::unique_ptr<DeviceBuffer> &) {
  return noSwitch();
}
Status Device::makeSwitch(uint64_t, unsigned, std::unique_ptr<SwitchMemory> &) {
  return noSwitch();
}
Status Device::joinSwitch(const DeviceHandle &,
                          std::unique_ptr<SwitchMemory> &) {
  return noSwitch();
}

Status Device::readFrom(const ProcessId &, uint64_t, void *, uint64_t, bool &) {
  return {scclErrorUnsupported, "the device reads no memory of processes"};
}

Status Device::launchVirtual(const DeviceFunction &, RankArguments *, uint64_t,
                             void *) {
  return {scclErrorUnsupported, target() + " has no virtual kernels"};
}

namespace {
class CPUBuffer : public DeviceBuffer {
public:
  SharedMemory memory;
  char *data() const override { return memory.data(); }
  uint64_t size() const override { return memory.size(); }
  void seal() override { memory.seal(); }
  void detach(uint64_t offset, uint64_t bytes) override {
    memory.detach(offset, bytes);
  }
  DeviceHandle handle() const override {
    DeviceHandle result;
    SharedMemoryHandle handle = memory.handle();
    static_assert(sizeof(handle) <= sizeof(result.bytes));
    std::memcpy(result.bytes.data(), &handle, sizeof(handle));
    return result;
  }
};

/// While it lives, this thread rounds to nearest, and keeps small numbers: what
/// ranks get must not depend on what one of their programs has set.
class StandardArithmetic {
#if defined(__x86_64__)
public:
  StandardArithmetic() {
    if (differs())
      __builtin_ia32_ldmxcsr(standard);
  }
  ~StandardArithmetic() {
    if (differs())
      __builtin_ia32_ldmxcsr(before);
  }

private:
  /// All exceptions are masked; the lowest bits tell which there were.
  static constexpr unsigned standard = 0x1f80, flags = 0x3f;
  bool differs() const { return (before & ~flags) != standard; }
  unsigned before = __builtin_ia32_stmxcsr();
#else
public:
  StandardArithmetic() {}
#endif
};

class CPUFunction : public DeviceFunction {
public:
  using Entry = void (*)(void *, void *, void *, void *, PeerEntry *,
                         uint64_t *, uint64_t, uint64_t, const void *, uint64_t,
                         uint64_t);
  std::shared_ptr<void> library;
  Entry entry = nullptr;
};

class CPUDevice : public Device {
public:
  explicit CPUDevice(std::string name = hostTarget()) : name(std::move(name)) {}

  const std::string &target() const override { return name; }
  const std::string &id() const override { return noId; }

  unsigned suitability(const plan::KernelInfo &kernel) const override {
    if (kernel.format != "elf")
      return 0;
    if (kernel.target == name)
      return 2;
    return kernel.target == "x86-64";
  }

  uint64_t availableBytes() const override { return availableMemory(); }

  Status allocate(uint64_t bytes,
                  std::unique_ptr<DeviceBuffer> &buffer) override {
    auto made = std::make_unique<CPUBuffer>();
    if (Status status = made->memory.create(bytes); !status.ok())
      return status;
    buffer = std::move(made);
    return {};
  }

  Status import(const DeviceHandle &handle,
                std::unique_ptr<DeviceBuffer> &buffer) override {
    SharedMemoryHandle shared;
    std::memcpy(&shared, handle.bytes.data(), sizeof(shared));
    auto mapped = std::make_unique<CPUBuffer>();
    if (Status status = mapped->memory.open(shared); !status.ok())
      return status;
    buffer = std::move(mapped);
    return {};
  }

  Status mapHostMemory(void *memory, uint64_t, void **mapped) override {
    *mapped = memory;
    return {};
  }

  Status load(llvm::StringRef image, const std::string &symbol, const Grid &,
              std::unique_ptr<DeviceFunction> &function) override;

  bool peersReachAnyMemory() const override { return true; }
  Status checkBuffer(const void *, const char *) const override { return {}; }

  Status checkStream(void *stream) const override {
    if (stream)
      return invalid("stream is not null, but a CPU has no streams");
    return {};
  }

  Status begin(void *) override { return {}; }
  Status launch(const DeviceFunction &function,
                const LaunchArguments &arguments, void *) override {
    Tracer::Listening listening(*theTracer, arguments.segment);
    StandardArithmetic arithmetic;
    static_cast<const CPUFunction &>(function).entry(
        arguments.input, arguments.output, arguments.scratch, arguments.control,
        arguments.peers, arguments.abort, arguments.segment, arguments.distance,
        arguments.table, arguments.reduction, arguments.blocks);
    return {};
  }

  Status copy(void *to, const void *from, uint64_t bytes, void *) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status fill(void *to, uint8_t byte, uint64_t bytes, void *) override {
    std::memset(to, byte, bytes);
    return {};
  }

  Status copyNow(void *to, const void *from, uint64_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

  Status readFrom(const ProcessId &process, uint64_t from, void *to,
                  uint64_t bytes, bool &isTheirs) override;

  Status poll(void *, bool &done) override {
    done = true;
    return {};
  }
  bool isSynchronous() const override { return true; }
  Tracer *tracer() const override { return theTracer.get(); }

private:
  std::unique_ptr<Tracer> theTracer = std::make_unique<Tracer>();
  /// Images by address; plans do not move. Functions of one image share it.
  std::map<const char *, std::weak_ptr<void>> images;
  std::string name, noId;
};
} // namespace

static ssize_t readOnce(const ProcessId &process, uint64_t from, void *to,
                        uint64_t bytes) {
  iovec there{reinterpret_cast<void *>(from), bytes}, here{to, bytes};
  return process_vm_readv(process.pid, &here, 1, &there, 1, 0);
}

Status CPUDevice::readFrom(const ProcessId &process, uint64_t from, void *to,
                           uint64_t bytes, bool &isTheirs) {
  while (bytes != 0) {
    ssize_t done = readOnce(process, from, to, bytes);
    if (done < 0 && errno == EINTR)
      continue;
    // Its memory goes before its entry in the table of processes does. It may
    // also have forbidden this, or another user be by now.
    isTheirs = done < 0 && (errno == ESRCH || errno == EPERM);
    if (isTheirs && errno == ESRCH)
      return {scclErrorRankLost,
              "process " + std::to_string(process.pid) + " has ended"};
    if (done == 0 || (done < 0 && errno == EFAULT)) {
      // Some of the memory is none, there or here.
      char byte;
      isTheirs = readOnce(process, from, &byte, 1) != 1;
      return invalid(isTheirs ? "the send buffer cannot be read"
                              : "the receive buffer cannot be written");
    }
    if (done < 0)
      return systemError("cannot read memory of process " +
                         std::to_string(process.pid));
    to = static_cast<char *>(to) + done;
    from += done;
    bytes -= done;
  }
  return {};
}

/// A path of descriptor `fd` that was never used before: the dynamic linker
/// takes a path it has seen for the library it loaded from there, even if the
/// descriptor means another file by now.
static std::string uniquePath(int fd) {
  static std::atomic<uint32_t> counter = 0;
  uint32_t number = counter.fetch_add(1);
  std::string path = "/proc/thread-self/fd/";
  for (unsigned bit = 0; bit < 32; ++bit)
    path += number >> bit & 1 ? "./" : "/";
  return path + std::to_string(fd);
}

/// Loads a shared object from memory.
static Status loadImage(llvm::StringRef image, std::shared_ptr<void> &library) {
  if (Status status = checkFileSize(image.size()); !status.ok())
    return status;
  Descriptor fd(memfd_create("sccl-code", MFD_CLOEXEC));
  if (fd < 0)
    return systemError("cannot create memory for code");
  while (!image.empty()) {
    ssize_t written = write(fd, image.data(), image.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return systemError("cannot write code to memory");
    image = image.drop_front(written);
  }
  std::string path = uniquePath(fd);
  void *handle = nullptr;
  {
    ForkLock noForks;
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle)
    return {scclErrorInvalidPlan,
            std::string("cannot load the plan's code: ") + dlerror()};
  // Closed here, too, if there is no memory to remember that.
  library = std::shared_ptr<void>(handle, [](void *loaded) {
    ForkLock noForks;
    dlclose(loaded);
  });
  using Yield = int (*)();
  if (void *hook = dlsym(handle, hostYieldVariable))
    *static_cast<Yield *>(hook) = Patience::pause;
  if (void *hook = dlsym(handle, traceVariable))
    *static_cast<TraceHook *>(hook) = Tracer::onMark;
  return {};
}

Status CPUDevice::load(llvm::StringRef image, const std::string &symbol,
                       const Grid &,
                       std::unique_ptr<DeviceFunction> &function) {
  std::weak_ptr<void> &known = images[image.data()];
  std::shared_ptr<void> library = known.lock();
  if (!library)
    if (Status status = loadImage(image, library); !status.ok())
      return status;
  known = library;
  auto loaded = std::make_unique<CPUFunction>();
  loaded->entry = reinterpret_cast<CPUFunction::Entry>(
      dlsym(library.get(), symbol.c_str()));
  if (!loaded->entry)
    return {scclErrorInvalidPlan,
            "the plan's code has no function '" + symbol + "'"};
  loaded->library = std::move(library);
  function = std::move(loaded);
  return {};
}

std::unique_ptr<Device> sccl::createCPUDevice() {
  return std::make_unique<CPUDevice>();
}

std::unique_ptr<Device> sccl::createMessageDevice() {
  // Code for messages is for what "host" is in plans.
  std::string host = hostTarget();
  return std::make_unique<CPUDevice>(host == "x86-64-v3" ? messageTarget
                                                         : host);
}

Status sccl::createDevice(const scclConfig &config,
                          std::unique_ptr<Device> &device) {
  switch (config.device) {
  case scclDeviceCPU:
    device = createCPUDevice();
    return {};
  case scclDeviceCUDA:
  case scclDeviceHIP:
    return createGPUDevice(config, device);
  }
  return invalid("device is " + std::to_string(int(config.device)) +
                 ", expected 0 to 2");
}
