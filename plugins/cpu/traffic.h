/* What a client of this plugin has sent to other processes: an addition to the PJRT C API, found by
 * dlsym("tessera_pjrt_cpu_traffic") in pjrt_cpu.so. Plain C. */
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
} TesseraPjrtCpuTraffic;

/* 1, or 0 when an argument is null or the struct is smaller than this one. All 0 in a client of one
 * process. */
int tessera_pjrt_cpu_traffic(PJRT_Client* client, TesseraPjrtCpuTraffic* out);

#ifdef __cplusplus
}
#endif
