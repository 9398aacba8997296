#pragma once

#include <vector>

#include "tessera/nn/stack.h"

namespace tessera {

/// Runs a stack of L layers on the S devices along the mesh axis "stage", which work on different
/// parts of the batch at the same time.
///
/// The batch is cut into M microbatches, row b into microbatch b mod M, so that rows stay on the
/// devices they are on. The layers are cut into S·R chunks, and stage s runs the chunks s, S+s,
/// 2S+s, ...: with one repeat (R = 1) that is GPipe; with more, a microbatch goes round the stages
/// R times, and the share of the time in which stages wait shrinks to pipeline_bubble(). All is one
/// loop of M·R + S - 1 steps in each of which every stage runs one chunk and hands its result to
/// the next; its reverse pass is the pipeline backwards.
///
/// The parameters come stacked in the order of the layers and split over "stage" in their leading
/// dimension, whatever R: with R > 1 the stages exchange chunks first, each once. Other mesh axes
/// are left to the partitioner. The result is split over "stage" in its rows. Sources: Huang et
/// al., GPipe, 2019; Narayanan et al., Megatron-LM, 2021 (interleaved stages).
LayerOutput run_pipeline(const Tree<Value>& stacked, const StackInput& input, const LayerFn& layer,
                         const StackOptions& options);

/// The share of a step's time in which a stage has nothing to do: (S-1) / (R·M + S-1).
double pipeline_bubble(int64_t stages, int64_t microbatches, int64_t repeats);

/// How chunks of layers get from where they are stored, R neighbours a stage, to where they run: R
/// rounds, in each of which every stage sends one chunk and receives one.
struct ChunkRound {
  std::vector<int64_t> sent;    ///< by stage: which of its R stored chunks it sends
  std::vector<int64_t> target;  ///< by stage: to whom
  std::vector<int64_t> slot;    ///< by stage: the repeat in which it runs what it receives
};
std::vector<ChunkRound> chunk_rounds(int64_t stages, int64_t repeats);

}  // namespace tessera
