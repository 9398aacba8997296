#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tessera/base/filesystem.h"
#include "tessera/ckpt/manifest.h"
#include "tessera/ckpt/staging_pool.h"

// The bytes of one chunk file: what stands in docs/format_checkpoint.md under "Chunk files".

namespace tessera {

/// Writes a chunk and syncs it. `data` holds the elements of spec.chunk_box(index), dense, as the
/// host has them. Returns the file's size, and the chunk's checksum: the CRC-32C of the data of a
/// chunk in one piece, as stored, or else of its pieces' checksums one after another (4 bytes each,
/// little-endian). Both say whether a file is the one that was written.
Result<StoredChunk> write_chunk_file(FileSystem& files, const std::string& path,
                                     const ArraySpec& spec, const Box& chunk,
                                     std::span<const std::byte> data);

/// Reads of the chunk `chunk` (its box within the array) what lies in the boxes of `to`, each piece
/// once, verifies every piece read and adds the bytes read from the file to `*bytes_read`.
/// `scratch`: memory for what is read before it goes where it is wanted. DATA_LOSS when the file is
/// not as it was written, or is not the one that is `stored`.
Status read_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                       const Box& chunk, const StoredChunk& stored, std::span<const HostBox> to,
                       StagingPool& scratch, int64_t* bytes_read);

/// Reads all of it and compares every checksum; DATA_LOSS names what is wrong.
Status verify_chunk_file(FileSystem& files, const std::string& path, const ArraySpec& spec,
                         const StoredChunk& stored, StagingPool& scratch);

}  // namespace tessera
