#include "tessera/data/chat.h"

#include <nlohmann/json.hpp>

#include "tessera/base/strings.h"

namespace tessera {
namespace {

constexpr std::string_view kContent = "{content}";

const std::string* template_of(const ChatTemplate& format, std::string_view role) {
  if (role == "system") return &format.system;
  if (role == "user") return &format.user;
  if (role == "assistant") return &format.assistant;
  return nullptr;
}

// The string under a message's key.
Result<std::string> string_at(const Json& message, const char* key) {
  if (!message.is_object())
    return invalid_argument("is ", message.type_name(), ", not an object with role and content");
  const auto found = message.find(key);
  if (found == message.end()) return invalid_argument("has no key \"", key, "\"");
  if (!found->is_string())
    return invalid_argument("\"", key, "\" holds ", found->type_name(), ", not a string");
  return found->get<std::string>();
}

// Joined to the part before where that is of the same kind.
void add(std::vector<ChatPart>& parts, std::string_view text, bool learned) {
  if (text.empty()) return;
  if (parts.empty() || parts.back().learned != learned) parts.push_back({"", learned});
  parts.back().text += text;
}

Status add_message(const Json& message, const ChatTemplate& format, std::vector<ChatPart>& parts) {
  ASSIGN_OR_RETURN(const std::string role, string_at(message, "role"));
  ASSIGN_OR_RETURN(const std::string content, string_at(message, "content"));
  const std::string* found = template_of(format, role);
  if (!found) {
    return invalid_argument("has the role \"", role, "\"; there are system, user and assistant");
  }
  const std::string_view text = *found;
  const size_t at = text.find(kContent);
  const bool learned = role == "assistant";
  add(parts, text.substr(0, at), false);
  add(parts, content, learned);
  add(parts, text.substr(at + kContent.size()), learned);
  return absl::OkStatus();
}

}  // namespace

Status ChatTemplate::validate() const {
  for (const char* role : {"system", "user", "assistant"}) {
    const std::string& text = *template_of(*this, role);
    const size_t at = text.find(kContent);
    if (at != std::string::npos && text.find(kContent, at + 1) == std::string::npos) continue;
    return invalid_argument(role, " is \"", text,
                            "\": {content} must stand in it exactly once, as ", "in \"<|", role,
                            "|>{content}\"");
  }
  return absl::OkStatus();
}

Result<std::vector<ChatPart>> render_chat(const Json& messages, const ChatTemplate& format) {
  if (!messages.is_array())
    return invalid_argument("\"messages\" holds ", messages.type_name(), ", not a list");
  std::vector<ChatPart> parts;
  for (size_t i = 0; i < messages.size(); ++i) {
    RETURN_IF_ERROR(annotate(add_message(messages[i], format, parts), str_cat("message ", i + 1)));
  }
  return parts;
}

}  // namespace tessera
