//===- CheckMsccl.h - sccl check of files of MSCCL --------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_CHECKMSCCL_H
#define SCCL_TOOLS_SCCL_CHECKMSCCL_H

#include "sccl/Exchange/Msccl.h"

#include "llvm/Support/CommandLine.h"

namespace sccl::driver {

/// The options of a subcommand that reads files of MSCCL: --as, --root and
/// --dialect.
class MscclFlags {
public:
  explicit MscclFlags(llvm::cl::SubCommand &command);

  /// Prints an error and returns nothing if --as names no collective.
  std::optional<exchange::MscclCheckOptions> read() const;
  /// "--NAME" of the first that was given; empty if none was.
  std::string findGiven() const;
  std::optional<exchange::MscclDialect> givenDialect() const;

private:
  llvm::cl::opt<std::string> as;
  llvm::cl::opt<unsigned> root;
  llvm::cl::opt<exchange::MscclDialect> dialect;
};

/// True if `path` is to be read as an algorithm of MSCCL.
bool isMscclFile(llvm::StringRef path);

/// Reads one. Prints an error and returns nothing if it cannot.
std::optional<exchange::MscclAlgorithm> readMsccl(llvm::StringRef path,
                                                  bool json = false);

/// Checks one, prints what it is or all that is wrong with it, and returns the
/// exit code.
int checkMsccl(llvm::StringRef path, const exchange::MscclCheckOptions &options,
               bool json);

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_CHECKMSCCL_H
