// What utils/mscclpp-register.cpp uses of MSCCL++ 0.9, declared alike.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

namespace mscclpp {
enum class CollectiveBufferMode { Any = 0, InPlace, OutOfPlace };
class ExecutionPlan {
public:
  ExecutionPlan(const std::string &planPath, int rank);
  const std::string &name() const;
};
class Algorithm {
public:
  struct Constraint {
    int worldSize;
    int nRanksPerNode;
  };
  virtual ~Algorithm();
  const std::string &name() const;
  const std::pair<size_t, size_t> &messageRange() const;
  const CollectiveBufferMode &bufferMode() const;
  Constraint constraint() const;
};
class AlgorithmBuilder {
public:
  virtual ~AlgorithmBuilder();
};
class DslAlgorithm : public Algorithm, public AlgorithmBuilder {
public:
  DslAlgorithm(std::string id, ExecutionPlan plan,
               std::unordered_map<std::string, uint64_t> tags = {},
               Constraint constraint = {});
};
struct CollectiveRequest {
  int worldSize;
  size_t messageSize;
  const std::string &collective;
  CollectiveBufferMode bufferMode() const;
};
using Algorithms = std::unordered_map<
    std::string, std::unordered_map<std::string, std::shared_ptr<Algorithm>>>;
using AlgoSelectFunc = std::function<std::shared_ptr<Algorithm>(
    const Algorithms &, const CollectiveRequest &)>;
class AlgorithmCollectionBuilder {
public:
  static std::shared_ptr<AlgorithmCollectionBuilder> getInstance();
  void addAlgorithmBuilder(std::shared_ptr<AlgorithmBuilder> builder);
  void setAlgorithmSelector(AlgoSelectFunc selector);
};
} // namespace mscclpp
