//===- XmlRules.h - What the XML parser lets pass ---------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_MODEL_XMLRULES_H
#define SCCL_LIB_MODEL_XMLRULES_H

#include <pugixml.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>

namespace sccl {

/// How a file is parsed, so that `checkXmlRules` sees all of it.
inline constexpr unsigned xmlParsing =
    pugi::parse_default | pugi::parse_fragment;

/// Called with a place, an offset in bytes, and what is wrong there.
using XmlComplaint = std::function<void(size_t, std::string)>;

/// Where the bracket of an element is.
inline size_t xmlOffset(pugi::xml_node node) {
  // That of pugixml is the name's.
  return size_t(std::max<ptrdiff_t>(node.offset_debug() - 1, 0));
}

/// Complains of what pugixml takes and other parsers of XML do not: several
/// outermost elements, text beside them, attributes that an element has twice.
inline void checkXmlRules(pugi::xml_document &document, std::string_view text,
                          const XmlComplaint &complain) {
  pugi::xml_node root = document.document_element();
  for (pugi::xml_node node : document.children()) {
    if (node == root)
      continue;
    if (node.type() == pugi::node_element) {
      complain(xmlOffset(node), "this is no XML: a second element");
      continue;
    }
    // The text begins with the space before it.
    size_t offset = size_t(std::max<ptrdiff_t>(node.offset_debug(), 0));
    offset = std::min(text.find_first_not_of(" \t\r\n", offset), text.size());
    complain(offset, "this is no XML: text outside the element");
  }
  struct AttributeCheck : pugi::xml_tree_walker {
    explicit AttributeCheck(const XmlComplaint &complain)
        : complain(complain) {}
    bool for_each(pugi::xml_node &node) override {
      std::set<std::string_view> names;
      for (pugi::xml_attribute attribute : node.attributes())
        if (!names.insert(attribute.name()).second)
          complain(xmlOffset(node), std::string("<") + node.name() +
                                        "> has the attribute '" +
                                        attribute.name() + "' twice");
      return true;
    }
    const XmlComplaint &complain;
  };
  AttributeCheck check(complain);
  document.traverse(check);
}

} // namespace sccl

#endif // SCCL_LIB_MODEL_XMLRULES_H
