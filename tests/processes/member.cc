#include <unistd.h>

#include <cstdlib>

#include "tessera/base/strings.h"
#include "tessera/coord/shared_values.h"
#include "tessera/pjrt/testing.h"
#include "tests/processes/processes.h"

namespace tessera::process_testing {

Member::Member(int devices, std::unique_ptr<coord::Client> coordinator, MemberWatch& watch)
    : devices_(devices), watch_(watch), coordinator_(std::move(coordinator)) {}

Member::~Member() {
  if (client_ != nullptr) watch_.detach();
}

Result<pjrt::Client*> Member::client(std::vector<pjrt::NamedValue> options,
                                     std::optional<int64_t> slice) {
  ASSIGN_OR_RETURN(const std::string path, pjrt::testing::test_plugin_path());
  ASSIGN_OR_RETURN(const pjrt::Plugin plugin, pjrt::Plugin::load(path));
  options.push_back({"cpu_device_count", int64_t{devices_}});
  ASSIGN_OR_RETURN(pjrt::Client client,
                   pjrt::Client::create(plugin, options,
                                        {.process = process(),
                                         .processes = processes(),
                                         .key_values = coord::shared_values(*coordinator_, "test/"),
                                         .slice = slice}));
  client_ = std::make_unique<pjrt::Client>(std::move(client));
  watch_.attach(*client_);
  return client_.get();
}

Status Member::meet(const std::string& name) {
  return coordinator_->barrier(name, absl::Minutes(1));
}

std::string Member::setting(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? "" : value;
}

void Member::print(const std::string& line) {
  const std::string text = str_cat(line, "\n");  // in one write, so that lines stay whole
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

}  // namespace tessera::process_testing
