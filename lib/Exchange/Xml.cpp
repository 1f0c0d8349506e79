//===- Xml.cpp - XML with places ------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Xml.h"

using namespace sccl;
using namespace sccl::exchange;

pugi::xml_node XmlReader::parse() {
  pugi::xml_parse_result parsed =
      document.load_buffer(source.data(), source.size(), xmlParsing);
  pugi::xml_node root = document.document_element();
  if (parsed && !root)
    findings.add(places.at(source.size()), "this is no XML: no element");
  if (!parsed)
    findings.add(places.at(std::min<size_t>(parsed.offset, source.size())),
                 std::string("this is no XML: ") + parsed.description());
  if (!findings.empty())
    return {};
  checkXmlRules(document, source, [&](size_t offset, std::string message) {
    findings.add(places.at(offset), std::move(message));
  });
  return findings.empty() ? root : pugi::xml_node();
}
