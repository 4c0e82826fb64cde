/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads profiles for a device, learns, imports and deletes them.
 */
#include "daemon/broker/store/kernel_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"
#include "common/text/failure.h"
#include "daemon/kernels/kernel_text.h"

#define TOPIC "kernel"
#define WRITE_AFTER_MS 5000 /* printing a full set blocks the loop for some 100 ms */
#define NAME_BYTES (STORE_PATH_BYTES + sizeof(((struct kernel_set_device *)0)->name) + 16)

static void print(const void *set, struct buf *out) {
    kernel_text_print(set, out);
}

void kernel_store_init(struct kernel_store *k, uv_loop_t *loop, const char *path) {
    uint64_t seed = 0;

    if (getrandom(&seed, sizeof(seed), 0) < 0) seed = (uintptr_t)k;
    kernel_set_init(&k->set, seed);
    k->known = k->apart = false;
    k->file = (struct store_file){.topic = TOPIC,
                                  .bytes_max = KERNEL_TEXT_BYTES_MAX,
                                  .delay_ms = WRITE_AFTER_MS,
                                  .print = print,
                                  .owner = &k->set};
    snprintf(k->file.path, sizeof(k->file.path), "%s", path);
    store_file_init(&k->file, loop);
}

void kernel_store_stop(struct kernel_store *k) {
    store_file_stop(&k->file);
}

void kernel_store_finish(struct kernel_store *k) {
    store_file_flush(&k->file);
    kernel_set_finish(&k->set);
}

/* ---- files of devices ------------------------------------------------------------------------ */

/* The name of a device's file while another device is in use: <path>.NVIDIA-A100-108. */
static void place_of(const struct kernel_store *k, const struct kernel_set_device *d,
                     char out[NAME_BYTES]) {
    size_t at = (size_t)snprintf(out, NAME_BYTES, "%s.", k->file.path);

    for (const char *c = d->name; *c; c++) {
        bool plain =
            (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z');

        out[at++] = plain ? *c : '-';
    }
    snprintf(out + at, NAME_BYTES - at, "-%u", d->sms);
}

static void put_away(struct kernel_store *k, const struct kernel_set_device *d) {
    char place[NAME_BYTES];
    int err;

    place_of(k, d, place);
    err = rename(k->file.path, place) < 0 ? -errno : 0;
    if (err == -ENOENT) return;
    log_warn(TOPIC, "event=other_device path=%s device=\"%s\" sms=%u %s=\"%s\"", k->file.path,
             d->name, d->sms, err ? "move_error" : "moved_to", err ? err_text(err) : place);
}

static bool bring_back(const struct kernel_store *k) {
    char place[NAME_BYTES];

    place_of(k, &k->set.device, place);
    return rename(place, k->file.path) == 0;
}

/* Reads the file into the empty set. Returns true when there is nothing more to try. */
static bool load(struct kernel_store *k) {
    struct kernel_set_device device = k->set.device, of;
    char why[KERNEL_PROFILE_WHY_BYTES] = "";
    char *text = NULL;
    size_t bytes = 0;
    int err = store_file_read(&k->file, &text, &bytes);

    if (err == 0) err = kernel_text_parse(&k->set, text, bytes, why);
    free(text);
    of = k->set.device;
    k->set.device = device;
    if (err == -ENOENT) return false;
    if (err < 0) {
        store_file_unusable(&k->file, err, why);
        return true;
    }
    if (!kernel_set_device_same(&device, &of)) {
        kernel_set_finish(&k->set);
        k->set.device = device;
        put_away(k, &of);
        return false;
    }
    log_info(TOPIC, "event=read path=%s profiles=%u hints=%u", k->file.path, k->set.count,
             k->set.hint_count);
    return true;
}

/* The file at the common path is this device's. */
static bool is_in_common(struct kernel_store *k) {
    struct kernel_set_device device = k->set.device;
    char why[KERNEL_PROFILE_WHY_BYTES], *text = NULL;
    size_t bytes = 0;
    bool same = false;

    if (store_file_read(&k->file, &text, &bytes) == 0 &&
        kernel_text_parse(&k->set, text, bytes, why) == 0)
        same = kernel_set_device_same(&device, &k->set.device);
    free(text);
    kernel_set_finish(&k->set);
    k->set.device = device;
    return same;
}

/* Switches to the file under the device's own name. A daemon with only this GPU may have used the
 * common path. */
static void go_apart(struct kernel_store *k) {
    char place[NAME_BYTES];
    int n;

    place_of(k, &k->set.device, place);
    if (access(place, F_OK) < 0 && is_in_common(k)) rename(k->file.path, place);
    n = snprintf(k->file.path, sizeof(k->file.path), "%s", place);
    if (n >= (int)sizeof(k->file.path)) k->file.path[0] = '\0'; /* no file has so long a name */
    if (*k->file.path) load(k);
}

static struct kernel_set_device device_of(const char *name, uint32_t sms) {
    struct kernel_set_device device = {.sms = sms};

    kernel_name_tidy(name, device.name, sizeof(device.name));
    return device;
}

bool kernel_store_is(const struct kernel_store *k, const char *name, uint32_t sms) {
    struct kernel_set_device device = device_of(name, sms);

    return k->known && kernel_set_device_same(&device, &k->set.device);
}

bool kernel_store_device(struct kernel_store *k, const char *name, uint32_t sms) {
    struct kernel_set_device device = device_of(name, sms);

    if (kernel_store_is(k, name, sms)) return false;
    if (k->known) {
        store_file_flush(&k->file);
        if (*k->file.path) put_away(k, &k->set.device);
    }
    kernel_set_finish(&k->set);
    k->set.device = device;
    k->known = true;
    if (*k->file.path && k->apart)
        go_apart(k);
    else if (*k->file.path && !load(k) && bring_back(k))
        load(k);
    return true;
}

/* ---- use ------------------------------------------------------------------------------------- */

int kernel_store_learn(struct kernel_store *k, struct kernel_profile *p, char *why) {
    int err = k->known ? kernel_profile_check(p, why) : -ENODEV;

    if (err == 0) err = kernel_set_learn(&k->set, p);
    if (err == 0) store_file_touch(&k->file);
    return err;
}

/* Tables of other tools belong to no device: their number of SMs is 0. */
static int may_import(const struct kernel_store *k, const struct kernel_set *from, uint32_t uid,
                      char *why) {
    if (!k->known)
        return failure(-ENODEV, why, KERNEL_PROFILE_WHY_BYTES,
                       "the device is not known yet, because no worker has started");
    if (from->device.sms && !kernel_set_device_same(&from->device, &k->set.device))
        return failure(
            -EXDEV, why, KERNEL_PROFILE_WHY_BYTES,
            "the profiles were measured on '%.40s' with %u SMs, and this GPU is '%.40s' with %u",
            from->device.name, from->device.sms, k->set.device.name, k->set.device.sms);
    for (uint32_t i = 0; uid != KERNEL_SET_ANYBODY && i < from->count; i++)
        if (from->items[i].key.uid != uid)
            return failure(-EPERM, why, KERNEL_PROFILE_WHY_BYTES,
                           "the file contains profiles of user %u", from->items[i].key.uid);
    return 0;
}

int kernel_store_import(struct kernel_store *k, const struct kernel_set *from, uint32_t uid,
                        char *why) {
    uint32_t *order;
    int err = may_import(k, from, uid, why);

    if (err < 0) return err;
    order = kernel_set_order(from);
    err = order ? kernel_set_add_hints(&k->set, from->hints, from->hint_count) : -ENOMEM;
    if (err == -ENOSPC)
        err = failure(-EINVAL, why, KERNEL_PROFILE_WHY_BYTES,
                      "%u new hints and %u present ones exceed the limit of %u; run 'salusctl "
                      "profile forget' first",
                      from->hint_count, k->set.hint_count, KERNEL_SET_HINTS_MAX);
    for (uint32_t i = 0; i < from->count && err == 0; i++)
        err = kernel_set_learn(&k->set, &from->items[order[i]]);
    free(order);
    store_file_touch(&k->file);
    return err;
}

uint32_t kernel_store_forget(struct kernel_store *k, const struct kernel_set_filter *f) {
    uint32_t gone = kernel_set_forget(&k->set, f);

    if (gone) store_file_touch(&k->file);
    return gone;
}
