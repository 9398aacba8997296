#include "plugins/sentencepiece/module.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct TesseraSpModel {
  sentencepiece::SentencePieceProcessor processor;
};

namespace {

using sentencepiece::SentencePieceTrainer;

std::string_view view(TesseraSpText text) { return {text.data, text.size}; }

void emit(TesseraSpTextSink sink, void* context, std::string_view text) {
  sink(context, text.data(), text.size());
}

class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const TesseraSpTraining& training) : training_(training) { Next(); }
  bool done() const override { return done_; }
  void Next() override {
    TesseraSpText line = {};
    done_ = training_.next_line(training_.context, &line) == 0;
    if (!done_) line_.assign(line.data, line.size);
  }
  const std::string& value() const override { return line_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const TesseraSpTraining& training_;
  std::string line_;
  bool done_ = false;
};

// Nothing is normalised and no space is added, so decoding gives back the very text; what no piece
// covers becomes bytes. Pieces of spaces alone let indented code be short.
std::unordered_map<std::string, std::string> trainer_options(const TesseraSpTraining& training) {
  return {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(training.vocab_size)},
      {"num_threads", "2"},  // fixed: it is written into the model
      {"byte_fallback", "true"},
      {"split_digits", "true"},
      {"allow_whitespace_only_pieces", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"add_dummy_prefix", "false"},
      {"character_coverage", "0.9999"},
      {"max_sentence_length", "65536"},
      {"unk_id", "0"},
      {"bos_id", "1"},
      {"eos_id", "2"},
      {"pad_id", "3"},
      {"minloglevel", "3"},
  };
}

int train(const TesseraSpTraining* training, TesseraSpTextSink model_or_error, void* context) {
  LineIterator lines(*training);
  std::string model;
  const auto status = SentencePieceTrainer::Train(trainer_options(*training), &lines, &model);
  emit(model_or_error, context, status.ok() ? model : status.ToString());
  return status.ok();
}

TesseraSpModel* load(TesseraSpText serialized, TesseraSpTextSink error, void* context) {
  auto model = std::make_unique<TesseraSpModel>();
  const auto status = model->processor.LoadFromSerializedProto(view(serialized));
  if (status.ok()) return model.release();
  emit(error, context, status.ToString());
  return nullptr;
}

void unload(TesseraSpModel* model) { delete model; }

TesseraSpModelInfo info(const TesseraSpModel* model) {
  const auto& processor = model->processor;
  return {processor.GetPieceSize(), processor.bos_id(), processor.eos_id(), processor.pad_id()};
}

int encode(const TesseraSpModel* model, TesseraSpText text, TesseraSpIdSink sink, void* context) {
  std::vector<int> ids;
  if (!model->processor.Encode(view(text), &ids).ok()) return 0;
  sink(context, ids.data(), ids.size());
  return 1;
}

int decode(const TesseraSpModel* model, const int32_t* ids, size_t count, TesseraSpTextSink sink,
           void* context) {
  std::string text;
  if (!model->processor.Decode(std::vector<int>(ids, ids + count), &text).ok()) return 0;
  emit(sink, context, text);
  return 1;
}

void piece(const TesseraSpModel* model, int32_t id, TesseraSpTextSink sink, void* context) {
  emit(sink, context, model->processor.IdToPiece(id));
}

constexpr TesseraSpApi kApi = {train, load, unload, info, encode, decode, piece};

}  // namespace

extern "C" __attribute__((visibility("default"))) const TesseraSpApi* tessera_sentencepiece_api() {
  return &kApi;
}
