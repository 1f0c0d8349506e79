//===- Text.cpp - Lines, words and places of files ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Text.h"

#include "llvm/ADT/StringExtras.h"

using namespace sccl;
using namespace sccl::import;
using llvm::StringRef;

/// The length of the terminal's escape sequence that `text` begins with, or 0.
static size_t escapeLength(StringRef text) {
  if (!text.starts_with("\x1b["))
    return 0;
  size_t end = text.find_first_not_of("0123456789;?", 2);
  return end == text.npos ? text.size() : end + 1;
}

/// A row of a table of Markdown becomes fields between tabs.
static void takeOutBars(Line &line) {
  size_t first = line.text.find_first_not_of(" \t");
  if (first == std::string::npos || line.text[first] != '|')
    return;
  line.text.erase(0, first + 1);
  line.columns.erase(line.columns.begin(),
                     line.columns.begin() + ptrdiff_t(first) + 1);
  for (char &c : line.text)
    c = c == '|' ? '\t' : c == '`' || c == '*' ? ' ' : c;
}

static Line makeLine(StringRef text, unsigned number) {
  Line line = {"", {}, number};
  for (size_t i = 0; i < text.size();) {
    if (size_t length = escapeLength(text.substr(i))) {
      i += length;
      continue;
    }
    // A blank that does not break lines, as pages of the web have.
    bool isWideBlank = text.substr(i).starts_with("\xc2\xa0");
    if (text[i] != '\r') {
      line.text += isWideBlank ? ' ' : text[i];
      line.columns.push_back(unsigned(i) + 1);
    }
    i += isWideBlank ? 2 : 1;
  }
  takeOutBars(line);
  return line;
}

std::vector<Line> import::splitLines(StringRef text) {
  text.consume_front("\xef\xbb\xbf");
  std::vector<Line> lines;
  unsigned number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    lines.push_back(makeLine(line, ++number));
    text = rest;
  }
  return lines;
}

std::vector<Word> Line::words() const {
  std::vector<Word> result;
  for (size_t at = 0; at < text.size();) {
    if (isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && !isspace(static_cast<unsigned char>(text[end])))
      ++end;
    result.push_back({text.substr(at, end - at), place(at)});
    at = end;
  }
  return result;
}

std::vector<std::string> Line::fields() const {
  std::vector<std::string> result;
  for (StringRef field : llvm::split(text, '\t'))
    result.push_back(field.trim().str());
  return result;
}

Place import::placeAt(StringRef text, size_t offset) {
  StringRef before = text.substr(0, offset);
  size_t newline = before.rfind('\n');
  auto column =
      newline == before.npos ? before.size() : before.size() - newline - 1;
  return {unsigned(before.count('\n')) + 1, unsigned(column) + 1};
}

Error import::errorAt(StringRef path, Place place, const llvm::Twine &message) {
  return Error{(path + ":" + place.str() + ": " + message).str()};
}

std::string import::normalizedBusId(StringRef busId) {
  std::string lower = busId.trim().lower();
  StringRef id = lower;
  size_t colons = id.count(':');
  if (colons == 1)
    return "0000:" + lower;
  // nvidia-smi has domains of 8 digits.
  auto [domain, rest] = id.split(':');
  while (domain.size() > 4 && domain.consume_front("0"))
    ;
  return (domain + ":" + rest).str();
}

std::optional<unsigned> import::wholeNumber(StringRef text) {
  unsigned value;
  if (text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, value))
    return std::nullopt;
  return value;
}

std::optional<unsigned> import::numberAfter(StringRef prefix, StringRef text) {
  if (!text.consume_front(prefix))
    return std::nullopt;
  return wholeNumber(text);
}

std::optional<Error> import::checkDepth(const ImportFile &file, bool isYaml) {
  // The parsers are recursive.
  constexpr unsigned most = 200;
  unsigned depth = 0, dashes = 0;
  bool inString = false;
  StringRef text = file.text;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      i += c == '\\';
      inString = c != '"' && c != '\n';
      continue;
    }
    inString = c == '"';
    depth += c == '[' || c == '{';
    depth -= depth > 0 && (c == ']' || c == '}');
    if (isYaml) {
      dashes += c == '-' || c == '?';
      dashes = c == '\n' || isalnum(static_cast<unsigned char>(c)) ? 0 : dashes;
    }
    if (depth > most || dashes > most)
      return errorAt(file.path, placeAt(text, i),
                     "nested deeper than " + llvm::Twine(most) + " levels");
  }
  return std::nullopt;
}
