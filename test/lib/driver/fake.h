/* SPDX-License-Identifier: Apache-2.0
 *
 * The interface by which tests control the fake driver. The fake is a libcuda.so.1 of its own: it
 * copies and fills the memory of its own process, and its "kernels" are its own functions
 * (fake_kernels.c). It holds its caller strictly to the rules of CUDA's driver API. A call that a
 * real driver would reject or punish is a misuse; the fake records the first one.
 *
 * Tests get the interface by dlsym(library, "fake_control"); a process loads the library once.
 * Threads: any.
 */
#ifndef TEST_LIB_DRIVER_FAKE_H
#define TEST_LIB_DRIVER_FAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/cuda/tensor_map.h"
#include "proto/gen/prototypes.h"

#define FAKE_SMS 116u /* multiprocessors of the device; parts are multiples of 8 */

struct fake_options {
    uint64_t granule, free_bytes; /* 0: 64 KiB, 1 GiB */
    int greatest;                 /* greatest priority of streams, at most 0; the least is 0 */
    bool hint_ignored;            /* reserves addresses elsewhere than requested */
    bool no_green;                /* the device cannot be split */
    bool host_elsewhere;          /* registered memory has another address on the device */
    bool stepping;                /* streams run only by step() and for waiters */
    uint64_t clock_ns;            /* as with set_clock */
    uint32_t devices;             /* 0: one device; their UUIDs differ in the last byte: 5a + n */
    uint32_t shuffle; /* seed of the order between streams and of random sleeps; 0: none */
};

/* Counts of the objects that were not freed. */
struct fake_left {
    uint32_t contexts, reservations, memories, maps, registrations, pinned, streams, events,
        modules, greens, arrays, textures;
};

struct fake_launch {
    unsigned int grid[3], block[3], cluster[3], shared_bytes;
    int cooperative, shared_allowed; /* shared_allowed: bytes that the function was allowed */
};

/* A texture as the caller described it, without the array. */
struct fake_texture {
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC reading;
    CUDA_RESOURCE_VIEW_DESC view;
    bool viewed, surface;
    uint32_t level;    /* level of the mipmapped array */
    uint64_t elements; /* reference: elements of 4 bytes of that level; 0: no array is bound */
};

enum fake_kind { FAKE_COPY, FAKE_FILL, FAKE_LAUNCH, FAKE_WRITE, FAKE_RECORD, FAKE_WAIT };

struct fake_ran {
    enum fake_kind kind;
    uint32_t stream; /* number in the order of creation, from 0 */
    int priority;    /* priority of that stream */
    uint32_t sms;    /* multiprocessors of its green context; 0: all */
    uint64_t green;  /* number of the green context */
};

struct fake_control {
    /* Resets the driver as if it had just been loaded; frees all objects left from before. */
    void (*start)(const struct fake_options *options);
    struct fake_left (*left)(void);
    /* The first misuse since start; "": none. */
    const char *(*misuse)(void);
    /* Runs the stream's next item. False: it could not run. */
    bool (*step)(uint32_t stream);
    /* Runs all items until none can run. */
    void (*run)(void);
    /* Ends the context with this result: streams stop, and all calls return it. */
    void (*end)(CUresult fatal);
    struct fake_launch (*last_launch)(void);
    struct fake_texture (*last_texture)(void);
    struct tensor_ask (*last_tensor)(void);
    /* The texture bound to the reference of this name, in any module. */
    struct fake_texture (*reference)(const char *name);
    /* Sets the device's clock in nanoseconds; 0: the host's clock plus one hour. */
    void (*set_clock)(uint64_t ns);
    /* The number of calls since start. */
    uint32_t (*calls)(void);
    /* Copies the first `room` items that ran since start. Returns their total number. */
    uint32_t (*ran)(struct fake_ran *out, uint32_t room);
};

extern const struct fake_control fake_control;

#endif
