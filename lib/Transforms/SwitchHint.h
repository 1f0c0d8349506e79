//===- SwitchHint.h - What a switch is to do -------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TRANSFORMS_SWITCHHINT_H
#define SCCL_TRANSFORMS_SWITCHHINT_H

namespace sccl::coll {

/// The attribute of a coll.put that a schedule has by way of a switch: a
/// transport, multicast or load_reduce. coll-lower-schedule leaves it for
/// coll-use-switches, which drops it.
inline constexpr const char *switchHint = "coll.by";

} // namespace sccl::coll

#endif // SCCL_TRANSFORMS_SWITCHHINT_H
