// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// True if this build counts allocations: with glibc, and without a sanitizer, which brings an allocator of its own.
bool strata_counts_allocations(void);

/// Returns the number of heap allocations that the calling thread has made, reallocations included.
uint64_t strata_allocations(void);
