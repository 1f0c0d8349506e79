//===- Code.cpp - Modules and launches on host memory ---------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Modules are shared objects for the host, and a launch calls their function on
// a thread of the stream, so collectives really execute. Host code has no
// virtual kernels; one is made here, and runs a thread for each rank that is
// present: NAME_virtual of NAME_rankN, and NAME_virtualN of NAME, where that is
// the function of all N ranks.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"

#include <string_view>

using namespace fake;

/// Bytes of a shared object as linkers write them: sections come last.
static size_t imageBytes(const void *image) {
  const auto *head = static_cast<const Elf64_Ehdr *>(image);
  if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0)
    return 0;
  return head->e_shoff + size_t(head->e_shnum) * head->e_shentsize;
}

static int loadObject(void **module, const void *image) {
  size_t bytes = imageBytes(image);
  if (currentDevice() < 0 || bytes == 0)
    return bytes == 0 ? noBinary : noContext;
  char path[] = "/tmp/sccl-fake-XXXXXX";
  int fd = mkstemp(path);
  bool written = fd >= 0 && write(fd, image, bytes) == ssize_t(bytes);
  void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (fd >= 0) {
    close(fd);
    unlink(path);
  }
  if (!library)
    return noBinary;
  listen(library);
  std::lock_guard lock(state().mutex);
  state().modules.insert(library);
  *module = library;
  return 0;
}

#ifdef SCCL_FAKE_HIP
EXPORT int hipModuleLoadData(void **module, const void *image) {
  COUNTED(hipModuleLoadData, hipModuleLoadData);
  return loadObject(module, image);
}
#else
EXPORT int cuModuleLoadData(void **module, const void *image) {
  COUNTED(cuModuleLoadData, cuModuleLoadData);
  return loadObject(module, image);
}
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count,
                              int *options, void **values) {
  COUNTED(cuModuleLoadDataEx, cuModuleLoadDataEx);
  int code = loadObject(module, image);
  for (unsigned i = 0; code != 0 && i < count; ++i)
    if (options[i] == 5)
      std::strcpy(static_cast<char *>(values[i]), "this is no object");
  return code;
}
#endif
EXPORT int NAME(cuModuleUnload, hipModuleUnload)(void *module) {
  COUNTED(cuModuleUnload, hipModuleUnload);
  std::lock_guard lock(state().mutex);
  if (!state().modules.erase(module))
    return invalidHandle;
  std::erase_if(state().kernels, [&](const auto &entry) {
    return entry.second.module == module;
  });
  dlclose(module);
  return 0;
}
static Kernel findKernel(void *module, const std::string &name) {
  if (void *entry = dlsym(module, name.c_str()))
    return {module, false, {entry}};
  Kernel kernel{module, true, {}};
  constexpr std::string_view suffix = "_virtual";
  size_t end = name.rfind(suffix);
  if (end == std::string::npos)
    return kernel;
  std::string stem = name.substr(0, end);
  if (void *entry = dlsym(module, stem.c_str())) {
    size_t ranks = std::atoi(name.c_str() + end + suffix.size());
    kernel.entries.assign(ranks, entry);
    return kernel;
  }
  auto ofRank = [&](size_t rank) {
    return dlsym(module, (stem + "_rank" + std::to_string(rank)).c_str());
  };
  while (void *entry = ofRank(kernel.entries.size()))
    kernel.entries.push_back(entry);
  return kernel;
}

EXPORT int NAME(cuModuleGetFunction, hipModuleGetFunction)(void **function,
                                                           void *module,
                                                           const char *name) {
  COUNTED(cuModuleGetFunction, hipModuleGetFunction);
  Kernel kernel = findKernel(module, name);
  if (kernel.entries.empty())
    return notFound;
  std::string key = std::to_string(uintptr_t(module)) + " " + name;
  std::lock_guard lock(state().mutex);
  *function = &state().kernels.insert({key, kernel}).first->second;
  return 0;
}
EXPORT int NAME(cuOccupancyMaxActiveBlocksPerMultiprocessor,
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks,
                                                                    void *, int,
                                                                    size_t) {
  COUNTED(cuOccupancyMaxActiveBlocksPerMultiprocessor,
          hipModuleOccupancyMaxActiveBlocksPerMultiprocessor);
  *blocks = setting("SCCL_FAKE_BLOCKS", 4);
  return 0;
}
static const Kernel *kernelOf(void *function) {
  std::lock_guard lock(state().mutex);
  for (const auto &[name, kernel] : state().kernels)
    if (&kernel == function)
      return &kernel;
  return nullptr;
}

static void call(void *entry, const Arguments &values, int device) {
  beginLaunch(values, device);
  std::apply(
      [entry](auto... each) {
        reinterpret_cast<void (*)(decltype(each)...)>(entry)(each...);
      },
      values);
}

/// Ranks without control memory are elsewhere.
static void runAll(const std::vector<void *> &entries, const Arguments *ranks,
                   int device) {
  constexpr unsigned control = 3;
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < entries.size(); ++rank)
    if (ranks[rank][control] != 0)
      threads.emplace_back(call, entries[rank], ranks[rank], device);
  for (std::thread &thread : threads)
    thread.join();
}

EXPORT int NAME(cuLaunchCooperativeKernel, hipModuleLaunchCooperativeKernel)(
    void *function, unsigned x, unsigned y, unsigned z, unsigned, unsigned,
    unsigned, unsigned, void *stream, void **parameters) {
  COUNTED(cuLaunchCooperativeKernel, hipModuleLaunchCooperativeKernel);
  Stream *known = streamOf(stream);
  const Kernel *kernel = kernelOf(function);
  if (!known || !kernel)
    return invalidHandle;
  if (x == 0 || y != 1 || z != 1)
    return invalidValue;
  if (x > setting("SCCL_FAKE_SMS", 8) * setting("SCCL_FAKE_BLOCKS", 4))
    return tooLarge;
  state().grid = x;
  int device = currentDevice();
  // Parameters are copied before the call returns.
  if (kernel->isVirtual) {
    const Arguments *ranks = *static_cast<const Arguments **>(parameters[0]);
    known->push([entries = kernel->entries, ranks, device] {
      runAll(entries, ranks, device);
    });
    return 0;
  }
  Arguments values;
  for (unsigned i = 0; i < values.size(); ++i)
    std::memcpy(&values[i], parameters[i], sizeof(values[i]));
  constexpr unsigned peers = 4;
  state().tables[device] = values[peers];
  known->push([entry = kernel->entries[0], values, device] {
    call(entry, values, device);
  });
  return 0;
}
