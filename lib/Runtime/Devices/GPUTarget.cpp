//===- GPUTarget.cpp - What code a GPU runs -------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUTarget.h"

#include "sccl/Model/Chip.h"

#include "llvm/ADT/StringExtras.h"

using namespace sccl;

GPUTarget GPUTarget::fromCapability(unsigned major, unsigned minor) {
  GPUTarget target;
  target.isCUDA = true;
  target.major = major;
  target.minor = minor;
  target.name = "sm_" + std::to_string(10 * major + minor);
  return target;
}

Status GPUTarget::fromProperties(llvm::StringRef properties,
                                 GPUTarget &target) {
  constexpr size_t nameBytes = 256;
  size_t at = properties.find("gfx", nameBytes);
  if (at == llvm::StringRef::npos)
    return {scclErrorUnsupported,
            "the HIP driver does not name the device's architecture"};
  // "gfx942:sramecc+:xnack-"
  target = GPUTarget();
  target.name = properties.substr(at)
                    .take_while([](char c) { return llvm::isAlnum(c); })
                    .str();
  Result<Chip> chip = findChip(target.name);
  target.wantsUncached = chip && chip->wantsUncached;
  return {};
}

unsigned GPUTarget::suitability(const plan::KernelInfo &kernel) const {
  if (!isCUDA)
    return kernel.format == "hsaco" && kernel.target == name;
  llvm::StringRef rest = kernel.target;
  unsigned number = 0;
  if (!rest.consume_front("sm_") || rest.consumeInteger(10, number))
    return 0;
  unsigned here = 10 * major + minor;
  if (number > here || (!rest.empty() && number != here))
    return 0;
  // Of equally new code, what is for this version alone can do most, and what
  // is compiled already loads fastest.
  unsigned score = 4 * number + (rest.empty() ? 0 : 2);
  if (kernel.format == "cubin" || kernel.format == "fatbin")
    return number / 10 == major ? score + 1 : 0;
  return kernel.format == "ptx" ? score : 0;
}
