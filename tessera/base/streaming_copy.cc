#include "tessera/base/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera {

#if defined(__SSE2__)

void streaming_copy(std::span<const std::byte> from, std::byte* to) {
  constexpr size_t kLine = 64;
  const size_t before = -reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t head = std::min(before, from.size());
  if (head > 0) std::memcpy(to, from.data(), head);
  const size_t lines = (from.size() - head) / kLine;
  const auto* source = reinterpret_cast<const __m128i*>(from.data() + head);
  auto* target = reinterpret_cast<__m128i*>(to + head);
  for (size_t i = 0; i < lines; ++i, source += 4, target += 4) {
    // Whole lines, one after another, or the processor would write each in parts.
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  _mm_sfence();  // such stores are seen by other threads only after it
  const size_t done = head + lines * kLine;
  if (done < from.size()) std::memcpy(to + done, from.data() + done, from.size() - done);
}

#else

void streaming_copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

#endif

}  // namespace tessera
