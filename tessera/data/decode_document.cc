#include <nlohmann/json.hpp>
#include <utility>

#include "tessera/data/corpus.h"
#include "tessera/data/utf8.h"

namespace tessera {
namespace {

// Sets why a document is bad, for the counts, and returns what to tell of it.
template <typename... Args>
Status bad(std::string* reason, std::string_view why, const RawDocument& raw, const Args&... args) {
  if (reason != nullptr) *reason = why;
  return invalid_argument(raw.source, ": ", args...);
}

Result<Json> parse(const RawDocument& raw, std::string* reason) {
  try {
    return Json::parse(raw.bytes);
  } catch (const nlohmann::json::parse_error& error) {
    return bad(reason, "not valid JSON", raw, "not valid JSON at byte ", error.byte,
               raw.kind == RawKind::kJsonLine ? " of the line" : " of the value");
  } catch (const nlohmann::json::out_of_range&) {  // its text repeats all of the number's digits
    return bad(reason, "not valid JSON", raw,
               "holds a number larger than any that a double can be");
  }
}

Result<Json> parse_line(const RawDocument& raw, std::string* reason) {
  ASSIGN_OR_RETURN(Json line, parse(raw, reason));
  if (!line.is_object())
    return bad(reason, "not a JSON object", raw, "the line is not a JSON object");
  return line;
}

Status decode_chat(const Json& messages, const RawDocument& raw, const ChatTemplate& format,
                   std::string* reason, Document* document) {
  Result<std::vector<ChatPart>> parts = render_chat(messages, format);
  if (!parts.ok()) return bad(reason, "no conversation", raw, parts.status().message());
  document->parts = *std::move(parts);
  for (const ChatPart& part : document->parts) document->text += part.text;
  return {};
}

Status decode_line(const RawDocument& raw, const CorpusOptions& options, std::string* reason,
                   Document* document) {
  ASSIGN_OR_RETURN(Json line, parse_line(raw, reason));
  const std::string key = options.chat ? std::string(kMessagesKey) : options.text_key;
  const auto found = line.find(key);
  if (found == line.end()) {
    const std::string why = str_cat("no key \"", key, "\"");
    return bad(
        reason, why, raw, why,
        options.chat ? ", which holds a conversation" : "; name the one that holds the text");
  }
  if (options.chat) return decode_chat(*found, raw, *options.chat, reason, document);
  if (!found->is_string()) {
    return bad(reason, str_cat("\"", key, "\" is no string"), raw, "\"", key, "\" holds ",
               found->type_name(), ", not a string");
  }
  document->text = std::move(found->get_ref<std::string&>());
  return {};
}

}  // namespace

Result<Document> decode_document(RawDocument raw, const CorpusOptions& options,
                                 std::string* reason) {
  Document document;
  document.invalid_utf8 = replace_invalid_utf8(&raw.bytes);
  if (raw.kind == RawKind::kNull) return bad(reason, "null", raw, "the column has no value here");
  if (raw.kind == RawKind::kJsonLine) {
    RETURN_IF_ERROR(decode_line(raw, options, reason, &document));
  } else if (!options.chat) {
    document.text = std::move(raw.bytes);
  } else if (raw.kind == RawKind::kColumn) {
    ASSIGN_OR_RETURN(const Json messages, parse(raw, reason));
    RETURN_IF_ERROR(decode_chat(messages, raw, *options.chat, reason, &document));
  } else {
    return invalid_argument(raw.source,
                            ": conversations are JSON lines: name the file something.jsonl");
  }
  return document;
}

}  // namespace tessera
