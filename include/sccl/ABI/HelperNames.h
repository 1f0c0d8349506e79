//===- HelperNames.h - What generated code calls ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one list of the helpers' names: for the conversion that emits them, the
// audit that knows them by name, and utils/kernel-gates.py, which reads this
// file. What they do stands in lib/Conversion/Common/Helpers.h.
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_ABI_HELPERNAMES_H
#define SCCL_ABI_HELPERNAMES_H

namespace sccl::helper {

/// What the names of all helpers begin with, and no kernel's does.
inline constexpr const char *prefix = "coll_";

// Chunks of a segment, and bytes or elements. With LL words, several terms or a
// switch, the names end with TransferShape::suffix().
inline constexpr const char *transfer = "coll_transfer";
inline constexpr const char *reduce = "coll_reduce";
inline constexpr const char *copy = "coll_copy";
inline constexpr const char *reduceElements = "coll_reduce_elements";
inline constexpr const char *average = "coll_average";

// Flags and epochs.
inline constexpr const char *signal = "coll_signal";
inline constexpr const char *wait = "coll_wait";
inline constexpr const char *begin = "coll_begin";
inline constexpr const char *end = "coll_end";

// Marks of code that is traced.
inline constexpr const char *record = "coll_record";
inline constexpr const char *mark = "coll_mark";

// Between boxes, by NCCL's device functions: chunks of a segment, bytes, flags.
inline constexpr const char *put = "coll_put";
inline constexpr const char *ginPut = "coll_gin_put";
inline constexpr const char *ginSignal = "coll_gin_signal";
inline constexpr const char *ginWait = "coll_gin_wait";
inline constexpr const char *ginFlush = "coll_gin_flush";

// Where code has several reductions: what chooses among their loops, and what
// stands between the name of a loop and that of its reduction, "f32_sum".
inline constexpr const char *chooseElements = "coll_choose_elements";
inline constexpr const char *chooseAverage = "coll_choose_average";
inline constexpr const char *choiceMark = "__";

/// What the names of helpers that reduce several terms have added.
inline constexpr const char *termsSuffix = "_terms";

/// What the names of helpers that transfer through a switch have added.
inline constexpr const char *switchSuffix = "_switch";

/// What the versions for a team of a block's threads have added.
inline constexpr const char *teamSuffix = "_team";

/// What the host's versions that bypass the cache have added to their names.
inline constexpr const char *streamSuffix = "_stream";

} // namespace sccl::helper

#endif // SCCL_ABI_HELPERNAMES_H
