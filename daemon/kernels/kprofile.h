/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a kernel: how long its launches take, how much of the device they need, and what
 * they are bound by. The contract between the worker, which learns it, the broker, which keeps it,
 * and the tables that people bring (Orion, EuroSys '24, section 5.2). Pure. Owner: the caller.
 */
#ifndef DAEMON_KERNELS_KPROFILE_H
#define DAEMON_KERNELS_KPROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/kernels/kdist.h"
#include "daemon/kernels/kname.h"

#define KPROFILE_SMS_MAX (1u << 24)
#define KPROFILE_NS_MAX 3600000000000ull /* of a duration in a table */
#define KPROFILE_WHY_BYTES 160

/* What is launched the same way is expected to run the same way. Of one user's kernels only, so
 * that nobody's code can speak for another's. No padding: it is hashed and compared as it lies. */
struct kprofile_key {
    uint64_t func; /* print of the function's content */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic and static */
    uint32_t uid;
};

enum kprofile_class { KPROFILE_UNKNOWN, KPROFILE_COMPUTE, KPROFILE_MEMORY, KPROFILE_CLASSES };

/* Whence class and utilisations are. */
enum kprofile_source {
    KPROFILE_NONE,
    KPROFILE_COUNTED,  /* the device counted what it executed */
    KPROFILE_IMPORTED, /* a table says so */
    KPROFILE_SOURCES
};

struct kprofile {
    struct kprofile_key key;
    char name[KNAME_BYTES]; /* kname_base of the function's */
    uint32_t sms;           /* that a launch needs, from occupancy; 0: not known */
    uint8_t class, source;
    uint8_t lone; /* 1: durations were measured while no other job's work was on the device */
    uint16_t compute_milli, memory_milli; /* of the peaks; 0: not known or nothing */
    struct kdist durations;
};

/* What a table says of all kernels of a name, or of their launches of one shape. */
struct kprofile_hint {
    char name[KNAME_BYTES];     /* base name */
    uint32_t grid[3], block[3]; /* zeroes: any */
    uint32_t sms;               /* 0: not said */
    uint8_t class;
    uint16_t compute_milli, memory_milli;
    uint64_t duration_ns; /* 0: not said */
};

/* What a device can do in a second, and what a launch did. */
struct kprofile_rate {
    uint64_t thread_insts, memory_bytes;
};

const char *kprofile_class_name(unsigned class);
const char *kprofile_source_name(unsigned source);

/* The paper's rule (section 5.2): more than 60 % of the peak of compute throughput, or of memory
 * bandwidth; the greater where both are, unknown where neither is. */
enum kprofile_class kprofile_classify(uint32_t compute_milli, uint32_t memory_milli);

/* A launch that takes a floor to start and then as long as the roofline says:
 *   t = KPROFILE_FLOOR_NS + max(insts / peak insts, bytes / peak bytes)
 * uses insts / peak insts / t of the compute units and bytes / peak bytes / t of the bandwidth. A
 * kernel of less than 3 us of work is therefore of unknown class, as most such are in the paper's
 * tables, where the least that a launch takes is 2.7 us. A peak of 0 counts nothing. */
#define KPROFILE_FLOOR_NS 2000u
void kprofile_utilise(const struct kprofile_rate *launch, const struct kprofile_rate *peak,
                      uint16_t *compute_milli, uint16_t *memory_milli);

bool kprofile_same(const struct kprofile_key *a, const struct kprofile_key *b);
uint64_t kprofile_hash(const struct kprofile_key *key, uint64_t seed);

/* By name, then shape: an order in which what is said of any shape comes first. */
int kprofile_hint_order(const void *a, const void *b);
/* Of hints in that order, none twice, the one that fits best: the same grid and block before the
 * same grid, the same block, any. NULL: none does. */
const struct kprofile_hint *kprofile_hint_find(const struct kprofile_hint *hints, uint32_t count,
                                               const char *name, const uint32_t grid[3],
                                               const uint32_t block[3]);

/* What came from another process or a file: 0, or -EINVAL and the reason (KPROFILE_WHY_BYTES).
 * Works out durations.count. */
int kprofile_check(struct kprofile *p, char *why);
int kprofile_hint_check(const struct kprofile_hint *h, char *why);

#endif
