//===- Template.h - Texts with places for others ----------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_LIB_REPORT_TEMPLATE_H
#define SCCL_LIB_REPORT_TEMPLATE_H

#include <map>
#include <string>
#include <string_view>

namespace sccl::report {

/// `text` with the part of that name in the place of each @NAME@; all of them
/// must be there.
std::string fillIn(std::string_view text,
                   const std::map<std::string, std::string> &parts);

/// `text` as documents can hold it: without control characters, and in UTF-8.
/// Names of files and topologies may be anything.
std::string printable(std::string_view text);

/// How pictures look: light or dark colours, as readers want, and the rules
/// that use them.
std::string pictureStyle();

/// What pages begin with, up to their body: head.html with `title` and the
/// styles in it.
std::string pageHead(const std::string &title);

} // namespace sccl::report

#endif // SCCL_LIB_REPORT_TEMPLATE_H
