//===- Xml.h - XML with places ----------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_EXCHANGE_XML_H
#define SCCL_LIB_EXCHANGE_XML_H

#include "Model/XmlRules.h"
#include "TextPlaces.h"

namespace sccl::exchange {

/// The elements of a file. What is wrong with them is said in findings.
class XmlReader {
public:
  XmlReader(std::string_view text, Findings &findings)
      : source(text), places(text), findings(findings) {}
  /// The outermost element, which lives as long as this; none after a finding
  /// if this is no XML.
  pugi::xml_node parse();

  void complain(pugi::xml_node node, std::string message) {
    findings.add(placeOf(node), std::move(message));
  }
  Place placeOf(pugi::xml_node node) const {
    return places.at(xmlOffset(node));
  }

private:
  std::string_view source;
  const TextPlaces places;
  Findings &findings;
  pugi::xml_document document;
};

} // namespace sccl::exchange

#endif // SCCL_LIB_EXCHANGE_XML_H
