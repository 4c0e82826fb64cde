/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel profiles: how long launches take, how much of the device they need, and which resource
 * limits them (Orion, EuroSys '24, section 5.2). The contract between the worker, which measures
 * profiles, the broker, which stores them, and the tables that users import. Pure. Owner: the
 * caller.
 */
#ifndef DAEMON_KERNELS_KERNEL_PROFILE_H
#define DAEMON_KERNELS_KERNEL_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/kernels/kernel_dist.h"
#include "daemon/kernels/kernel_name.h"

#define KERNEL_PROFILE_SMS_MAX (1u << 24)
#define KERNEL_PROFILE_NS_MAX 3600000000000ull /* longest duration that a table may have, in ns */
#define KERNEL_PROFILE_WHY_BYTES 160

/* Launches with equal keys are expected to behave alike. The key includes the user, so that one
 * user's code cannot affect the profiles of another's. The struct has no padding, because it is
 * hashed and compared as raw bytes. */
struct kernel_profile_key {
    uint64_t func; /* hash of the function's content */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic and static shared memory */
    uint32_t uid;
};

enum kernel_profile_class {
    KERNEL_PROFILE_UNKNOWN,
    KERNEL_PROFILE_COMPUTE,
    KERNEL_PROFILE_MEMORY,
    KERNEL_PROFILE_CLASSES
};

/* Source of a profile's class and utilisations. */
enum kernel_profile_source {
    KERNEL_PROFILE_NONE,
    KERNEL_PROFILE_COUNTED,  /* the device counted the instructions and bytes */
    KERNEL_PROFILE_IMPORTED, /* an imported table */
    KERNEL_PROFILE_SOURCES
};

struct kernel_profile {
    struct kernel_profile_key key;
    char name[KERNEL_NAME_BYTES]; /* base name of the function (kernel_name_base) */
    uint32_t sms;                 /* SMs that a launch needs, from occupancy; 0: not known */
    uint8_t class, source;
    uint8_t lone; /* 1: durations were measured while no other job's work was on the device */
    uint16_t compute_milli, memory_milli; /* thousandths of the peak; 0: not known, or none used */
    struct kernel_dist durations;
};

/* An imported estimate for all kernels with a name, or for their launches with one shape. */
struct kernel_profile_hint {
    char name[KERNEL_NAME_BYTES]; /* base name */
    uint32_t grid[3], block[3];   /* zeroes: any shape */
    uint32_t sms;                 /* 0: not given */
    uint8_t class;
    uint16_t compute_milli, memory_milli;
    uint64_t duration_ns; /* 0: not given */
};

/* Peak rates of a device per second, or the instructions and bytes of one launch. */
struct kernel_profile_rate {
    uint64_t thread_insts, memory_bytes;
};

const char *kernel_profile_class_name(unsigned class);
const char *kernel_profile_source_name(unsigned source);

/* The paper's rule (section 5.2): a kernel is compute-bound or memory-bound above 60 % of the peak
 * compute throughput or memory bandwidth. If both exceed 60 %, the larger decides; if neither does,
 * the class is unknown. */
enum kernel_profile_class kernel_profile_classify(uint32_t compute_milli, uint32_t memory_milli);

/* Computes the utilisations of a launch, which takes a fixed start-up time and then as long as the
 * roofline model says:
 *
 *   t = KERNEL_PROFILE_FLOOR_NS + max(insts / peak insts, bytes / peak bytes)
 *
 * The launch uses insts / peak insts / t of the compute units and bytes / peak bytes / t of the
 * bandwidth. A kernel with less than 3 us of work therefore has an unknown class. So have most such
 * kernels in the paper's tables, whose shortest launch takes 2.7 us. With a peak of 0 the resource
 * counts as unused. */
#define KERNEL_PROFILE_FLOOR_NS 2000u
void kernel_profile_utilise(const struct kernel_profile_rate *launch,
                            const struct kernel_profile_rate *peak, uint16_t *compute_milli,
                            uint16_t *memory_milli);

bool kernel_profile_same(const struct kernel_profile_key *a, const struct kernel_profile_key *b);
uint64_t kernel_profile_hash(const struct kernel_profile_key *key, uint64_t seed);

/* Compares by name, then by shape. Hints for any shape sort first. */
int kernel_profile_hint_order(const void *a, const void *b);
/* Finds the best fit in an array of distinct hints in that order. The same grid and block is
 * preferred, then the same grid, then the same block, then any shape. NULL if none fits. */
const struct kernel_profile_hint *kernel_profile_hint_find(const struct kernel_profile_hint *hints,
                                                           uint32_t count, const char *name,
                                                           const uint32_t grid[3],
                                                           const uint32_t block[3]);

/* Validate a profile or hint from another process or a file. Return 0, or -EINVAL with the reason
 * in `why` (KERNEL_PROFILE_WHY_BYTES). kernel_profile_check also computes durations.count. */
int kernel_profile_check(struct kernel_profile *p, char *why);
int kernel_profile_hint_check(const struct kernel_profile_hint *h, char *why);

#endif
