//===- Svg.h - Drawings as XML ----------------------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_REPORT_SVG_H
#define SCCL_LIB_REPORT_SVG_H

#include "sccl/Report/Pictures.h"

#include <pugixml.hpp>

#include <string>
#include <string_view>

namespace sccl::report {

struct Place {
  double x = 0, y = 0;
};

/// With two digits after the point at most, whatever the locale.
std::string coordinate(double value);

/// A drawing, element by element. Functions return the element, for titles and
/// attributes of its own.
class Svg {
public:
  Svg(double width, double height, std::string_view title, PictureFor use);

  /// Where elements go that are added from now on: an element of the drawing,
  /// or all of it.
  void into(pugi::xml_node group) { parent = group; }
  void intoAll() { parent = root; }

  pugi::xml_node group(std::string_view kind);
  pugi::xml_node line(Place from, Place to, std::string_view kind);
  pugi::xml_node circle(Place center, double radius, std::string_view kind);
  pugi::xml_node box(Place corner, double width, double height,
                     std::string_view kind);
  /// `path` is in the words of SVG, as "M 0 0 L 1 1".
  pugi::xml_node path(const std::string &path, std::string_view kind);
  /// `anchor` is start, middle or end.
  pugi::xml_node text(Place place, std::string_view text, std::string_view kind,
                      std::string_view anchor);

  /// Says what `node` stands for.
  static void setTitle(pugi::xml_node node, std::string_view title);
  static void set(pugi::xml_node node, const char *name,
                  std::string_view value);
  static void set(pugi::xml_node node, const char *name, double value);

  std::string str() const;

private:
  pugi::xml_node add(const char *element, std::string_view kind);

  pugi::xml_document document;
  pugi::xml_node root, parent;
};

} // namespace sccl::report

#endif // SCCL_LIB_REPORT_SVG_H
