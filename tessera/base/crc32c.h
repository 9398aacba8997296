#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

/// The CRC-32C (Castagnoli) of `bytes`, as iSCSI (RFC 3720, appendix B.4) and Zarr's crc32c codec
/// define it: polynomial 0x1EDC6F41 reflected, initial value and final xor 0xFFFFFFFF. `crc` is
/// that of the bytes before, so that crc32c(b, crc32c(a)) is that of a followed by b. Uses SSE 4.2
/// where the processor has it.
uint32_t crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

/// The same by tables only: for processors without the instruction, and to test it against.
uint32_t crc32c_portable(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace tessera
