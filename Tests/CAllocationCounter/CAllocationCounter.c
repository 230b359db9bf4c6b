// SPDX-License-Identifier: Apache-2.0

// The allocation functions of a program that links this file. They count the calls of each thread and pass them on to
// glibc. A program's own functions take the place of glibc's for all its libraries, the Swift runtime included.
//
// Memory still comes from glibc. Therefore `free`, `malloc_usable_size`, `malloc_trim` and `mallinfo2` need no
// replacement.
#include "CAllocationCounter.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

#ifdef __linux__
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#endif

#if defined(__GLIBC__) && !defined(HAS_SANITIZER)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void *__libc_valloc(size_t);
extern void *__libc_pvalloc(size_t);

// The other models of thread-local storage can allocate on the first access of a thread.
static _Thread_local uint64_t allocations __attribute__((tls_model("initial-exec")));

bool strata_counts_allocations(void) { return true; }
uint64_t strata_allocations(void) { return allocations; }

void *malloc(size_t size) {
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
    allocations++;
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
    allocations++;
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (alignment == 0 || alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
    allocations++;
    void *result = __libc_memalign(alignment, size);
    if (result == NULL) return ENOMEM;
    *memory = result;
    return 0;
}

void *valloc(size_t size) {
    allocations++;
    return __libc_valloc(size);
}

void *pvalloc(size_t size) {
    allocations++;
    return __libc_pvalloc(size);
}

#else

bool strata_counts_allocations(void) { return false; }
uint64_t strata_allocations(void) { return 0; }

#endif
