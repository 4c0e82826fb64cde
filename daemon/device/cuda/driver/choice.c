/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks every device for its UUID, even if the first one matches, because the choice must be unique.
 */
#include "daemon/device/cuda/driver/choice.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/err.h"
#include "proto/cuda/uuid.h"

struct text {
    char *at;
    size_t left;
};

static __attribute__((format(printf, 2, 3))) void add(struct text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at, t->left, format, args);
    va_end(args);
    size_t took = n < 0 ? 0 : (size_t)n < t->left ? (size_t)n : t->left ? t->left - 1 : 0;
    t->at += took;
    t->left -= took;
}

static CUresult uuid_of(const struct driver *d, int index, CUuuid *out) {
    CUdevice device;
    CUresult r = d->cuDeviceGet(&device, index);
    return r ? r : d->cuDeviceGetUuid_v2(out, device);
}

static const uint8_t *bytes_of(const CUuuid *uuid) {
    return (const uint8_t *)uuid->bytes;
}

/* Adds ", 0: GPU-..., 1: GPU-...": the devices whose UUID begins with `begin`; NULL: all. */
static void add_devices(struct text *t, const struct driver *d, int count, const char *begin) {
    char text[UUID_TEXT_BYTES];
    CUuuid uuid;
    const char *before = "";
    for (int i = 0; i < count; i++) {
        if (uuid_of(d, i, &uuid) || (begin && !uuid_begins(bytes_of(&uuid), begin))) continue;
        uuid_print(bytes_of(&uuid), text);
        if (t->left < sizeof(text) + 16) {
            add(t, "%s..", before);
            return;
        }
        add(t, "%s%d: %s", before, i, text);
        before = ", ";
    }
}

static int find_uuid(const struct driver *d, int count, const char *begin, uint32_t *index,
                     struct text why) {
    uint32_t found = 0;
    for (int i = 0; i < count; i++) {
        CUuuid uuid;
        CUresult r = uuid_of(d, i, &uuid);
        if (r) {
            add(&why, "the driver reports no UUID of device %d: %s", i, driver_name(d, r));
            return driver_error(r);
        }
        if (!uuid_begins(bytes_of(&uuid), begin)) continue;
        *index = (uint32_t)i;
        found++;
    }
    if (found == 1) return 0;
    if (found)
        add(&why, "%u GPUs have a UUID that begins with %s: ", found, begin);
    else
        add(&why, "no GPU has the UUID %s: the driver has ", begin);
    if (!count) add(&why, "none");
    add_devices(&why, d, count, found ? begin : NULL);
    return -ENODEV;
}

static int find_index(const struct driver *d, int count, uint64_t asked, uint32_t *index,
                      struct text why) {
    *index = (uint32_t)asked;
    if (asked < (uint64_t)count) return 0;
    add(&why, "the driver has no GPU %llu; it has %d GPUs", (unsigned long long)asked, count);
    if (count) add(&why, ", ");
    add_devices(&why, d, count, NULL);
    return -ENODEV;
}

int choice_find(const struct driver *d, uint32_t number, const char *id, uint32_t *index, char *why,
                size_t why_bytes) {
    struct text text = {why, why_bytes};
    int count = 0;
    char *end;
    CUresult r = d->cuDeviceGetCount(&count);
    if (r) {
        add(&text, "the driver reports no number of devices: %s", driver_name(d, r));
        return driver_error(r);
    }
    if (count < 0) count = 0;
    if (!id) return find_index(d, count, number, index, text);
    if (uuid_may_begin(id)) return find_uuid(d, count, id, index, text);
    uint64_t asked = strtoull(id, &end, 10);
    if (end != id && !*end) return find_index(d, count, asked, index, text);
    add(&text, "device_id '%s' is neither an index nor a UUID", id);
    return -ENODEV;
}
