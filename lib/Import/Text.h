//===- Text.h - Lines, words and places of files ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_IMPORT_TEXT_H
#define SCCL_LIB_IMPORT_TEXT_H

#include "sccl/Import/Import.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"

namespace sccl::import {

/// Where in a file, from 1.
struct Place {
  unsigned line = 1, column = 1;
  std::string str() const {
    return std::to_string(line) + ":" + std::to_string(column);
  }
};

/// A word without blanks, and where it begins.
struct Word {
  std::string text;
  Place place;
};

/// A line without colours and line ends; tabs where Markdown has bars.
struct Line {
  std::string text;
  std::vector<unsigned> columns; ///< of each character, as in the file
  unsigned number;

  Place place(size_t offset) const {
    return {number, offset < columns.size() ? columns[offset]
                    : columns.empty()       ? 1
                                            : columns.back() + 1};
  }
  std::vector<Word> words() const;
  /// The texts between tabs, trimmed.
  std::vector<std::string> fields() const;
};

std::vector<Line> splitLines(llvm::StringRef text);

/// The place of the character at `offset`.
Place placeAt(llvm::StringRef text, size_t offset);

/// "FILE:LINE:COLUMN: message".
Error errorAt(llvm::StringRef path, Place place, const llvm::Twine &message);

/// `busId` in lower case with a domain of 4 digits: "0000:1b:00.0".
std::string normalizedBusId(llvm::StringRef busId);

/// The decimal number that all of `text` is.
std::optional<unsigned> wholeNumber(llvm::StringRef text);
/// Likewise, after `prefix`: 3 of "GPU3".
std::optional<unsigned> numberAfter(llvm::StringRef prefix,
                                    llvm::StringRef text);

/// A message if brackets are nested deeper than any reader can take. `isYaml`
/// also counts "- - -".
std::optional<Error> checkDepth(const ImportFile &file, bool isYaml);

} // namespace sccl::import

#endif // SCCL_LIB_IMPORT_TEXT_H
