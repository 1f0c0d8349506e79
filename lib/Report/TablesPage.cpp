//===- TablesPage.cpp - Tables as one HTML file ---------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "sccl/Report/TablesPage.h"

#include "Assets.h"
#include "Template.h"

#include <pugixml.hpp>

#include <sstream>

using namespace sccl;
using namespace sccl::report;

static pugi::xml_node addText(pugi::xml_node parent, const char *element,
                              const std::string &text) {
  pugi::xml_node node = parent.append_child(element);
  node.append_child(pugi::node_pcdata).set_value(printable(text).c_str());
  return node;
}

static std::string textOf(const pugi::xml_document &document) {
  std::ostringstream stream;
  document.save(stream, "  ",
                pugi::format_indent | pugi::format_no_declaration);
  return stream.str();
}

static std::string headerOf(const TablesPage &page) {
  pugi::xml_document document;
  pugi::xml_node header = document.append_child("header");
  addText(header, "h1", page.title);
  addText(header, "p", page.summary);
  return textOf(document);
}

static std::string tablesOf(const TablesPage &page) {
  pugi::xml_document document;
  for (const PageTable &table : page.tables) {
    pugi::xml_node section = document.append_child("section");
    section.append_attribute("class") = "wide";
    addText(section, "h2", table.heading);
    pugi::xml_node body = section.append_child("table");
    pugi::xml_node heads = body.append_child("tr");
    for (const std::string &column : table.columns)
      addText(heads, "th", column);
    for (const std::vector<std::string> &row : table.rows) {
      pugi::xml_node line = body.append_child("tr");
      for (const std::string &cell : row)
        addText(line, "td", cell);
    }
  }
  return textOf(document);
}

std::string report::tablesPageText(const TablesPage &page) {
  return fillIn(assets::tablesText(),
                {{"HEAD", pageHead(page.title)},
                 {"HEADER", headerOf(page)},
                 {"FRONTIER", frontierPicture(page.marks, /*anySteps=*/{},
                                              PictureFor::Page)},
                 {"TIME", timePicture(page.curves, PictureFor::Page)},
                 {"TABLES", tablesOf(page)}});
}
