//===- CsvTable.cpp - Tables of comma-separated values --------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CsvTable.h"

#include "Driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace sccl;
using namespace sccl::driver;

static bool failAt(llvm::StringRef path, unsigned line, unsigned column,
                   const llvm::Twine &message) {
  fail(path + ":" + llvm::Twine(line) + ":" + llvm::Twine(column) + ": " +
       message);
  return false;
}

namespace {
struct Record {
  unsigned line;
  std::vector<std::string> fields;
};

/// Splits a text into records and fields.
class RecordReader {
public:
  RecordReader(llvm::StringRef path, llvm::StringRef text)
      : path(path), rest(text) {
    // Some editors begin a file with a byte order mark.
    rest.consume_front("\xEF\xBB\xBF");
    lineBegin = rest.data();
  }

  /// False after an error.
  bool readAll(std::vector<Record> &records) {
    while (!rest.empty()) {
      llvm::StringRef content = rest.take_until(isLineEnd).trim();
      if (content.empty() || content.front() == '#') {
        rest = rest.drop_until(isLineEnd);
        dropLineEnd();
        continue;
      }
      Record &record = records.emplace_back(Record{line, {}});
      do
        if (!readField(record.fields.emplace_back()))
          return false;
      while (rest.consume_front(","));
      dropLineEnd();
    }
    return true;
  }

private:
  static bool isLineEnd(char c) { return c == '\n'; }
  static bool isFieldEnd(char c) { return c == ',' || c == '\n'; }
  static bool isSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  void dropLineEnd() {
    if (rest.consume_front("\n")) {
      ++line;
      lineBegin = rest.data();
    }
  }

  bool error(const llvm::Twine &message) const {
    return failAt(path, line, unsigned(rest.data() - lineBegin) + 1, message);
  }

  /// Reads up to the comma or the end of the line after a field.
  bool readField(std::string &field) {
    rest = rest.drop_while(isSpace);
    if (rest.starts_with("\""))
      return readQuoted(field);
    llvm::StringRef content = rest.take_until(isFieldEnd);
    if (size_t quote = content.find('"'); quote != content.npos) {
      rest = rest.drop_front(quote);
      return error("a quote within a field that does not begin with one");
    }
    rest = rest.drop_front(content.size());
    field = content.trim().str();
    return true;
  }

  bool readQuoted(std::string &field) {
    RecordReader opening = *this;
    // Two quotes in a row are one that belongs to the field.
    while (rest.consume_front("\"")) {
      llvm::StringRef part = rest.take_until([](char c) { return c == '"'; });
      field += part;
      line += part.count('\n');
      if (size_t end = part.rfind('\n'); end != part.npos)
        lineBegin = part.data() + end + 1;
      rest = rest.drop_front(part.size());
      if (!rest.consume_front("\""))
        return opening.error("this quote is not closed");
      if (rest.starts_with("\""))
        field += '"';
    }
    rest = rest.drop_while(isSpace);
    if (!rest.empty() && !isFieldEnd(rest.front()))
      return error("text after the closing quote, expected a comma");
    return true;
  }

  llvm::StringRef path, rest;
  unsigned line = 1;
  const char *lineBegin;
};
} // namespace

static bool checkHeader(llvm::StringRef path, const Record &header,
                        llvm::ArrayRef<llvm::StringRef> needed) {
  llvm::StringSet<> names;
  for (llvm::StringRef name : header.fields)
    if (!names.insert(name).second)
      return failAt(path, header.line, 1,
                    "column '" + name + "' is there twice");
  for (llvm::StringRef name : needed)
    if (!names.contains(name))
      return failAt(path, header.line, 1, "no column '" + name + "'");
  return true;
}

std::optional<std::vector<CsvRow>>
driver::readCsvTable(llvm::StringRef path, llvm::StringRef text,
                     llvm::ArrayRef<llvm::StringRef> needed) {
  std::vector<Record> records;
  if (!RecordReader(path, text).readAll(records))
    return std::nullopt;
  if (records.empty()) {
    fail(path + " has no header line");
    return std::nullopt;
  }
  const Record &header = records.front();
  if (!checkHeader(path, header, needed))
    return std::nullopt;
  std::vector<CsvRow> rows;
  for (const Record &record : llvm::drop_begin(records)) {
    if (record.fields.size() != header.fields.size()) {
      failAt(path, record.line, 1,
             "has " + llvm::Twine(record.fields.size()) + " fields, expected " +
                 llvm::Twine(header.fields.size()));
      return std::nullopt;
    }
    CsvRow &row = rows.emplace_back(CsvRow{record.line, {}});
    for (auto [name, field] : llvm::zip_equal(header.fields, record.fields))
      row.fields[name] = field;
  }
  return rows;
}
