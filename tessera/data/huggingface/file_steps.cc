// What stands around the model in a tokenizer.json: normalizer, pre_tokenizer, post_processor,
// decoder.

#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/data/huggingface/pattern_syntax.h"
#include "tessera/data/huggingface/tokenizer_file.h"

namespace tessera::huggingface {
namespace {

// GPT-2's pattern, which ByteLevel splits by where use_regex holds.
constexpr std::string_view kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

std::string type_of(const FileJson& json) { return json.at("type").get<std::string>(); }

// The parts in order of what may be a Sequence, at any depth.
void flatten(const FileJson& json, const char* key, std::vector<const FileJson*>* parts) {
  if (json.is_null()) return;
  if (type_of(json) != "Sequence") {
    parts->push_back(&json);
    return;
  }
  for (const FileJson& part : json.at(key)) flatten(part, key, parts);
}

Result<Pattern> compile(std::string_view oniguruma) {
  ASSIGN_OR_RETURN(const std::string pattern, pcre2_of_oniguruma(oniguruma));
  return Pattern::compile(pattern);
}

// A pattern that matches `text` and nothing else.
Result<Pattern> compile_text(std::string_view text) {
  std::string pattern = "\\Q";
  for (const char c : text) {
    pattern += c;
    if (c == '\\') pattern += "E\\\\\\Q";  // the backslash begins the end of the quotation
  }
  return Pattern::compile(pattern + "\\E");
}

Result<SplitBehavior> behavior_of(const std::string& name) {
  constexpr std::pair<std::string_view, SplitBehavior> kNames[] = {
      {"Removed", SplitBehavior::kRemoved},
      {"Isolated", SplitBehavior::kIsolated},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  return unimplemented("the behavior ", name, " is not supported");
}

Result<SplitStep> parse_split(const FileJson& json) {
  SplitStep step;
  const FileJson& pattern = json.at("pattern");
  if (pattern.contains("Regex")) {
    ASSIGN_OR_RETURN(step.pattern, compile(pattern["Regex"].get<std::string>()));
  } else {
    const auto text = pattern.at("String").get<std::string>();
    if (text.empty()) return unimplemented("an empty pattern is not supported");
    ASSIGN_OR_RETURN(step.pattern, compile_text(text));
  }
  ASSIGN_OR_RETURN(step.behavior, behavior_of(json.at("behavior").get<std::string>()));
  step.invert = json.value("invert", false);
  return step;
}

Result<SplitStep> parse_step(const FileJson& json) {
  const std::string type = type_of(json);
  SplitStep step;
  if (type == "Split") return parse_split(json);
  if (type == "Digits") {
    // Digits that are not individual stay together, as do the characters between them.
    const bool individual = json.value("individual_digits", false);
    ASSIGN_OR_RETURN(step.pattern, Pattern::compile(pcre2_numbers() + (individual ? "" : "+")));
    return step;
  }
  if (type == "ByteLevel") {
    step.add_prefix_space = json.value("add_prefix_space", true);
    if (json.value("use_regex", true)) {
      ASSIGN_OR_RETURN(step.pattern, compile(kByteLevelPattern));
    }
    return step;
  }
  return unimplemented("pre_tokenizer ", type,
                       " is not supported; Split, Digits, ByteLevel and Sequences of them are");
}

int32_t first_id(const FileJson& template_json, const std::string& name) {
  return template_json.at("special_tokens").at(name).at("ids").at(0).get<int32_t>();
}

// "single" lists what a text becomes: special tokens, and the text where a Sequence stands.
SpecialTokens specials_of_template(const FileJson& json) {
  SpecialTokens specials;
  bool behind = false;
  for (const FileJson& part : json.at("single")) {
    if (part.contains("Sequence")) {
      behind = true;
      continue;
    }
    const int32_t id = first_id(json, part.at("SpecialToken").at("id").get<std::string>());
    int32_t& special = behind ? specials.eos : specials.bos;
    if (special < 0) special = id;
  }
  return specials;
}

}  // namespace

Result<std::vector<NormalForm>> parse_normalizer(const FileJson& normalizer) {
  std::vector<const FileJson*> parts;
  flatten(normalizer, "normalizers", &parts);
  std::vector<NormalForm> forms;
  for (const FileJson* part : parts) {
    const std::string type = type_of(*part);
    if (type == "NFC") {
      forms.push_back(NormalForm::kNfc);
    } else if (type == "NFD") {
      forms.push_back(NormalForm::kNfd);
    } else if (type == "NFKC") {
      forms.push_back(NormalForm::kNfkc);
    } else if (type == "NFKD") {
      forms.push_back(NormalForm::kNfkd);
    } else {
      return unimplemented("normalizer ", type,
                           " is not supported; NFC, NFD, NFKC, NFKD and Sequences of them are");
    }
  }
  return forms;
}

Result<std::vector<SplitStep>> parse_pre_tokenizer(const FileJson& pre_tokenizer) {
  std::vector<const FileJson*> parts;
  flatten(pre_tokenizer, "pretokenizers", &parts);
  std::vector<SplitStep> steps;
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool byte_level = type_of(*parts[i]) == "ByteLevel";
    if (byte_level != (i + 1 == parts.size())) {
      return unimplemented(
          "pre_tokenizer: ByteLevel must be the last step, and no other: ",
          byte_level ? type_of(*parts[i + 1]) + " after it" : "without it the model is not",
          byte_level ? " is" : " byte-level BPE, and", " not supported");
    }
    Result<SplitStep> step = parse_step(*parts[i]);
    if (!step.ok()) return annotate(step.status(), str_cat("pre_tokenizer step ", i + 1));
    steps.push_back(*std::move(step));
  }
  if (steps.empty()) return unimplemented("pre_tokenizer: an empty Sequence is not supported");
  return steps;
}

Result<SpecialTokens> parse_post_processor(const FileJson& post_processor) {
  std::vector<const FileJson*> parts;
  flatten(post_processor, "processors", &parts);
  SpecialTokens specials;
  for (const FileJson* part : parts) {
    const std::string type = type_of(*part);
    if (type == "ByteLevel") continue;  // only moves offsets
    if (type == "TemplateProcessing") {
      specials = specials_of_template(*part);
    } else if (type == "RobertaProcessing" || type == "BertProcessing") {
      specials.bos = part->at("cls").at(1).get<int32_t>();
      specials.eos = part->at("sep").at(1).get<int32_t>();
    } else {
      return unimplemented("post_processor ", type, " is not supported");
    }
  }
  return specials;
}

Status check_decoder(const FileJson& decoder) {
  std::vector<const FileJson*> parts;
  flatten(decoder, "decoders", &parts);
  if (parts.size() == 1 && type_of(*parts[0]) == "ByteLevel") return {};
  for (const FileJson* part : parts) {
    if (type_of(*part) != "ByteLevel")
      return unimplemented("decoder ", type_of(*part), " is not supported, ByteLevel is");
  }
  return unimplemented("decoder: one ByteLevel is what is supported");
}

}  // namespace tessera::huggingface
