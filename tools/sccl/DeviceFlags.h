//===- DeviceFlags.h - Options for where ranks run --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_DEVICEFLAGS_H
#define SCCL_TOOLS_SCCL_DEVICEFLAGS_H

#include "Arguments.h"
#include "Driver.h"

#include "sccl/sccl.h"

#include <climits>
#include <optional>

namespace sccl::driver {

/// The options of a subcommand that measures plans: --device, --gpus and
/// --sm-budget.
class DeviceFlags {
public:
  explicit DeviceFlags(llvm::cl::SubCommand &command)
      : device("device", llvm::cl::desc("cpu, cuda or hip"), usually("cpu"),
               llvm::cl::sub(command)),
        gpus("gpus", llvm::cl::desc("GPUs; rank r gets r mod N"), usually(1),
             llvm::cl::sub(command)),
        smBudget("sm-budget",
                 llvm::cl::desc("Multiprocessors of a GPU that a collective "
                                "may take, a thread block each; 0 means no "
                                "limit"),
                 llvm::cl::init(0), llvm::cl::sub(command)) {}

  /// "--NAME" of the first that was given; empty if none was.
  std::string findGiven() const {
    return driver::findGiven({&device, &gpus, &smBudget});
  }

  /// False, after an error, if there is no such device, or it has no GPUs to
  /// choose from.
  bool check() const {
    for (const llvm::cl::opt<unsigned> *option : {&gpus, &smBudget})
      if (!isGPU() && option->getNumOccurrences()) {
        fail("--" + option->ArgStr + " needs --device=cuda or hip");
        return false;
      }
    if (smBudget > INT_MAX) {
      fail("--sm-budget is " + llvm::Twine(smBudget) + ", expected up to " +
           llvm::Twine(INT_MAX));
      return false;
    }
    if (kind() && gpus != 0)
      return true;
    fail("--device is '" + device + "' with --gpus=" + llvm::Twine(gpus) +
         ", expected cpu, cuda or hip with at least 1");
    return false;
  }

  const std::string &name() const { return device; }
  bool isGPU() const { return device != "cpu"; }

  /// For a rank; what `check` accepts.
  scclConfig config(unsigned rank, double timeoutSeconds) const {
    scclConfig config = SCCL_CONFIG_INITIALIZER;
    config.timeoutSeconds = timeoutSeconds;
    config.device = *kind();
    config.deviceIndex = int(rank % gpus);
    config.smBudget = int(smBudget);
    return config;
  }

private:
  std::optional<scclDeviceKind> kind() const {
    if (device == "cpu")
      return scclDeviceCPU;
    if (device == "cuda")
      return scclDeviceCUDA;
    if (device == "hip")
      return scclDeviceHIP;
    return std::nullopt;
  }

  llvm::cl::opt<std::string> device;
  llvm::cl::opt<unsigned> gpus, smBudget;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_DEVICEFLAGS_H
