// What register.cpp of a set uses of MSCCL++ 0.9, declared alike, and as much
// of it as choosing a plan needs.
#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace mscclpp {
class ExecutionPlan {
public:
  ExecutionPlan(const std::string &planPath, int) {
    std::ifstream file(planPath);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    // Operations have names, too, before it.
    size_t begin = text.find('"', text.rfind("\"name\"") + 6) + 1;
    own = text.substr(begin, text.find('"', begin) - begin);
  }
  const std::string &name() const { return own; }

private:
  std::string own;
};
class Algorithm {
public:
  struct Constraint {
    int worldSize;
    int nRanksPerNode;
  };
  virtual ~Algorithm() = default;
  virtual const std::string &name() const = 0;
};
class AlgorithmBuilder {
public:
  virtual ~AlgorithmBuilder() = default;
};
class DslAlgorithm : public Algorithm, public AlgorithmBuilder {
public:
  DslAlgorithm(std::string, ExecutionPlan plan,
               std::unordered_map<std::string, uint64_t> = {}, Constraint = {})
      : plan(std::move(plan)) {}
  const std::string &name() const override { return plan.name(); }

private:
  ExecutionPlan plan;
};
struct CollectiveRequest {
  int worldSize;
  int nRanksPerNode;
  int rank;
  const void *inputBuffer;
  void *outputBuffer;
  size_t messageSize;
  const std::string &collective;
};
using Algorithms = std::unordered_map<
    std::string, std::unordered_map<std::string, std::shared_ptr<Algorithm>>>;
using AlgoSelectFunc = std::function<std::shared_ptr<Algorithm>(
    const Algorithms &, const CollectiveRequest &)>;
class AlgorithmCollectionBuilder {
public:
  static std::shared_ptr<AlgorithmCollectionBuilder> getInstance() {
    static auto instance = std::make_shared<AlgorithmCollectionBuilder>();
    return instance;
  }
  void addAlgorithmBuilder(std::shared_ptr<AlgorithmBuilder> builder) {
    builders.push_back(std::move(builder));
  }
  void setAlgorithmSelector(AlgoSelectFunc function) { selector = function; }

  std::vector<std::shared_ptr<AlgorithmBuilder>> builders; ///< for tests
  AlgoSelectFunc selector;
};
} // namespace mscclpp
