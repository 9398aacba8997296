// usage: write_sample_main FOLDER
// Writes the sample state as FOLDER/checkpoints/7, and every array's bytes as
// FOLDER/expected/<name>.bin, for read_checkpoint.py. FOLDER is emptied first.

#include <cstdio>

#include "tessera/ckpt/sample_state.h"

namespace tessera {
namespace {

Status write_sample(const std::string& folder) {
  PosixFileSystem files;
  RETURN_IF_ERROR(files.remove_tree(folder));
  const CheckpointManager manager(files, join_path(folder, "checkpoints"));
  std::vector<ArraySpec> specs = sample::specs();
  for (ArraySpec& spec : sample::compressed_specs()) {
    spec.name = "compressed." + spec.name;
    specs.push_back(std::move(spec));
  }
  RETURN_IF_ERROR(sample::save(manager, sample::request(7, specs)));
  const std::string expected = join_path(folder, "expected");
  RETURN_IF_ERROR(files.create_dirs(expected));
  for (const ArraySpec& spec : specs) {
    const HostArray values = sample::values_of(spec);
    RETURN_IF_ERROR(files.write_file(join_path(expected, spec.name + ".bin"), {values.bytes()}));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  const tessera::Status status = tessera::write_sample(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return status.ok() ? 0 : 1;
}
