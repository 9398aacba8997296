#include "tessera/cli/data_commands.h"
#include "tessera/data/build.h"
#include "tessera/train/token_store.h"

namespace tessera::cli {
namespace {

class DataBuild : public Command {
 public:
  CommandText text() const override {
    return {.name = "data build",
            .operands = "PATH ...",
            .summary = "Makes a token store from text, JSON lines or Parquet.",
            .details =
                "A folder stands for the text, .jsonl and .parquet files in it, at any depth. Of a "
                ".jsonl file each line is a document, of a .parquet file each row, of any other "
                "file all of it; text and .jsonl files may be packed (.gz, .zst). A build that was "
                "killed goes on where it was when it is called again.",
            .min_operands = 1,
            .max_operands = SIZE_MAX};
  }

  void fields(ConfigFields& f) override {
    f.field("output", output_).help("Folder of the token store.");
    f.field("tokenizer", tokenizer_.kind)
        .one_of({"sentencepiece", "huggingface", "bytes"})
        .help("huggingface: byte-level BPE (GPT-2, Llama 3, Qwen). bytes: a token is a byte.");
    f.field("model", tokenizer_.model)
        .help("SentencePiece model to use, empty: train one on the corpus; or a tokenizer.json.");
    f.field("vocab_size", tokenizer_.vocab_size)
        .range(300, 1'048'576)
        .help("Tokens of a model that is trained.");
    special_token_fields(tokenizer_.special, f);
    f.field("text_key", text_key_)
        .not_empty()
        .help("Key of a JSON line, or column, that holds the text.");
    document_fields(skip_bad_, max_document_bytes_, f);
    f.choice("task", task_, {{"pretrain", Task::kPretrain}, {"sft", Task::kSft}})
        .help(
            "sft: JSON lines hold conversations under \"messages\"; the store says what to learn.");
    f.section("chat_template", chat_template_, "how task sft makes text of conversations");
    f.field("threads", threads_).range(0, 4096).help("0: one a core.");
    f.field("overwrite", overwrite_).help("Replace a store that is there.");
  }

  Result<int> run(const Invocation& invocation) override {
    if (output_.empty())
      return usage_error(invalid_argument("--output is missing: the folder of the token store"));
    DataConfig config;
    config.store = output_;
    config.corpus = invocation.operands;
    config.text_key = text_key_;
    config.skip_bad = skip_bad_;
    config.max_document_bytes = max_document_bytes_;
    config.tokenizer = tokenizer_;
    config.chat_template = chat_template_;
    BuildOptions options = build_options(config, task_);
    options.threads = threads_;
    options.store.overwrite = overwrite_;
    PosixFileSystem files;
    ASSIGN_OR_RETURN(const BuildSummary summary,
                     build_token_store(files, options, log_build_progress()));
    invocation.out << build_summary_text(output_, summary) << "\n";
    return 0;
  }

 private:
  std::string output_;
  TokenizerConfig tokenizer_;
  std::string text_key_ = "text";
  bool skip_bad_ = false;
  int64_t max_document_bytes_ = 0;
  Task task_ = Task::kPretrain;
  ChatTemplateConfig chat_template_;
  int threads_ = 0;
  bool overwrite_ = false;
};

}  // namespace

std::unique_ptr<Command> data_build() { return std::make_unique<DataBuild>(); }

}  // namespace tessera::cli
