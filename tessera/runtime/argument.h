#pragma once

#include <string>
#include <variant>

#include "tessera/base/tree.h"
#include "tessera/runtime/compiled_function.h"

namespace tessera {

/// What a program may be called with: an array on devices, or a value of the host's.
using Argument = std::variant<Array, HostArray>;

/// Calls a program as call() of jit.h does, and first brings each argument to where the program
/// wants it: host values go to the devices, and arrays that are laid out otherwise are laid out
/// anew. These are implicit transfers (transfer_guard.h). A donated argument that was brought is
/// gone with the call; what it was brought from is still there.
Result<Tree<Array>> call(Runtime& runtime, const CompiledFunction& function,
                         const Tree<Argument>& arguments,
                         TransferSite site = TransferSite::implicit());

/// The values of an array for people: "f32[2,2] [[1, 2], [3, 4]]"; of a large one the first and the
/// last of each dimension. Reads them from the devices, which is an implicit transfer.
Result<std::string> to_text(const Array& array, TransferSite site = TransferSite::implicit());

}  // namespace tessera
