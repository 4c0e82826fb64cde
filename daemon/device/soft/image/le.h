/* SPDX-License-Identifier: Apache-2.0
 *
 * Little-endian reads at any alignment, and a bounds check. For files that clients supply: check
 * first, then read.
 */
#ifndef DAEMON_DEVICE_SOFT_IMAGE_LE_H
#define DAEMON_DEVICE_SOFT_IMAGE_LE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t le_16(const void *p) {
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return le16toh(v);
}

static inline uint32_t le_32(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return le32toh(v);
}

static inline uint64_t le_64(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return le64toh(v);
}

/* True if [at, at + bytes) lies within [0, total). */
static inline bool le_within(uint64_t at, uint64_t bytes, uint64_t total) {
    return at <= total && bytes <= total - at;
}

#endif
