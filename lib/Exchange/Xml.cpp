//===- Xml.cpp - XML with places ------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Xml.h"

#include <set>

using namespace sccl;
using namespace sccl::exchange;

namespace {
/// Complains of attributes that an element has twice.
class AttributeCheck : public pugi::xml_tree_walker {
public:
  explicit AttributeCheck(XmlReader &reader) : reader(reader) {}
  bool for_each(pugi::xml_node &node) override {
    std::set<std::string_view> names;
    for (pugi::xml_attribute attribute : node.attributes())
      if (!names.insert(attribute.name()).second)
        reader.complain(node, std::string("<") + node.name() +
                                  "> has the attribute '" + attribute.name() +
                                  "' twice");
    return true;
  }

private:
  XmlReader &reader;
};
} // namespace

/// The parser takes any number of elements and texts, since it does so within
/// elements.
void XmlReader::checkOutermost(pugi::xml_node root) {
  for (pugi::xml_node node : document.children()) {
    if (node == root)
      continue;
    bool isElement = node.type() == pugi::node_element;
    size_t offset = size_t(std::max<ptrdiff_t>(node.offset_debug(), 0));
    // The text begins with the space before it.
    offset =
        std::min(source.find_first_not_of(" \t\r\n", offset), source.size());
    findings.add(
        isElement ? placeOf(node) : places.at(offset),
        std::string("this is no XML: ") +
            (isElement ? "a second element" : "text outside the element"));
  }
}

pugi::xml_node XmlReader::parse() {
  pugi::xml_parse_result parsed = document.load_buffer(
      source.data(), source.size(), pugi::parse_default | pugi::parse_fragment);
  pugi::xml_node root = document.document_element();
  if (parsed && !root)
    findings.add(places.at(source.size()), "this is no XML: no element");
  if (!parsed)
    findings.add(places.at(std::min<size_t>(parsed.offset, source.size())),
                 std::string("this is no XML: ") + parsed.description());
  if (!findings.empty())
    return {};
  checkOutermost(root);
  AttributeCheck check(*this);
  document.traverse(check);
  return findings.empty() ? root : pugi::xml_node();
}
