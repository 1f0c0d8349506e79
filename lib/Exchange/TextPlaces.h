//===- TextPlaces.h - Lines and columns of a file ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_TEXTPLACES_H
#define SCCL_LIB_EXCHANGE_TEXTPLACES_H

#include "sccl/Exchange/Place.h"

#include <algorithm>
#include <string_view>

namespace sccl::exchange {

/// Where the bytes of a text are.
class TextPlaces {
public:
  explicit TextPlaces(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n')
        newlines.push_back(i);
  }
  Place at(size_t offset) const {
    auto before = std::ranges::lower_bound(newlines, offset);
    size_t start = before == newlines.begin() ? 0 : *(before - 1) + 1;
    return {uint32_t(before - newlines.begin() + 1),
            uint32_t(offset - start + 1)};
  }

private:
  std::vector<size_t> newlines; ///< offsets
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_TEXTPLACES_H
