#pragma once

#include <stddef.h>
#include <stdint.h>

// What tessera/data asks of SentencePiece, as plain C.
//
// Debian's libsentencepiece exports the symbols of the protobuf 3.14 inside it. In one symbol scope
// with the system's protobuf (which gRPC brings) either library calls into the other and the
// process aborts. So SentencePiece is linked only into this module, which is loaded with RTLD_LOCAL
// | RTLD_DEEPBIND. No memory changes owner across this line: results are handed to a sink while the
// call lasts.

#ifdef __cplusplus
extern "C" {
#endif

struct TesseraSpText {
  const char* data;
  size_t size;
};

/// Receives a result or, where a function returns 0, the reason why there is none.
typedef void (*TesseraSpTextSink)(void* context, const char* data, size_t size);
typedef void (*TesseraSpIdSink)(void* context, const int32_t* ids, size_t count);

struct TesseraSpTraining {
  int32_t vocab_size;
  /// Sets the next line and returns 1, or returns 0 at the end. The line stays valid until the next
  /// call.
  int (*next_line)(void* context, struct TesseraSpText* line);
  void* context;
};

/// Ids that the model lacks are -1.
struct TesseraSpModelInfo {
  int32_t vocab_size;
  int32_t bos_id;
  int32_t eos_id;
  int32_t pad_id;
};

typedef struct TesseraSpModel TesseraSpModel;

/// Functions that can fail return 0 then. A model may be used by many threads at once.
struct TesseraSpApi {
  int (*train)(const struct TesseraSpTraining* training, TesseraSpTextSink model_or_error,
               void* context);
  TesseraSpModel* (*load)(struct TesseraSpText serialized, TesseraSpTextSink error, void* context);
  void (*unload)(TesseraSpModel* model);
  struct TesseraSpModelInfo (*info)(const TesseraSpModel* model);
  int (*encode)(const TesseraSpModel* model, struct TesseraSpText text, TesseraSpIdSink ids,
                void* context);
  /// Ids must lie in [0, vocab_size).
  int (*decode)(const TesseraSpModel* model, const int32_t* ids, size_t count,
                TesseraSpTextSink text, void* context);
  /// The id must lie in [0, vocab_size).
  void (*piece)(const TesseraSpModel* model, int32_t id, TesseraSpTextSink text, void* context);
};

/// The one symbol that the module exports.
const struct TesseraSpApi* tessera_sentencepiece_api(void);

#ifdef __cplusplus
}
#endif
