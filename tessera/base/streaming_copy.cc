#include "tessera/base/streaming_copy.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera {

#if defined(__SSE2__)

namespace {

constexpr size_t kLine = 64;
// Several runs at once, each in a page of its own: the processor fetches ahead within a page.
constexpr size_t kRun = 4096, kRuns = 4;

// A whole line, or the processor would write it in parts. `to` is where a line begins.
inline void stream_line(const std::byte* from, std::byte* to) {
  const auto* source = reinterpret_cast<const __m128i*>(from);
  auto* target = reinterpret_cast<__m128i*>(to);
  const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
  const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
  _mm_stream_si128(target, a);
  _mm_stream_si128(target + 1, b);
  _mm_stream_si128(target + 2, c);
  _mm_stream_si128(target + 3, d);
}

}  // namespace

void streaming_copy(std::span<const std::byte> from, std::byte* to) {
  const std::byte* source = from.data();
  size_t left = from.size();
  const auto copy = [&](size_t bytes) {
    if (bytes > 0) std::memcpy(to, source, bytes);
    source += bytes;
    to += bytes;
    left -= bytes;
  };
  copy(std::min(-reinterpret_cast<uintptr_t>(to) % kLine, left));
  for (; left >= kRuns * kRun; left -= kRuns * kRun) {
    for (size_t i = 0; i < kRun; i += kLine) {
      for (size_t run = 0; run < kRuns; ++run)
        stream_line(source + run * kRun + i, to + run * kRun + i);
    }
    source += kRuns * kRun;
    to += kRuns * kRun;
  }
  for (; left >= kLine; left -= kLine, source += kLine, to += kLine) stream_line(source, to);
  _mm_sfence();  // such stores are seen by other threads only after it
  copy(left);
}

#else

void streaming_copy(std::span<const std::byte> from, std::byte* to) {
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

#endif

}  // namespace tessera
