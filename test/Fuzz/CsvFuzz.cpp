//===- CsvFuzz.cpp - Tables of comma-separated values -------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

#include "../../tools/sccl/CsvTable.h"
#include "../../tools/sccl/Driver.h"

#include "llvm/ADT/STLExtras.h"

using namespace sccl::driver;

static bool hasFailed = false;

// In place of the tool's, which prints.
int sccl::driver::fail(const llvm::Twine &message) {
  hasFailed = true;
  demand(llvm::StringRef(message.str()).starts_with("table"),
         "an error says where it is");
  return 1;
}

static std::optional<std::vector<CsvRow>> read(llvm::StringRef text) {
  hasFailed = false;
  auto rows = readCsvTable("table", text, {"chunks"});
  demand(rows.has_value() != hasFailed, "what is refused has a reason");
  return rows;
}

/// The same rows, with every field in quotes.
static std::string write(const std::vector<CsvRow> &rows) {
  auto quote = [](llvm::StringRef field) {
    std::string text = "\"";
    for (char c : field)
      text.append(c == '"' ? 2 : 1, c);
    return text + "\"";
  };
  std::string text;
  for (const auto &[column, field] : rows.front().fields)
    text += (text.empty() ? "" : ",") + quote(column);
  for (const CsvRow &row : rows) {
    std::string separator = "\n";
    for (const auto &[column, field] : row.fields) {
      text += separator + quote(field);
      separator = ",";
    }
  }
  return text + "\n";
}

/// What is read has the columns that it should, and reads the same in quotes.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  auto rows = read({reinterpret_cast<const char *>(data), size});
  if (!rows || rows->empty())
    return 0;
  for (const CsvRow &row : *rows)
    demand(row.fields.count("chunks") == 1, "each row has the columns needed");
  auto again = read(write(*rows));
  demand(again && llvm::equal(*rows, *again,
                              [](const CsvRow &a, const CsvRow &b) {
                                return a.fields == b.fields;
                              }),
         "quotes change nothing");
  return 0;
}
