//===- Template.cpp - Texts with places for others ------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Template.h"

#include "Assets.h"

#include "llvm/Support/JSON.h"
#include <pugixml.hpp>

#include <sstream>

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

std::string report::printable(std::string_view text) {
  constexpr const char *replacement = "\xEF\xBF\xBD"; // U+FFFD
  std::string result;
  for (unsigned char c : llvm::json::fixUTF8({text.data(), text.size()}))
    if (c < 0x20 || c == 0x7f)
      result += replacement;
    else
      result += char(c);
  return result;
}

std::string report::pictureStyle() {
  return std::string(assets::pictureColors()) + assets::pictureRules();
}

static std::string titleElement(const std::string &title) {
  pugi::xml_document document;
  pugi::xml_node node = document.append_child("title");
  node.append_child(pugi::node_pcdata).set_value(printable(title).c_str());
  std::ostringstream stream;
  node.print(stream, "", pugi::format_raw);
  return stream.str();
}

std::string report::pageHead(const std::string &title) {
  return fillIn(assets::headText(), {{"TITLE", titleElement(title)},
                                     {"PICTURE_STYLE", pictureStyle()},
                                     {"PAGE_STYLE", assets::pageStyle()}});
}
