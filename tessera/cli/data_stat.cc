#include "tessera/cli/data_commands.h"
#include "tessera/data/build.h"
#include "tessera/data/token_store.h"

namespace tessera::cli {
namespace {

class DataStat : public Command {
 public:
  CommandText text() const override {
    return {.name = "data stat",
            .operands = "STORE",
            .summary = "Shows what a token store holds.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("verify", verify_).help("Read everything and compare it with the checksums.");
  }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const TokenStore> store,
                     TokenStore::open(invocation.operands[0]));
    invocation.out << describe_store(*store);
    if (!verify_) return 0;
    RETURN_IF_ERROR(store->verify());
    invocation.out << "verified     every byte is as it was written\n";
    return 0;
  }

 private:
  bool verify_ = false;
};

}  // namespace

std::unique_ptr<Command> data_stat() { return std::make_unique<DataStat>(); }

}  // namespace tessera::cli
