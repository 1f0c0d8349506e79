//===- HostSteps.h - What instrumented host code calls ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Host code that is compiled for tests calls
//
//   int sccl_before_step(unsigned kind, const uint32_t *flags, uint32_t count)
//
// before each op, with its kind and, of signals and waits, the rows of their
// flags, 4 words each: see FlagRow. Where that returns anything but 0, a signal
// or wait is left out. Whoever loads the code defines the function, and the run
// time of ThreadSanitizer.
//
// It may have a function for each channel of a rank, NAME_rankN_channelC, to be
// executed by a thread each, as blocks of GPUs do.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_HOSTSTEPS_H
#define SCCL_ABI_HOSTSTEPS_H

namespace sccl {

enum class HostStep : unsigned { Begin, Signal, Wait, Payload, End, Return };

/// Before the number of a channel.
inline constexpr const char *channelSuffix = "_channel";

inline constexpr const char *hostStepFunction = "sccl_before_step";

} // namespace sccl

#endif // SCCL_ABI_HOSTSTEPS_H
