// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compile this file with your program against MSCCL++ 0.9, and call its last
// function on each rank before the first collective. A call takes the plan that
// serves its collective, size, place and number of ranks; all others go to
// MSCCL++'s own algorithms. Sets of several collectives, each with such a file,
// may be in one program. MSCCL++ does not say which reduction a call asks for:
// a plan adds up.

#include <mscclpp/algorithm.hpp>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace sccl_sets {

struct Plan {
  const char *file, *name;
  uint64_t least, most; ///< bytes of the larger buffer
  uint64_t multiple;    ///< of the bytes of a rank's part, or of all
  bool inPlace;
};

struct Set {
  const char *collective; ///< as MSCCL++ spells it
  bool isShared;          ///< a buffer has a part for each rank
  int ranks, ranksPerNode;
  std::vector<Plan> plans;
};

/// A plan, and what its set says of all.
struct Served {
  Plan plan;
  bool isShared;
  int ranks, ranksPerNode;
};

/// Those of all sets of the program, by name.
inline std::unordered_map<std::string, Served> &servedPlans() {
  static std::unordered_map<std::string, Served> all;
  return all;
}

/// MSCCL++ knows the calls in place of all collectives but reduce_scatter.
inline bool isInPlace(const mscclpp::CollectiveRequest &request) {
  auto input = static_cast<const char *>(request.inputBuffer);
  auto output = static_cast<const char *>(request.outputBuffer);
  if (request.collective == "allgather")
    return input == output + request.rank * request.messageSize;
  if (request.collective == "reducescatter")
    return output ==
           input + request.rank * (request.messageSize / request.worldSize);
  return input == output;
}

inline bool serves(const Served &served,
                   const mscclpp::CollectiveRequest &request) {
  // What an allgather counts is the part of a rank.
  uint64_t size = request.messageSize;
  if (request.collective == "allgather")
    size *= uint64_t(request.worldSize);
  uint64_t parts = served.isShared ? uint64_t(request.worldSize) : 1;
  return request.worldSize == served.ranks &&
         request.nRanksPerNode == served.ranksPerNode &&
         isInPlace(request) == served.plan.inPlace &&
         served.plan.least <= size && size <= served.plan.most &&
         size % (parts * served.plan.multiple) == 0;
}

/// Of the algorithms of MSCCL++ the plan that serves `request`, or null. What
/// they say of sizes and places themselves is not asked for: version 0.9 has
/// one place for all plans.
template <typename Algorithms>
std::shared_ptr<mscclpp::Algorithm>
choose(const Algorithms &algorithms,
       const mscclpp::CollectiveRequest &request) {
  auto serving = algorithms.find(request.collective);
  if (serving != algorithms.end())
    for (const auto &[name, algorithm] : serving->second) {
      auto served = servedPlans().find(name);
      if (served != servedPlans().end() && serves(served->second, request))
        return algorithm;
    }
  return nullptr;
}

/// Throws std::invalid_argument if the ranks are not those that `set` is for.
inline void registerSet(const Set &set, const std::string &folder, int rank,
                        int worldSize, int ranksPerNode) {
  if (worldSize != set.ranks || ranksPerNode != set.ranksPerNode)
    throw std::invalid_argument(
        folder + " is for " + std::to_string(set.ranks) + " ranks, " +
        std::to_string(set.ranksPerNode) + " on a host, and here are " +
        std::to_string(worldSize) + ", " + std::to_string(ranksPerNode) +
        " on a host");
  auto builder = mscclpp::AlgorithmCollectionBuilder::getInstance();
  for (const Plan &plan : set.plans) {
    mscclpp::ExecutionPlan read(folder + "/" + plan.file, rank);
    if (read.name() != plan.name)
      throw std::invalid_argument(folder + "/" + plan.file +
                                  " is not the plan of this set");
    servedPlans().insert_or_assign(
        plan.name, Served{plan, set.isShared, set.ranks, set.ranksPerNode});
    builder->addAlgorithmBuilder(std::make_shared<mscclpp::DslAlgorithm>(
        plan.name, read, std::unordered_map<std::string, uint64_t>(),
        mscclpp::Algorithm::Constraint{worldSize, ranksPerNode}));
  }
  builder->setAlgorithmSelector(
      [](const auto &algorithms, const mscclpp::CollectiveRequest &request) {
        return choose(algorithms, request);
      });
}

} // namespace sccl_sets
