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

/// What pages begin with, up to their body: head.html with `title` and the
/// styles in it.
std::string pageHead(const std::string &title);

} // namespace sccl::report

#endif // SCCL_LIB_REPORT_TEMPLATE_H
