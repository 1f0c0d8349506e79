//===- CsvTable.h - Tables of comma-separated values ------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_CSVTABLE_H
#define SCCL_TOOLS_SCCL_CSVTABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace sccl::driver {

/// A row of a table: the line where it begins, and its fields by column.
struct CsvRow {
  unsigned line;
  std::map<std::string, std::string> fields;
};

/// The rows of `text`, the contents of the file `path`, as in RFC 4180: fields
/// in quotes may hold commas, line breaks and, doubled, quotes. The first line
/// names the columns. Beyond that, spaces around fields, empty lines and lines
/// that begin with '#' are skipped. Prints an error and returns nothing if the
/// text is malformed or lacks a column of `needed`.
std::optional<std::vector<CsvRow>>
readCsvTable(llvm::StringRef path, llvm::StringRef text,
             llvm::ArrayRef<llvm::StringRef> needed);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_CSVTABLE_H
