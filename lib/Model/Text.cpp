//===- Text.cpp - Text that others wrote ----------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Model/Text.h"

#include <charconv>

using namespace sccl;

std::string sccl::quoted(std::string_view text) {
  return std::string(1, '\'').append(text).append(1, '\'');
}

std::vector<std::string_view> sccl::split(std::string_view text,
                                          char separator) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != text.npos;
       begin = end + 1)
    parts.push_back(text.substr(begin, end - begin));
  parts.push_back(text.substr(begin));
  return parts;
}

std::optional<unsigned> sccl::wholeNumber(std::string_view text) {
  unsigned value = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

size_t sccl::characterBytes(std::string_view text) {
  auto byte = [&](size_t at) { return static_cast<unsigned char>(text[at]); };
  unsigned char first = byte(0);
  size_t length = first < 0x80                    ? 1
                  : first >= 0xc2 && first < 0xe0 ? 2
                  : first >= 0xe0 && first < 0xf0 ? 3
                  : first >= 0xf0 && first < 0xf5 ? 4
                                                  : 0;
  if (length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Longer than need be, halves of pairs, and beyond the last one.
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) > 0x9f) ||
      (first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) > 0x8f))
    return 0;
  return length;
}

/// True for what terminals obey, other than tab and line feed.
static bool isControl(std::string_view character) {
  unsigned char first = character[0];
  if (character.size() == 1)
    return (first < 0x20 && first != '\t' && first != '\n') || first == 0x7f;
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

std::string sccl::escapeControls(std::string_view text) {
  constexpr const char *digits = "0123456789ABCDEF";
  std::string result;
  while (!text.empty()) {
    size_t length = characterBytes(text);
    std::string_view character = text.substr(0, length ? length : 1);
    text.remove_prefix(character.size());
    if (length != 0 && !isControl(character)) {
      result += character;
      continue;
    }
    for (unsigned char byte : character)
      (result += '\\') += {digits[byte >> 4], digits[byte & 15]};
  }
  return result;
}
