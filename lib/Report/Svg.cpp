//===- Svg.cpp - Drawings as XML ------------------------------------------===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Svg.h"

#include "Assets.h"
#include "Template.h"

#include <charconv>
#include <cmath>
#include <sstream>

using namespace sccl;
using namespace sccl::report;

std::string report::coordinate(double value) {
  double rounded = std::round(value * 100) / 100;
  char text[64];
  auto [end, error] =
      std::to_chars(text, text + sizeof(text), rounded == 0 ? 0 : rounded);
  return std::string(text, error == std::errc() ? end : text);
}

/// The rules of pictures with the light colours in place of variables, for
/// readers that know none.
static std::string lightRules() {
  std::string_view colors = assets::pictureColors();
  std::string rules = assets::pictureRules();
  colors = colors.substr(0, colors.find('}')); // the light ones come first
  for (size_t at; (at = colors.find("--")) != colors.npos;) {
    colors.remove_prefix(at);
    size_t colon = colors.find(": "), end = colors.find(';');
    std::string use = "var(" + std::string(colors.substr(0, colon)) + ")";
    std::string_view color = colors.substr(colon + 2, end - colon - 2);
    for (size_t place = rules.find(use); place != rules.npos;
         place = rules.find(use, place))
      rules.replace(place, use.size(), color);
    colors.remove_prefix(end);
  }
  return rules;
}

Svg::Svg(double width, double height, std::string_view title, PictureFor use) {
  root = document.append_child("svg");
  set(root, "xmlns", "http://www.w3.org/2000/svg");
  set(root, "viewBox", "0 0 " + coordinate(width) + " " + coordinate(height));
  set(root, "role", "img");
  if (use != PictureFor::Page) {
    set(root, "width", width);
    set(root, "height", height);
  }
  setTitle(root, title);
  parent = root;
  if (use == PictureFor::Page)
    return;
  root.append_child("style").text().set(
      (use == PictureFor::Image ? lightRules() : pictureStyle()).c_str());
  box({0, 0}, width, height, "paper");
}

void Svg::set(pugi::xml_node node, const char *name, std::string_view value) {
  node.append_attribute(name).set_value(printable(value).c_str());
}

void Svg::set(pugi::xml_node node, const char *name, double value) {
  set(node, name, coordinate(value));
}

void Svg::setTitle(pugi::xml_node node, std::string_view title) {
  node.prepend_child("title").text().set(printable(title).c_str());
}

pugi::xml_node Svg::add(const char *element, std::string_view kind) {
  pugi::xml_node node = parent.append_child(element);
  if (!kind.empty())
    set(node, "class", kind);
  return node;
}

pugi::xml_node Svg::group(std::string_view kind) { return add("g", kind); }

pugi::xml_node Svg::line(Place from, Place to, std::string_view kind) {
  pugi::xml_node node = add("line", kind);
  set(node, "x1", from.x);
  set(node, "y1", from.y);
  set(node, "x2", to.x);
  set(node, "y2", to.y);
  return node;
}

pugi::xml_node Svg::circle(Place center, double radius, std::string_view kind) {
  pugi::xml_node node = add("circle", kind);
  set(node, "cx", center.x);
  set(node, "cy", center.y);
  set(node, "r", radius);
  return node;
}

pugi::xml_node Svg::box(Place corner, double width, double height,
                        std::string_view kind) {
  pugi::xml_node node = add("rect", kind);
  set(node, "x", corner.x);
  set(node, "y", corner.y);
  set(node, "width", width);
  set(node, "height", height);
  return node;
}

pugi::xml_node Svg::path(const std::string &path, std::string_view kind) {
  pugi::xml_node node = add("path", kind);
  set(node, "d", path);
  return node;
}

pugi::xml_node Svg::text(Place place, std::string_view text,
                         std::string_view kind, std::string_view anchor) {
  pugi::xml_node node = add("text", kind);
  set(node, "x", place.x);
  set(node, "y", place.y);
  set(node, "text-anchor", anchor);
  node.text().set(printable(text).c_str());
  return node;
}

std::string Svg::str() const {
  std::ostringstream stream;
  document.save(stream, " ", pugi::format_default | pugi::format_no_declaration,
                pugi::encoding_utf8);
  return stream.str();
}
