/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading, filling, learning, writing.
 */
#include "daemon/broker/profile_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "proto/job.h"

#define WRITE_AFTER_MS 1000

/* ---- the file -------------------------------------------------------------------------------- */

/* systemd gives several directories separated by colons; ours is the first. */
static void place(const struct config *c, char *out, size_t cap) {
    const char *state = getenv("STATE_DIRECTORY");

    if (*c->profiles == '/' || !*c->profiles)
        snprintf(out, cap, "%s", c->profiles);
    else if (state && *state == '/')
        snprintf(out, cap, "%.*s/%s", (int)strcspn(state, ":"), state, c->profiles);
    else
        snprintf(out, cap, "%s/%s", c->run_dir, c->profiles);
}

/* The whole file as text that the caller frees; -errno, -EFBIG. */
static int read_file(const char *path, char **out, size_t *bytes) {
    char *text = malloc(PROFILE_FILE_MAX + 1);
    FILE *f = text ? fopen(path, "re") : NULL;
    int rc = text ? -errno : -ENOMEM;

    if (f) {
        *bytes = fread(text, 1, PROFILE_FILE_MAX + 1, f);
        rc = ferror(f) ? -EIO : *bytes > PROFILE_FILE_MAX ? -EFBIG : 0;
        fclose(f);
    }
    if (rc < 0)
        free(text);
    else
        *out = text;
    return rc;
}

/* All of the text or nothing is what a reader finds, also after the machine's power failed. */
static int write_file(const char *path, const void *text, size_t bytes) {
    char temporary[sizeof(((struct profile_store *)0)->path) + 8];
    int fd, rc = 0;

    snprintf(temporary, sizeof(temporary), "%s.new", path);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return -errno;
    for (size_t done = 0; done < bytes && rc == 0;) {
        ssize_t n = write(fd, (const char *)text + done, bytes - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            rc = -errno;
    }
    if (rc == 0 && fsync(fd) < 0) rc = -errno;
    close(fd);
    if (rc == 0 && rename(temporary, path) < 0) rc = -errno;
    if (rc < 0) unlink(temporary);
    return rc;
}

static void set_aside(const char *path, const char *why) {
    char aside[sizeof(((struct profile_store *)0)->path) + 16];
    int rc;

    snprintf(aside, sizeof(aside), "%s.corrupt", path);
    rc = rename(path, aside) < 0 ? -errno : 0;
    log_error("profile", "event=corrupt path=%s why=\"%s\" %s=%s", path, why,
              rc ? "cannot_be_moved" : "now", rc ? err_text(rc) : aside);
}

void profile_store_open(struct server *s) {
    struct profile_store *p = &s->store;
    char why[PROFILE_WHY_BYTES] = "";
    char *text = NULL;
    size_t bytes = 0;
    int rc;

    profile_init(&p->table);
    place(&s->config, p->path, sizeof(p->path));
    if (!*p->path) return;
    rc = read_file(p->path, &text, &bytes);
    if (rc == -ENOENT) return;
    if (rc == 0) rc = profile_parse(&p->table, text, bytes, why);
    free(text);
    if (rc == -EINVAL || rc == -EFBIG)
        set_aside(p->path, rc == -EFBIG ? "too long" : why);
    else if (rc < 0)
        log_error("profile", "event=unreadable path=%s why=\"%s\"", p->path, err_text(rc));
    else
        log_info("profile", "event=read path=%s profiles=%u", p->path, p->table.count);
}

/* ---- writing --------------------------------------------------------------------------------- */

struct writing {
    uv_work_t work;
    struct server *server;
    struct buf text;
    char path[sizeof(((struct profile_store *)0)->path)];
    int rc;
};

static void write_soon(struct server *s);

static void report(struct profile_store *p, int rc) {
    if (rc < 0 && !p->complained)
        log_error("profile", "event=unwritable path=%s why=\"%s\"", p->path, err_text(rc));
    p->complained = rc < 0;
}

static void on_work(uv_work_t *work) { /* in a thread of the pool: touches `work` alone */
    struct writing *w = work->data;

    w->rc = write_file(w->path, w->text.data, w->text.len);
}

static void on_written(uv_work_t *work, int status) {
    struct writing *w = work->data;
    struct profile_store *p = &w->server->store;

    report(p, w->rc);
    p->writing = false;
    if (p->dirty) write_soon(w->server);
    buf_finish(&w->text);
    free(w);
}

static void on_timer(uv_timer_t *t) {
    struct server *s = t->data;
    struct profile_store *p = &s->store;
    struct writing *w = p->writing ? NULL : calloc(1, sizeof(*w));

    if (!w) return;
    w->work.data = w;
    w->server = s;
    buf_init(&w->text);
    profile_print(&p->table, &w->text);
    memcpy(w->path, p->path, sizeof(w->path));
    if (w->text.failed || uv_queue_work(&s->loop, &w->work, on_work, on_written) < 0) {
        buf_finish(&w->text);
        free(w);
        return;
    }
    p->writing = true;
    p->dirty = false;
}

static void write_soon(struct server *s) {
    s->store.dirty = true;
    if (!s->stopping && !s->store.writing)
        uv_timer_start(&s->store.timer, on_timer, WRITE_AFTER_MS, 0);
}

/* ---- use ------------------------------------------------------------------------------------- */

bool profile_store_fill(const struct server *s, uid_t uid, struct wire_job *job) {
    const struct profile *p = profile_find(&s->store.table, uid, job->profile);
    uint64_t total;

    if (!p) return false;
    if (job->iterations == 0 && job->duration_ns == 0) {
        job->iterations = p->iterations;
        if (__builtin_mul_overflow(p->iterations, p->iteration_ns, &job->duration_ns) ||
            job->duration_ns > JOB_NS_MAX)
            job->duration_ns = 0;
    }
    total = p->persistent_bytes + p->ephemeral_bytes;
    if ((job->flags & WIRE_JOB_WORD) || total == 0 || total > s->supervise.device.memory_bytes)
        return false;
    job->persistent_bytes = p->persistent_bytes;
    job->ephemeral_bytes = p->ephemeral_bytes;
    job->flags |= WIRE_JOB_WORD;
    return true;
}

void profile_store_learn(struct server *s, uid_t uid, const struct wire_job *job,
                         const struct wire_stats *stats, bool whole) {
    struct profile seen = {.uid = uid,
                           .key = job->profile,
                           .persistent_bytes = atom_load_relaxed(&stats->persistent_peak),
                           .ephemeral_bytes = atom_load_relaxed(&stats->ephemeral_peak),
                           .iteration_ns = atom_load_relaxed(&stats->iteration_ns),
                           .launches = atom_load_relaxed(&stats->launches)};

    if (whole) seen.iterations = atom_load_relaxed(&stats->iterations);
    if (!*s->store.path || job->profile == 0 || atom_load_relaxed(&stats->measured) != 1 ||
        seen.persistent_bytes > JOB_BYTES_MAX || seen.ephemeral_bytes > JOB_BYTES_MAX)
        return;
    if (profile_learn(&s->store.table, &seen) == 0) write_soon(s);
}

void profile_store_close(struct server *s) {
    struct profile_store *p = &s->store;
    struct buf text;

    if (p->dirty && *p->path) {
        buf_init(&text);
        profile_print(&p->table, &text);
        if (!text.failed) report(p, write_file(p->path, text.data, text.len));
        buf_finish(&text);
        p->dirty = false;
    }
    profile_finish(&p->table);
}
