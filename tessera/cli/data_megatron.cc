#include "tessera/base/format.h"
#include "tessera/cli/data_commands.h"
#include "tessera/data/build.h"
#include "tessera/data/megatron.h"
#include "tessera/train/config.h"

namespace tessera::cli {
namespace {

class ExportMegatron : public Command {
 public:
  CommandText text() const override {
    return {.name = "data export-megatron",
            .operands = "STORE PREFIX",
            .summary = "Writes a token store as Megatron-LM's PREFIX.bin and PREFIX.idx.",
            .min_operands = 2,
            .max_operands = 2};
  }

  void fields(ConfigFields& f) override {
    f.field("overwrite", overwrite_).help("Replace files that are there.");
  }

  Result<int> run(const Invocation& invocation) override {
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const auto store, TokenStore::open(invocation.operands[0]));
    const std::string& prefix = invocation.operands[1];
    RETURN_IF_ERROR(export_megatron(files, *store, prefix, overwrite_));
    invocation.out << "wrote " << prefix << ".bin and " << prefix
                   << ".idx: " << count_text(store->tokens()) << " tokens of "
                   << count_text(store->documents()) << " documents"
                   << (store->has_loss_mask() ? "; which tokens are learned is left out" : "")
                   << "\n";
    return 0;
  }

 private:
  bool overwrite_ = false;
};

class ImportMegatron : public Command {
 public:
  CommandText text() const override {
    return {.name = "data import-megatron",
            .operands = "PREFIX",
            .summary = "Makes a token store of Megatron-LM's PREFIX.bin and PREFIX.idx.",
            .details = "The tokenizer must be the one that made the tokens.",
            .min_operands = 1,
            .max_operands = 1};
  }

  void fields(ConfigFields& f) override {
    f.field("output", output_).help("Folder of the token store.");
    f.field("tokenizer", tokenizer_.kind)
        .one_of({"sentencepiece", "huggingface", "bytes"})
        .help("What made the tokens.");
    f.field("model", tokenizer_.model).help("Its tokenizer.model or tokenizer.json.");
    special_token_fields(tokenizer_.special, f);
    f.field("overwrite", overwrite_).help("Replace a store that is there.");
  }

  Result<int> run(const Invocation& invocation) override {
    if (output_.empty())
      return usage_error(invalid_argument("--output is missing: the folder of the token store"));
    if (tokenizer_.kind != "bytes" && tokenizer_.model.empty())
      return usage_error(invalid_argument("--model is missing: the tokenizer's file"));
    PosixFileSystem files;
    BuildOptions options;
    options.tokenizer.kind = tokenizer_.kind;
    options.tokenizer.model_path = tokenizer_.model;
    options.tokenizer.special = tokenizer_.special;
    MegatronImport import = {
        .prefix = invocation.operands[0], .output = output_, .overwrite = overwrite_};
    ASSIGN_OR_RETURN(import.tokenizer, prepare_tokenizer(files, options, {}, nullptr));
    ASSIGN_OR_RETURN(const TokenStoreManifest manifest, import_megatron(files, import));
    invocation.out << "built " << output_ << ": " << count_text(manifest.tokens) << " tokens of "
                   << count_text(manifest.documents) << " documents\n";
    return 0;
  }

 private:
  std::string output_;
  TokenizerConfig tokenizer_;
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Command> data_export_megatron() { return std::make_unique<ExportMegatron>(); }
std::unique_ptr<Command> data_import_megatron() { return std::make_unique<ImportMegatron>(); }

}  // namespace tessera::cli
