/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads program profiles, fills in jobs' needs, and learns.
 */
#include "daemon/broker/store/program_profile_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/atomics.h"
#include "common/log.h"
#include "proto/wire/job.h"

#define WRITE_AFTER_MS 1000

static void print(const void *table, struct buf *out) {
    program_profile_print(table, out);
}

void program_profile_store_open(struct program_profile_store *p, const struct config *config,
                                uv_loop_t *loop) {
    char why[PROGRAM_PROFILE_WHY_BYTES] = "";
    char *text = NULL;
    size_t bytes = 0;
    int err;

    program_profile_init(&p->table);
    p->file = (struct store_file){.topic = "profile",
                                  .bytes_max = PROGRAM_PROFILE_FILE_MAX,
                                  .delay_ms = WRITE_AFTER_MS,
                                  .print = print,
                                  .owner = &p->table};
    store_file_place(config->profiles, config->run_dir, p->file.path);
    store_file_init(&p->file, loop);
    err = store_file_read(&p->file, &text, &bytes);
    if (err == -ENOENT) return;
    if (err == 0) err = program_profile_parse(&p->table, text, bytes, why);
    free(text);
    if (err < 0)
        store_file_unusable(&p->file, err, why);
    else
        log_info("profile", "event=read path=%s profiles=%u", p->file.path, p->table.count);
}

/* ---- use ------------------------------------------------------------------------------------- */

bool program_profile_store_fill(const struct program_profile_store *store, uint64_t device_bytes,
                                uid_t uid, struct wire_job *job) {
    const struct program_profile *p = program_profile_find(&store->table, uid, job->profile);
    uint64_t total;

    if (!p) return false;
    if (job->iterations == 0 && job->duration_ns == 0) {
        job->iterations = p->iterations;
        if (__builtin_mul_overflow(p->iterations, p->iteration_ns, &job->duration_ns) ||
            job->duration_ns > JOB_NS_MAX)
            job->duration_ns = 0;
    }
    total = p->persistent_bytes + p->ephemeral_bytes;
    if ((job->flags & WIRE_JOB_RESERVED) || total == 0 || total > device_bytes) return false;
    job->persistent_bytes = p->persistent_bytes;
    job->ephemeral_bytes = p->ephemeral_bytes;
    job->flags |= WIRE_JOB_RESERVED;
    return true;
}

void program_profile_store_learn(struct program_profile_store *p, uid_t uid,
                                 const struct wire_job *job, const struct wire_stats *stats,
                                 bool whole) {
    struct program_profile seen = {
        .uid = uid,
        .key = job->profile,
        .persistent_bytes = atom_load_relaxed(&stats->persistent_peak_bytes),
        .ephemeral_bytes = atom_load_relaxed(&stats->ephemeral_peak_bytes),
        .iteration_ns = atom_load_relaxed(&stats->iteration_ns),
        .launches = atom_load_relaxed(&stats->launches)};

    if (whole) seen.iterations = atom_load_relaxed(&stats->iterations);
    if (!*p->file.path || job->profile == 0 || atom_load_relaxed(&stats->measured) != 1 ||
        seen.persistent_bytes > JOB_BYTES_MAX || seen.ephemeral_bytes > JOB_BYTES_MAX)
        return;
    if (program_profile_learn(&p->table, &seen) == 0) store_file_touch(&p->file);
}

void program_profile_store_stop(struct program_profile_store *p) {
    store_file_stop(&p->file);
}

void program_profile_store_close(struct program_profile_store *p) {
    store_file_flush(&p->file);
    program_profile_finish(&p->table);
}
