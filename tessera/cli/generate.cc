#include "tessera/train/generate.h"

#include <cstdint>

#include "tessera/base/log.h"
#include "tessera/cli/recipe.h"
#include "tessera/cli/train.h"
#include "tessera/data/token_store.h"

namespace tessera::cli {
namespace {

class GenerateCommand : public Command {
 public:
  CommandText text() const override {
    return {.name = "generate",
            .operands = "RECIPE [KEY=VALUE ...]",
            .summary = "Samples text from a run's newest checkpoint.",
            .details = "Prints the prompt and what the model makes of it.",
            .min_operands = 1,
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("prompt", options_.prompt).help("What the text begins with.");
    f.field("max_tokens", options_.max_tokens).range(1, 1'048'576).help("Tokens to add.");
    f.field("temperature", options_.temperature)
        .range(0, 100)
        .help("0: always the likeliest token.");
    f.field("top_k", options_.top_k)
        .at_least(0)
        .help("Draw from the likeliest k only; 0: from all.");
    f.field("seed", options_.seed).help("Of the draws: the same seed gives the same text.");
    f.field("step", options_.step)
        .at_least(0)
        .help("Of the checkpoint; null: the newest good one.");
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(const RunConfig config,
                     read_recipe(invocation.operands, /*needs_recipe=*/true));
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const auto store, TokenStore::open(config.data.store));
    ASSIGN_OR_RETURN(const auto tokenizer, store->tokenizer());
    RETURN_IF_ERROR(config.validate_vocabulary(tokenizer->vocab_size()));
    ASSIGN_OR_RETURN(Session session, Session::open(config));
    ASSIGN_OR_RETURN(const Generated generated, generate(session, *tokenizer, files, options_));
    log_info("sampled ", generated.tokens.size(), " tokens from step ", generated.step);
    invocation.out << options_.prompt << generated.text << "\n";
    return 0;
  }

 private:
  GenerateOptions options_;
};

}  // namespace

std::unique_ptr<Command> generate_command() { return std::make_unique<GenerateCommand>(); }

}  // namespace tessera::cli
