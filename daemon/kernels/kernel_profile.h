/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a kernel: how long its launches take, how much of the device they need, and what
 * they are bound by. The contract between the worker, which learns it, the broker, which keeps it,
 * and the tables that people bring (Orion, EuroSys '24, section 5.2). Pure. Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_PROFILE_H
#define DAEMON_KERNELS_KERNEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/kernels/kernel_dist.h"
#include "daemon/kernels/kernel_name.h"

#define KERNEL_PROFILE_SMS_MAX (1u << 24)
#define KERNEL_PROFILE_NS_MAX 3600000000000ull /* of a duration in a table */
#define KERNEL_PROFILE_WHY_BYTES 160

/* What is launched the same way is expected to run the same way. Of one user's kernels only, so
 * that nobody's code can speak for another's. No padding: it is hashed and compared as it lies. */
struct kernel_profile_key {
    uint64_t func; /* print of the function's content */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic and static */
    uint32_t uid;
};

enum kernel_profile_class {
    KERNEL_PROFILE_UNKNOWN,
    KERNEL_PROFILE_COMPUTE,
    KERNEL_PROFILE_MEMORY,
    KERNEL_PROFILE_CLASSES
};

/* Whence class and utilisations are. */
enum kernel_profile_source {
    KERNEL_PROFILE_NONE,
    KERNEL_PROFILE_COUNTED,  /* the device counted what it executed */
    KERNEL_PROFILE_IMPORTED, /* a table says so */
    KERNEL_PROFILE_SOURCES
};

struct kernel_profile {
    struct kernel_profile_key key;
    char name[KERNEL_NAME_BYTES]; /* kernel_name_base of the function's */
    uint32_t sms;                 /* that a launch needs, from occupancy; 0: not known */
    uint8_t class, source;
    uint8_t lone; /* 1: durations were measured while no other job's work was on the device */
    uint16_t compute_milli, memory_milli; /* of the peaks; 0: not known or nothing */
    struct kernel_dist durations;
};

/* What a table says of all kernels of a name, or of their launches of one shape. */
struct kernel_profile_hint {
    char name[KERNEL_NAME_BYTES]; /* base name */
    uint32_t grid[3], block[3];   /* zeroes: any */
    uint32_t sms;                 /* 0: not said */
    uint8_t class;
    uint16_t compute_milli, memory_milli;
    uint64_t duration_ns; /* 0: not said */
};

/* What a device can do in a second, and what a launch did. */
struct kernel_profile_rate {
    uint64_t thread_insts, memory_bytes;
};

const char *kernel_profile_class_name(unsigned class);
const char *kernel_profile_source_name(unsigned source);

/* The paper's rule (section 5.2): more than 60 % of the peak of compute throughput, or of memory
 * bandwidth; the greater where both are, unknown where neither is. */
enum kernel_profile_class kernel_profile_classify(uint32_t compute_milli, uint32_t memory_milli);

/* A launch that takes a floor to start and then as long as the roofline says:
 *   t = KERNEL_PROFILE_FLOOR_NS + max(insts / peak insts, bytes / peak bytes)
 * uses insts / peak insts / t of the compute units and bytes / peak bytes / t of the bandwidth. A
 * kernel of less than 3 us of work is therefore of unknown class, as most such are in the paper's
 * tables, where the least that a launch takes is 2.7 us. A peak of 0 counts nothing. */
#define KERNEL_PROFILE_FLOOR_NS 2000u
void kernel_profile_utilise(const struct kernel_profile_rate *launch,
                            const struct kernel_profile_rate *peak, uint16_t *compute_milli,
                            uint16_t *memory_milli);

bool kernel_profile_same(const struct kernel_profile_key *a, const struct kernel_profile_key *b);
uint64_t kernel_profile_hash(const struct kernel_profile_key *key, uint64_t seed);

/* By name, then shape: an order in which what is said of any shape comes first. */
int kernel_profile_hint_order(const void *a, const void *b);
/* Of hints in that order, none twice, the one that fits best: the same grid and block before the
 * same grid, the same block, any. NULL: none does. */
const struct kernel_profile_hint *kernel_profile_hint_find(const struct kernel_profile_hint *hints,
                                                           uint32_t count, const char *name,
                                                           const uint32_t grid[3],
                                                           const uint32_t block[3]);

/* What came from another process or a file: 0, or -EINVAL and the reason
 * (KERNEL_PROFILE_WHY_BYTES). Works out durations.count. */
int kernel_profile_check(struct kernel_profile *p, char *why);
int kernel_profile_hint_check(const struct kernel_profile_hint *h, char *why);

#endif
