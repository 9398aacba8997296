// encode_documents KIND MODEL ENCODED DECODED < documents
//
// Reads documents, each a line with a JSON string; writes to ENCODED each one's token ids as a JSON
// list a line, and to DECODED what they decode to as a JSON string a line.

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/base/json.h"
#include "tessera/data/tokenizer.h"

namespace tessera {
namespace {

Status run(char** arguments) {
  PosixFileSystem files;
  ASSIGN_OR_RETURN(std::string model, files.read_file(arguments[2]));
  ASSIGN_OR_RETURN(const auto tokenizer, make_tokenizer(arguments[1], std::move(model)));
  std::ofstream encoded(arguments[3]), decoded(arguments[4]);
  std::string line;
  std::vector<int32_t> ids;
  while (std::getline(std::cin, line)) {
    ids.clear();
    RETURN_IF_ERROR(tokenizer->encode(Json::parse(line).get<std::string>(), &ids));
    encoded << Json(ids).dump() << "\n";
    ASSIGN_OR_RETURN(const std::string text, tokenizer->decode(ids));
    decoded << Json(text).dump() << "\n";
  }
  encoded.close();
  decoded.close();
  if (!encoded || !decoded) return internal_error("cannot write ", std::string(arguments[3]));
  return {};
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  if (count != 5) {
    std::cerr << "usage: encode_documents KIND MODEL ENCODED DECODED < documents\n";
    return 2;
  }
  const tessera::Status status = tessera::run(arguments);
  if (status.ok()) return 0;
  std::cerr << "encode_documents: " << status.message() << "\n";
  return 1;
}
