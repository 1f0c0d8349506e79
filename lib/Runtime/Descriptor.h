//===- Descriptor.h - An open file ------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_RUNTIME_DESCRIPTOR_H
#define SCCL_LIB_RUNTIME_DESCRIPTOR_H

#include <unistd.h>

namespace sccl {

/// Closes a descriptor, also where a text that says what went wrong has no
/// memory.
class Descriptor {
public:
  explicit Descriptor(int number) : number(number) {}
  Descriptor(const Descriptor &) = delete;
  Descriptor &operator=(const Descriptor &) = delete;
  ~Descriptor() {
    if (number >= 0)
      close(number);
  }
  operator int() const { return number; }

private:
  int number;
};

} // namespace sccl

#endif // SCCL_LIB_RUNTIME_DESCRIPTOR_H
