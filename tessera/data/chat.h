#pragma once

#include <string>
#include <vector>

#include "tessera/base/json.h"
#include "tessera/base/status.h"

namespace tessera {

/// How a conversation becomes text: for each role what a message looks like, with {content} where
/// its text stands. The usual one is ChatML's.
struct ChatTemplate {
  std::string system = "<|im_start|>system\n{content}<|im_end|>\n";
  std::string user = "<|im_start|>user\n{content}<|im_end|>\n";
  std::string assistant = "<|im_start|>assistant\n{content}<|im_end|>\n";

  /// INVALID_ARGUMENT, naming the role, unless each holds {content} exactly once.
  Status validate() const;
};

/// A piece of a conversation. Each is encoded on its own, so that a token belongs to one piece.
struct ChatPart {
  std::string text;
  bool learned = false;  ///< its tokens count in the loss

  bool operator==(const ChatPart&) const = default;
};

/// The text of `messages`, a JSON array of objects with "role" (system, user or assistant) and
/// "content" (a string). What an assistant says is learned, with what its template puts behind it:
/// so the model learns to end its turn. INVALID_ARGUMENT says which message is wrong, and how.
Result<std::vector<ChatPart>> render_chat(const Json& messages, const ChatTemplate& format);

}  // namespace tessera
