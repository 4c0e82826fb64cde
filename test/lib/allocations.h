/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts all allocations of a program that links with ALLOCATIONS_WRAP (scripts/mk/test/driver.mk),
 * by whichever thread. One source file of a program includes this header.
 */
#ifndef TEST_LIB_ALLOCATIONS_H
#define TEST_LIB_ALLOCATIONS_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>

static _Atomic unsigned int allocations;

#define ALLOCATIONS_COUNT(result, name, parameters, arguments) \
    result __real_##name parameters;                           \
    result __wrap_##name parameters;                           \
    result __wrap_##name parameters {                          \
        atomic_fetch_add(&allocations, 1);                     \
        return __real_##name arguments;                        \
    }

ALLOCATIONS_COUNT(void *, malloc, (size_t bytes), (bytes))
ALLOCATIONS_COUNT(void *, calloc, (size_t count, size_t bytes), (count, bytes))
ALLOCATIONS_COUNT(void *, realloc, (void *old, size_t bytes), (old, bytes))
ALLOCATIONS_COUNT(void *, reallocarray, (void *old, size_t count, size_t bytes),
                  (old, count, bytes))
ALLOCATIONS_COUNT(void *, aligned_alloc, (size_t align, size_t bytes), (align, bytes))
ALLOCATIONS_COUNT(char *, strdup, (const char *text), (text))
ALLOCATIONS_COUNT(void *, mmap, (void *at, size_t bytes, int prot, int flags, int fd, off_t offset),
                  (at, bytes, prot, flags, fd, offset))

#endif
