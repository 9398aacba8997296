#include <algorithm>

#include "tessera/cli/data_commands.h"
#include "tessera/data/build.h"
#include "tessera/data/token_store.h"

namespace tessera::cli {
namespace {

class DataShow : public Command {
 public:
  CommandText text() const override {
    return {.name = "data show",
            .operands = "STORE",
            .summary = "Shows documents of a token store as text.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("document", document_).at_least(0).help("The first document to show, from 0.");
    f.field("count", count_).at_least(1).help("How many.");
    f.field("pieces", pieces_).help("Also each token, a line.");
  }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(const std::shared_ptr<const TokenStore> store,
                     TokenStore::open(invocation.operands[0]));
    // The first one even when there is none of that number: its error says how many there are.
    const int64_t end = std::max(document_ + 1, std::min(document_ + count_, store->documents()));
    for (int64_t document = document_; document < end; ++document) {
      ASSIGN_OR_RETURN(const std::string text, describe_document(*store, document, pieces_));
      invocation.out << text;
    }
    return 0;
  }

 private:
  int64_t document_ = 0;
  int64_t count_ = 1;
  bool pieces_ = false;
};

}  // namespace

std::unique_ptr<Command> data_show() { return std::make_unique<DataShow>(); }

}  // namespace tessera::cli
