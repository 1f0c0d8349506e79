//===- Text.h - Text that others wrote --------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_MODEL_TEXT_H
#define SCCL_MODEL_TEXT_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sccl {

/// `text` between single quotes, for a message.
std::string quoted(std::string_view text);

/// What is before, between and after the separators of `text`: one part more
/// than there are separators.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The decimal number that `text` is, if it is nothing else and fits.
std::optional<unsigned> wholeNumber(std::string_view text);

/// The bytes of the character in UTF-8 that `text`, which is not empty, begins
/// with; 0 if there is none.
size_t characterBytes(std::string_view text);

/// `text` for a terminal, which obeys control characters: as \1B, for each
/// byte, are U+0000 to U+001F other than tab and line feed, U+007F to U+009F,
/// and what is not UTF-8.
std::string escapeControls(std::string_view text);

} // namespace sccl

#endif // SCCL_MODEL_TEXT_H
