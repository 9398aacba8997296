#include "tessera/train/generate.h"

#include <cstdint>

#include "tessera/base/filesystem.h"
#include "tessera/base/log.h"
#include "tessera/cli/recipe.h"
#include "tessera/cli/train.h"
#include "tessera/data/token_store.h"
#include "tessera/storage/any_filesystem.h"
#include "tessera/train/session.h"

namespace tessera::cli {
namespace {

class GenerateCommand : public Command {
 public:
  CommandText text() const override {
    return {.name = "generate",
            .operands = "RECIPE [KEY=VALUE ...]",
            .summary = "Continues a prompt with the model of a run's last checkpoint.",
            .details =
                "RECIPE is that of the run, or the config.yaml in its output directory. Prints the "
                "prompt and "
                "its continuation.",
            .min_operands = 1,
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("prompt", options_.prompt).help("The text to continue.");
    f.field("max_tokens", options_.max_tokens).range(1, 1'000'000).help("How many tokens to add.");
    f.field("temperature", options_.temperature)
        .range(0, 100)
        .help("0: always the likeliest token.");
    f.field("top_k", options_.top_k)
        .at_least(0)
        .help("Draw from the likeliest so many; 0: from all.");
    f.field("seed", options_.seed).help("Of the draws.");
    f.field("step", options_.step)
        .at_least(0)
        .help("Of the checkpoint; null: the newest good one.");
    device_.fields(f);
  }

  std::string more_help() const override { return recipe_help(); }

  Result<int> run(const Invocation& invocation) override {
    ASSIGN_OR_RETURN(RunConfig config,
                     read_recipe(invocation.operands, /*needs_recipe=*/true, device_.overrides()));
    AnyFileSystem files;
    ASSIGN_OR_RETURN(const std::vector<DataSource> sources, config.data.sources());
    ASSIGN_OR_RETURN(const std::shared_ptr<const TokenStore> store,
                     TokenStore::open(sources[0].store));
    ASSIGN_OR_RETURN(const std::shared_ptr<const Tokenizer> tokenizer, store->tokenizer());
    RETURN_IF_ERROR(config.validate_vocabulary(tokenizer->vocab_size()));
    RETURN_IF_ERROR(files.check(config.checkpoint_directory(), /*writes=*/false));
    ASSIGN_OR_RETURN(Session session, Session::open(std::move(config)));
    ASSIGN_OR_RETURN(const Generated generated,
                     tessera::generate(session, *tokenizer, files, options_));
    log_info("checkpoint of step ", generated.step, ", ", generated.tokens.size(), " tokens");
    invocation.out << options_.prompt << generated.text << "\n";
    return 0;
  }

 private:
  GenerateOptions options_;
  DeviceOptions device_;
};

}  // namespace

std::unique_ptr<Command> generate_command() { return std::make_unique<GenerateCommand>(); }

}  // namespace tessera::cli
