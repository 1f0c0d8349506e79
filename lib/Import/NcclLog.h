//===- NcclLog.h - Lines of NCCL_DEBUG=INFO --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_NCCLLOG_H
#define SCCL_LIB_IMPORT_NCCLLOG_H

#include "Text.h"

namespace sccl::import {

/// A line of a log without what NCCL puts before it.
struct LogLine {
  std::string writer; ///< "host:pid:thread [device]"; empty in cut logs
  std::string text;   ///< with its indentation
  Place place;        ///< of the text
};

/// All lines; those of several processes are mixed.
std::vector<LogLine> splitNcclLog(llvm::StringRef text);

/// True if this line of a log begins the topology that NCCL found.
bool beginsSystem(llvm::StringRef text);

/// The ranks of "Channel 00/24 : 0 1 2 3"; empty for any other line.
std::vector<unsigned> ringOfLine(llvm::StringRef text);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_NCCLLOG_H
