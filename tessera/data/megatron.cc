#include "tessera/data/megatron.h"

#include <cstring>
#include <limits>
#include <vector>

#include "tessera/data/mapped_file.h"
#include "tessera/data/token_store_writer.h"

namespace tessera {
namespace {

constexpr std::string_view kMagic("MMIDIDX\0\0", 9);
constexpr uint64_t kVersion = 1;
constexpr size_t kHeaderBytes = 9 + 8 + 1 + 8 + 8;
constexpr size_t kChunkTokens = size_t{1} << 20;

// numpy's names of the codes in an index; 0 bytes: no integers.
struct StoredType {
  uint8_t code;
  int bytes;
  bool is_signed;
};
constexpr StoredType kTypes[] = {{1, 1, false}, {2, 1, true}, {3, 2, true},
                                 {4, 4, true},  {5, 8, true}, {8, 2, false}};

template <typename T>
void put(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The bytes of an index, read from the front.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t left() const { return bytes_.size(); }
  template <typename T>
  T take() {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_ = bytes_.subspan(sizeof(value));
    return value;
  }
  template <typename T>
  std::vector<T> take(uint64_t count) {
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
    return values;
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Index {
  StoredType type;
  std::vector<int32_t> lengths;    // of sequences, in tokens
  std::vector<int64_t> pointers;   // where they begin, in bytes
  std::vector<int64_t> documents;  // the first sequence of each, then their number
};

Status damaged(const std::string& path, std::string_view why) {
  return data_loss(path, ": not a Megatron-LM index, version 1: ", why);
}

Result<StoredType> type_of(uint8_t code, const std::string& path) {
  for (const StoredType& type : kTypes) {
    if (type.code == code) return type;
  }
  return damaged(path, str_cat("its tokens are of the type ", int{code}, ", no integers"));
}

Result<Index> read_index(const std::string& path) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return damaged(path, "it begins otherwise");
  Reader reader(bytes.subspan(kMagic.size()));
  if (const auto version = reader.take<uint64_t>(); version != kVersion)
    return damaged(path, str_cat("its version is ", version));
  Index index;
  ASSIGN_OR_RETURN(index.type, type_of(reader.take<uint8_t>(), path));
  const auto sequences = reader.take<uint64_t>();
  const auto documents = reader.take<uint64_t>();
  constexpr uint64_t kMost = uint64_t{1} << 48;  // no sum below overflows
  // Behind these there may be modes of sequences, which are for images.
  if (sequences > kMost || documents > kMost || documents == 0 ||
      reader.left() < sequences * 12 + documents * 8) {
    return damaged(path, str_cat(bytes.size(), " bytes are too few for ", sequences,
                                 " sequences and ", documents, " document bounds"));
  }
  index.lengths = reader.take<int32_t>(sequences);
  index.pointers = reader.take<int64_t>(sequences);
  index.documents = reader.take<int64_t>(documents);
  int64_t previous = 0;
  for (const int64_t bound : index.documents) {
    if (bound < previous || bound > static_cast<int64_t>(sequences))
      return damaged(path, str_cat("a document begins at sequence ", bound));
    previous = bound;
  }
  if (index.documents.front() != 0 || previous != static_cast<int64_t>(sequences))
    return damaged(path, "its documents are not all sequences");
  return index;
}

int64_t token_at(const std::byte* from, const StoredType& type) {
  uint64_t value = 0;
  std::memcpy(&value, from, type.bytes);
  const int unused = 64 - 8 * type.bytes;
  return type.is_signed ? static_cast<int64_t>(value << unused) >> unused
                        : static_cast<int64_t>(value);
}

// The documents of both files, checked as they are read.
class Dataset {
 public:
  static Result<Dataset> open(const std::string& prefix) {
    Dataset dataset;
    ASSIGN_OR_RETURN(dataset.index_, read_index(prefix + ".idx"));
    dataset.path_ = prefix + ".bin";
    ASSIGN_OR_RETURN(dataset.tokens_, MappedFile::open(dataset.path_));
    return dataset;
  }

  int64_t documents() const { return static_cast<int64_t>(index_.documents.size()) - 1; }

  Status read(int64_t document, const Tokenizer& tokenizer, std::vector<int32_t>* tokens) const {
    tokens->clear();
    for (int64_t i = index_.documents[document]; i < index_.documents[document + 1]; ++i) {
      RETURN_IF_ERROR(read_sequence(i, tokens));
    }
    return annotate(check_token_ids(*tokens, tokenizer.vocab_size()),
                    str_cat(path_, ": document ", document));
  }

 private:
  Status read_sequence(int64_t i, std::vector<int32_t>* tokens) const {
    const auto size = static_cast<int64_t>(tokens_.bytes().size());
    const int64_t begin = index_.pointers[i];
    const int64_t length = index_.lengths[i];
    if (length < 0 || begin < 0 || begin > size || length > (size - begin) / index_.type.bytes) {
      return data_loss(path_, ": sequence ", i, " is ", length, " tokens from byte ", begin,
                       ", but the file has ", size, " bytes; copy both files again");
    }
    const std::byte* from = tokens_.bytes().data() + begin;
    for (int64_t k = 0; k < length; ++k, from += index_.type.bytes) {
      const int64_t token = token_at(from, index_.type);
      // What no tokenizer has stays so in 32 bits.
      tokens->push_back(token == static_cast<int32_t>(token) ? static_cast<int32_t>(token) : -1);
    }
    return {};
  }

  Index index_;
  std::string path_;
  MappedFile tokens_;
};

Result<TokenStoreWriterOptions> writer_options(const Dataset& dataset,
                                               const MegatronImport& options) {
  const SpecialTokens special = options.tokenizer->special_tokens();
  TokenStoreWriterOptions writer = {
      .add_bos = special.bos >= 0, .add_eos = special.eos >= 0, .overwrite = options.overwrite};
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < dataset.documents(); ++i) {
    RETURN_IF_ERROR(dataset.read(i, *options.tokenizer, &tokens));
    if (tokens.empty()) continue;
    writer.add_bos = writer.add_bos && tokens.front() == special.bos;
    writer.add_eos = writer.add_eos && tokens.back() == special.eos;
    // The writer adds both: nothing is left of a document of the two, or of one that is both.
    const size_t added = (writer.add_bos ? 1 : 0) + (writer.add_eos ? 1 : 0);
    if (tokens.size() <= added) writer.add_bos = writer.add_eos = false;
  }
  return writer;
}

Status check_absent(FileSystem& files, const std::string& path, bool overwrite) {
  if (overwrite || !files.exists(path)) return {};
  return absl::AlreadyExistsError(
      str_cat(path, " is there already: choose another name, or replace it with --overwrite"));
}

std::string index_text(const TokenStore& store) {
  const std::span<const uint64_t> starts = store.document_starts();
  const int64_t bytes = store.manifest().token_bytes;
  std::string text(kMagic);
  put(kVersion, &text);
  put(uint8_t{bytes == 2 ? uint8_t{8} : uint8_t{4}}, &text);
  put(static_cast<uint64_t>(store.documents()), &text);
  put(static_cast<uint64_t>(starts.size()), &text);
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    put(static_cast<int32_t>(starts[i + 1] - starts[i]), &text);
  }
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    put(static_cast<int64_t>(starts[i]) * bytes, &text);
  }
  for (size_t i = 0; i < starts.size(); ++i) put(static_cast<int64_t>(i), &text);
  return text;
}

// The bytes of tokens.bin are those of a .bin file.
Status copy_file(FileSystem& files, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const MappedFile source, MappedFile::open(from));
  ASSIGN_OR_RETURN(const auto copy, files.create_file(to));
  for (std::span<const std::byte> left = source.bytes(); !left.empty();) {
    const auto chunk = left.first(std::min(left.size(), kChunkTokens));
    RETURN_IF_ERROR(copy->append(chunk));
    left = left.subspan(chunk.size());
  }
  RETURN_IF_ERROR(copy->sync());
  return copy->close();
}

}  // namespace

Status export_megatron(FileSystem& files, const TokenStore& store, const std::string& prefix,
                       bool overwrite) {
  const std::string tokens = prefix + ".bin", index = prefix + ".idx";
  RETURN_IF_ERROR(check_absent(files, tokens, overwrite));
  RETURN_IF_ERROR(check_absent(files, index, overwrite));
  const std::span<const uint64_t> starts = store.document_starts();
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (starts[i + 1] - starts[i] > std::numeric_limits<int32_t>::max()) {
      return invalid_argument("document ", i, " has ", starts[i + 1] - starts[i],
                              " tokens, and Megatron-LM counts in 31 bits");
    }
  }
  RETURN_IF_ERROR(files.create_dirs(parent_path(prefix)));
  // Written aside: neither name has half a file behind it.
  const std::string aside = tokens + ".tmp";
  RETURN_IF_ERROR(copy_file(files, join_path(store.folder(), kTokensFile), aside));
  RETURN_IF_ERROR(files.rename(aside, tokens));
  return files.write_file_atomic(index, index_text(store));
}

Result<TokenStoreManifest> import_megatron(FileSystem& files, const MegatronImport& options) {
  ASSIGN_OR_RETURN(const Dataset dataset, Dataset::open(options.prefix));
  ASSIGN_OR_RETURN(const TokenStoreWriterOptions writing, writer_options(dataset, options));
  ASSIGN_OR_RETURN(const auto writer,
                   TokenStoreWriter::create(files, options.output, options.tokenizer, writing));
  BuildCounts counts;
  std::vector<int32_t> tokens;
  for (int64_t i = 0; i < dataset.documents(); ++i) {
    RETURN_IF_ERROR(dataset.read(i, *options.tokenizer, &tokens));
    if (tokens.empty()) {
      ++counts.skipped["empty"];
      continue;
    }
    const std::span<const int32_t> all(tokens);
    const size_t begin = writing.add_bos ? 1 : 0;
    RETURN_IF_ERROR(
        writer->add_document(all.subspan(begin, all.size() - begin - (writing.add_eos ? 1 : 0))));
  }
  RETURN_IF_ERROR(writer->finish(counts));
  return writer->manifest();
}

}  // namespace tessera
