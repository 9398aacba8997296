#include "tessera/coord/shared_values.h"

#include <utility>

#include "tessera/base/strings.h"

namespace tessera::coord {
namespace {

class SharedValues final : public KeyValueStore {
 public:
  SharedValues(Client& client, std::string prefix) : client_(client), prefix_(std::move(prefix)) {}
  Status put(const std::string& key, const std::string& value) override {
    return client_.insert(str_cat(prefix_, key), value);
  }
  Status replace(const std::string& key, const std::string& value) override {
    return client_.insert(str_cat(prefix_, key), value, /*overwrite=*/true);
  }
  Result<std::string> get(const std::string& key, absl::Duration timeout) override {
    return client_.get(str_cat(prefix_, key), timeout);
  }
  Result<std::string> try_get(const std::string& key) override {
    return client_.try_get(str_cat(prefix_, key));
  }

 private:
  Client& client_;
  const std::string prefix_;
};

}  // namespace

std::shared_ptr<KeyValueStore> shared_values(Client& client, std::string prefix) {
  return std::make_shared<SharedValues>(client, std::move(prefix));
}

}  // namespace tessera::coord
