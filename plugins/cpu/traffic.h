/* What a client of this plugin has sent to other processes, and what it waits for: additions to the
 * PJRT C API, found by dlsym("tessera_pjrt_cpu_traffic") and dlsym("tessera_pjrt_cpu_collectives")
 * in pjrt_cpu.so. Plain C. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct PJRT_Client PJRT_Client;

/* Since the client was made. Bytes of arrays: without Gloo's and TCP's own headers. */
typedef struct TesseraPjrtCpuTraffic {
  size_t struct_size; /* set by the caller: sizeof(TesseraPjrtCpuTraffic) */
  uint64_t bytes_sent, bytes_received;
  uint64_t operations; /* collectives of this process that had to do with others */
  uint64_t waited_ns;  /* while at least one collective waited for another process or the network */
} TesseraPjrtCpuTraffic;

/* 1, or 0 when an argument is null or the struct is smaller than this one. All 0 in a client of one
 * process. */
int tessera_pjrt_cpu_traffic(PJRT_Client* client, TesseraPjrtCpuTraffic* out);

/* The collectives that devices of this process are in, a line each, the oldest
 * first: "all-reduce among devices 0, 1, 2, 3 for 12.5 s". Writes at most `size` bytes with the 0
 * at their end, and returns the length of the whole text; 0 where there are none. */
size_t tessera_pjrt_cpu_collectives(PJRT_Client* client, char* out, size_t size);

#ifdef __cplusplus
}
#endif
