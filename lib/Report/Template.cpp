//===- Template.cpp - Texts with places for others ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Template.h"

#include "Assets.h"

using namespace sccl;
using namespace sccl::report;

std::string report::fillIn(std::string_view text,
                           const std::map<std::string, std::string> &parts) {
  std::string page;
  for (size_t begin; (begin = text.find('@')) != text.npos;) {
    size_t end = text.find('@', begin + 1);
    page += text.substr(0, begin);
    page += parts.at(std::string(text.substr(begin + 1, end - begin - 1)));
    text.remove_prefix(end + 1);
  }
  return page.append(text);
}

std::string report::pageHead() {
  return fillIn(assets::headText(), {{"PICTURE_STYLE", assets::pictureStyle()},
                                     {"PAGE_STYLE", assets::pageStyle()}});
}
