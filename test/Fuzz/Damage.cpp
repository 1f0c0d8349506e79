//===- Damage.cpp - Texts that are nearly right ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Damage.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>

namespace {

struct Range {
  size_t begin, end;
};

} // namespace

static bool isDigit(char letter) { return letter >= '0' && letter <= '9'; }
static bool isOfWord(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_' ||
         letter == '.';
}
static bool isOfLine(char letter) { return letter != '\n'; }

/// The first run of letters that are `of` a kind behind a random place, or an
/// empty one at the end.
static Range pick(const std::string &text, bool (*of)(char),
                  std::mt19937 &random) {
  auto at = text.begin() + below(random, text.size());
  while (at != text.begin() && of(at[-1]))
    --at;
  auto begin = std::find_if(at, text.end(), of);
  auto end = std::find_if_not(begin, text.end(), of);
  return {size_t(begin - text.begin()), size_t(end - text.begin())};
}

static std::string textOf(const std::string &text, Range range) {
  return text.substr(range.begin, range.end - range.begin);
}

static std::string numberLike(const std::string &number, std::mt19937 &random) {
  static const char *const edges[] = {
      "0",          "-1",         "65536",       "1048576",
      "2147483648", "4294967296", "99999999999", "18446744073709551615"};
  if (below(random, 4) == 0)
    return edges[below(random, std::size(edges))];
  uint64_t value = 0;
  for (char digit : number)
    value = value * 10 + (digit - '0');
  switch (below(random, 3)) {
  case 0:
    return std::to_string(value + 1);
  case 1:
    return std::to_string(value == 0 ? 2 : value - 1);
  default:
    return std::to_string(below(random, 12));
  }
}

void changeToken(std::string &text, const std::string &other,
                 std::mt19937 &random) {
  auto put = [&](Range range, const std::string &now) {
    text.replace(range.begin, range.end - range.begin, now);
  };
  switch (below(random, 6)) {
  case 0:
  case 1: {
    Range number = pick(text, isDigit, random);
    return put(number, numberLike(textOf(text, number), random));
  }
  case 2:
    return put(pick(text, isDigit, random),
               textOf(text, pick(text, isDigit, random)));
  case 3:
    return put(pick(text, isOfWord, random),
               textOf(other, pick(other, isOfWord, random)));
  case 4: {
    Range line = pick(text, isOfLine, random);
    return put({line.begin, line.begin},
               textOf(other, pick(other, isOfLine, random)) + "\n");
  }
  default:
    return put(pick(text, isOfLine, random), "");
  }
}
