//===- Arguments.h - What command lines have in common ----------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_ARGUMENTS_H
#define SCCL_TOOLS_SCCL_ARGUMENTS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

namespace sccl::driver {

/// Reads the command line into the options of LLVM. False, after errors that
/// name the subcommand, if it makes no sense.
bool parseArguments(int argc, char **argv, llvm::StringRef overview);

/// "--NAME", or "-N", for the first of `options` that was given; empty if none
/// was. Options that a call would ignore are refused by this.
std::string findGiven(std::initializer_list<const llvm::cl::Option *> options);

/// The bytes that `text` says, the value of the option `option` ("--bytes").
/// Prints an error with examples and returns nothing if it is no size.
std::optional<uint64_t> readBytes(llvm::StringRef option, llvm::StringRef text);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_ARGUMENTS_H
