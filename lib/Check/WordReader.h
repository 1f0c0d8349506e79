//===- WordReader.h - Words of a certificate --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_CHECK_WORDREADER_H
#define SCCL_LIB_CHECK_WORDREADER_H

#include "sccl/Model/Result.h"
#include "sccl/Model/Text.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sccl::certificate {

/// Walks over words that are separated by one space or one line end. The first
/// error sticks, and nothing is read after it, so that callers need not ask
/// after every word.
class WordReader {
public:
  explicit WordReader(std::string_view text) : text(text) {}

  bool ok() const { return message.empty(); }
  Error error() const { return {message}; }
  bool atLineEnd() const { return at < text.size() && text[at] == '\n'; }
  bool atEnd() const { return at == text.size(); }
  /// All that was read so far.
  std::string_view before() const { return text.substr(0, at); }

  /// The word at this place; empty at the end of a line or after an error.
  std::string_view peek() const {
    return ok() ? text.substr(at, text.find_first_of(" \n", at) - at)
                : std::string_view();
  }
  void fail(const std::string &what) {
    if (ok())
      message = std::to_string(line) + ":" +
                std::to_string(at - lineBegin + 1) + ": " + what;
  }
  void failWord(const std::string &expected) {
    std::string_view word = peek();
    fail("expected " + expected + ", got " +
         (word.empty() ? "nothing" : quoted(word)));
  }
  void skipWord() {
    at += peek().size();
    if (at == text.size() || text[at] != ' ')
      return;
    ++at;
    if (at == text.size() || text[at] == ' ' || text[at] == '\n')
      fail("expected a word after the space");
  }
  void expect(std::string_view word) {
    if (peek() != word)
      failWord(quoted(word));
    else
      skipWord();
  }
  void endLine() {
    if (ok() && !atLineEnd())
      fail("expected the end of the line");
    if (!ok())
      return;
    ++at;
    ++line;
    lineBegin = at;
  }
  int64_t number(int64_t least, int64_t most, const std::string &what) {
    std::string_view word = peek();
    std::optional<int64_t> value = toNumber(word);
    if (!value || *value < least || *value > most) {
      failWord(what + " between " + std::to_string(least) + " and " +
               std::to_string(most));
      return least;
    }
    skipWord();
    return *value;
  }
  uint64_t hex() {
    std::string_view word = peek();
    if (word.size() != 16 ||
        word.find_first_not_of("0123456789abcdef") != word.npos) {
      failWord("16 hexadecimal digits");
      return 0;
    }
    uint64_t value = 0;
    for (char digit : word)
      value = value << 4 | (digit <= '9' ? digit - '0' : digit - 'a' + 10);
    skipWord();
    return value;
  }

  /// The value of a decimal number in its only spelling.
  static std::optional<int64_t> toNumber(std::string_view word) {
    bool negative = word.starts_with('-');
    std::string_view digits = word.substr(negative);
    // 18 digits cannot overflow.
    if (digits.empty() || digits.size() > 18 ||
        digits.find_first_not_of("0123456789") != digits.npos ||
        (digits[0] == '0' && (digits.size() > 1 || negative)))
      return std::nullopt;
    int64_t value = 0;
    for (char digit : digits)
      value = value * 10 + (digit - '0');
    return negative ? -value : value;
  }

private:
  std::string_view text;
  size_t at = 0, lineBegin = 0;
  unsigned line = 1;
  std::string message;
};

} // namespace sccl::certificate

#endif // SCCL_LIB_CHECK_WORDREADER_H
