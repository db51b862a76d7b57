// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace nodup {

// A node of the network, by whatever number its members agree on.
using PeerId = std::uint64_t;

}  // namespace nodup
