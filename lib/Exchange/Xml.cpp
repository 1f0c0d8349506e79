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
      document.load_buffer(source.data(), source.size());
  if (parsed)
    return document.document_element();
  findings.add(places.at(std::min<size_t>(parsed.offset, source.size())),
               std::string("this is no XML: ") + parsed.description());
  return {};
}
