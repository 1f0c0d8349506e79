//===- LLWord.h - Words of data and launch number ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_LLWORD_H
#define SCCL_ABI_LLWORD_H

namespace sccl {

/// Bytes of data in an LL word, and of the word. Longer elements do not fit
/// where they are reduced.
inline constexpr unsigned llDataBytes = 4, llWordBytes = 2 * llDataBytes;

} // namespace sccl

#endif // SCCL_ABI_LLWORD_H
