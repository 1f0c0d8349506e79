//===- XmlPlaces.h - Where elements of XML are ------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_XMLPLACES_H
#define SCCL_LIB_EXCHANGE_XMLPLACES_H

#include "sccl/Exchange/Place.h"

#include <pugixml.hpp>

#include <algorithm>
#include <string_view>

namespace sccl::exchange {

/// Lines and columns of a file.
class XmlPlaces {
public:
  explicit XmlPlaces(std::string_view text) {
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
  Place of(pugi::xml_node node) const {
    // The offset is that of the name, after the bracket.
    return at(std::max<ptrdiff_t>(node.offset_debug() - 1, 0));
  }

private:
  std::vector<size_t> newlines;
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_XMLPLACES_H
