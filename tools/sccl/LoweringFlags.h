//===- LoweringFlags.h - Options of lowering --------------------*- C++ -*-===//
//
// Part of sccl, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef SCCL_TOOLS_SCCL_LOWERINGFLAGS_H
#define SCCL_TOOLS_SCCL_LOWERINGFLAGS_H

#include "sccl/Pipelines/Pipelines.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

#include <initializer_list>
#include <memory>

namespace sccl::driver {

/// The options of a subcommand that lowers schedules.
class LoweringFlags {
public:
  explicit LoweringFlags(llvm::cl::SubCommand &command)
      : elementNames("dtype", llvm::cl::desc("Element type (f32)"),
                     llvm::cl::sub(command)),
        reductionNames("op", llvm::cl::desc("Reduction (sum)"),
                       llvm::cl::sub(command)),
        transport("transport",
                  llvm::cl::desc("Who moves chunks: push, pull, dma (with "
                                 "--steps), auto, or given: as the schedule "
                                 "says, else push"),
                  llvm::cl::init("given"), llvm::cl::sub(command)),
        links("link-transport",
              llvm::cl::desc("Transport of one link, as 0-1:pull"),
              llvm::cl::value_desc("SRC-DST:TRANSPORT"),
              llvm::cl::CommaSeparated, llvm::cl::sub(command)),
        explain("explain",
                llvm::cl::desc("Say for each link who moves chunks, and why, "
                               "and how many ops were joined and removed"),
                llvm::cl::sub(command)),
        steps("steps",
              llvm::cl::desc("A kernel per step, in place of one for all"),
              llvm::cl::sub(command)),
        throughScratch("through-scratch",
                       llvm::cl::desc("Let ranks touch nothing of their peers "
                                      "but scratch memory"),
                       llvm::cl::sub(command)),
        alternate("alternate",
                  llvm::cl::desc("Use two halves of scratch by turns, to spare "
                                 "handshakes"),
                  llvm::cl::sub(command)),
        ll("ll",
           llvm::cl::desc("Send words of data and launch number, in place "
                          "of flags: for small messages"),
           llvm::cl::sub(command)),
        shapeNames("code-shape", llvm::cl::desc("unrolled, table or auto"),
                   llvm::cl::sub(command)),
        identical("identical",
                  llvm::cl::desc("Fail unless all ranks get bit-identical "
                                 "reductions"),
                  llvm::cl::sub(command)) {}

  LoweringOptions get() const {
    LoweringOptions options;
    options.element = elements().back();
    options.reduction = reductions().back();
    options.transport = transport;
    options.links.assign(links.begin(), links.end());
    options.explain = explain;
    auto isDMA = [](llvm::StringRef link) { return link.ends_with(":dma"); };
    options.steps =
        steps || transport == "dma" || llvm::any_of(options.links, isDMA);
    options.throughScratch = throughScratch;
    options.alternate = alternate;
    options.ll = ll;
    options.shape = shapes().back();
    options.identical = identical;
    return options;
  }

  /// All that were given, at least one; `get` takes the last.
  std::vector<std::string> elements() const {
    return valuesOr(elementNames, "f32");
  }
  std::vector<std::string> reductions() const {
    return valuesOr(reductionNames, "sum");
  }
  std::vector<std::string> shapes() const {
    return valuesOr(shapeNames, "auto");
  }

  using Options = std::initializer_list<const llvm::cl::Option *>;
  /// "--NAME" for the first of `options` that was given; empty if none was.
  static std::string findGiven(Options options) {
    for (const llvm::cl::Option *option : options)
      if (option->getNumOccurrences() != 0)
        return ("--" + option->ArgStr).str();
    return "";
  }
  /// The same for all of these options that say how to lower, which is all but
  /// --dtype and --op.
  std::string findGiven() const {
    return findGiven({&transport, std::addressof(links), &explain, &steps,
                      &throughScratch, &alternate, &ll,
                      std::addressof(shapeNames), &identical});
  }
  /// The same for what plans have variants for.
  std::string findReplacedByVariants() const {
    return findGiven({&transport, &steps});
  }

private:
  static std::vector<std::string>
  valuesOr(const llvm::cl::list<std::string> &option, const char *fallback) {
    if (option.empty())
      return {fallback};
    return {option.begin(), option.end()};
  }

  llvm::cl::list<std::string> elementNames, reductionNames;
  llvm::cl::opt<std::string> transport;
  llvm::cl::list<std::string> links;
  llvm::cl::opt<bool> explain;
  llvm::cl::opt<bool> steps, throughScratch, alternate, ll;
  llvm::cl::list<std::string> shapeNames;
  llvm::cl::opt<bool> identical;
};

} // namespace sccl::driver

#endif // SCCL_TOOLS_SCCL_LOWERINGFLAGS_H
