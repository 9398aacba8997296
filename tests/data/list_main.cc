// list_documents KEY PATH
//
// Prints the documents of a corpus, each a line with a JSON list: where it stands, and its text, or
// why it is bad. KEY is "messages" for conversations. Every 7th is also read by a reader that goes
// on from its position, which must find the same.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/data/corpus.h"

namespace tessera {
namespace {

Status check_position(FileSystem& files, const std::vector<CorpusFile>& corpus,
                      const CorpusOptions& options, const CorpusPosition& position,
                      const RawDocument& expected) {
  CorpusReader reader(files, corpus, options);
  RETURN_IF_ERROR(reader.seek(position));
  RawDocument found;
  ASSIGN_OR_RETURN(const bool any, reader.next(&found));
  if (any && found.bytes == expected.bytes && found.source == expected.source) return {};
  return internal_error("going on at ", expected.source, " finds ", found.source);
}

Status run(const std::string& key, const std::string& path) {
  PosixFileSystem files;
  CorpusOptions options = {.paths = {path}, .text_key = key};
  if (key == kMessagesKey) {
    options.chat = {.system = "S{content}", .user = "U{content}", .assistant = "A{content}"};
  }
  ASSIGN_OR_RETURN(const std::vector<CorpusFile> corpus, find_corpus(files, options));
  CorpusReader reader(files, corpus, options);
  RawDocument raw;
  for (int64_t i = 0;; ++i) {
    const CorpusPosition position = reader.position();
    ASSIGN_OR_RETURN(const bool found, reader.next(&raw));
    if (!found) return {};
    if (i % 7 == 0) RETURN_IF_ERROR(check_position(files, corpus, options, position, raw));
    std::string reason;
    const auto document = decode_document(raw, options, &reason);
    std::cout << Json{raw.source, document.ok() ? document->text : "bad: " + reason}.dump() << "\n";
  }
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  if (count != 3) {
    std::cerr << "usage: list_documents KEY PATH\n";
    return 2;
  }
  const tessera::Status status = tessera::run(arguments[1], arguments[2]);
  if (status.ok()) return 0;
  std::cerr << "list_documents: " << status.message() << "\n";
  return 1;
}
