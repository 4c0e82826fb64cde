/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads, sets aside, writes. The thread pool writes and syncs a file beside the final one. The loop
 * then renames it, unless a flush has written newer data meanwhile.
 */
#include "daemon/broker/store/store_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/err.h"
#include "common/log.h"

#define NAME_BYTES (STORE_PATH_BYTES + 16)

/* systemd passes several directories separated by colons; ours is the first. */
void store_file_place(const char *name, const char *run_dir, char out[STORE_PATH_BYTES]) {
    const char *state = getenv("STATE_DIRECTORY");

    if (*name == '/' || !*name)
        snprintf(out, STORE_PATH_BYTES, "%s", name);
    else if (state && *state == '/')
        snprintf(out, STORE_PATH_BYTES, "%.*s/%s", (int)strcspn(state, ":"), state, name);
    else
        snprintf(out, STORE_PATH_BYTES, "%s/%s", run_dir, name);
}

/* Removes files of writes that the end of an earlier daemon interrupted. */
static void remove_interrupted(const struct store_file *f) {
    static const char *const suffixes[] = {".new", ".now"};
    char path[NAME_BYTES];

    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        snprintf(path, sizeof(path), "%s%s", f->path, suffixes[i]);
        unlink(path);
    }
}

void store_file_init(struct store_file *f, uv_loop_t *loop) {
    f->loop = loop;
    f->dirty = f->writing = f->complained = f->stopped = false;
    if (*f->path) remove_interrupted(f);
    uv_timer_init(loop, &f->timer);
    f->timer.data = f;
}

void store_file_stop(struct store_file *f) {
    f->stopped = true;
    uv_close((uv_handle_t *)&f->timer, NULL);
}

/* ---- reading --------------------------------------------------------------------------------- */

int store_file_read(const struct store_file *f, char **out, size_t *bytes) {
    struct buf text;
    FILE *file = *f->path ? fopen(f->path, "re") : NULL;
    int err = 0;

    if (!file) return *f->path ? -errno : -ENOENT;
    buf_init(&text);
    while (err == 0 && !feof(file) && text.len <= f->bytes_max) {
        err = buf_reserve(&text, 65536);
        if (err == 0) text.len += fread(text.data + text.len, 1, 65536, file);
        if (ferror(file)) err = -EIO;
    }
    fclose(file);
    if (err == 0 && text.len > f->bytes_max) err = -EFBIG;
    if (err < 0) {
        buf_finish(&text);
        return err;
    }
    *out = (char *)text.data;
    *bytes = text.len;
    return 0;
}

void store_file_set_aside(const struct store_file *f, const char *why) {
    char aside[NAME_BYTES];
    int err;

    snprintf(aside, sizeof(aside), "%s.corrupt", f->path);
    err = rename(f->path, aside) < 0 ? -errno : 0;
    log_error(f->topic, "event=corrupt path=%s why=\"%s\" %s=\"%s\"", f->path, why,
              err ? "move_error" : "moved_to", err ? err_text(err) : aside);
}

void store_file_unusable(const struct store_file *f, int err, const char *why) {
    if (err == -EINVAL || err == -EFBIG)
        store_file_set_aside(f, err == -EFBIG ? "the file is too long" : why);
    else
        log_error(f->topic, "event=unreadable path=%s why=\"%s\"", f->path, err_text(err));
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Writes the whole text to disk. */
static int write_whole(const char *path, const void *text, size_t bytes) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), err = 0;

    if (fd < 0) return -errno;
    for (size_t done = 0; done < bytes && err == 0;) {
        ssize_t n = write(fd, (const char *)text + done, bytes - done);

        if (n >= 0)
            done += (size_t)n;
        else if (errno != EINTR)
            err = -errno;
    }
    if (err == 0 && fsync(fd) < 0) err = -errno;
    close(fd);
    if (err < 0) unlink(path);
    return err;
}

static void conclude(struct store_file *f, int err) {
    if (err < 0 && !f->complained)
        log_error(f->topic, "event=unwritable path=%s why=\"%s\"", f->path, err_text(err));
    f->complained = err < 0;
}

/* Renames the written file to its final name, or removes it. */
static int put_in_place(const struct store_file *f, const char *written) {
    int err = rename(written, f->path) < 0 ? -errno : 0;

    if (err < 0) unlink(written);
    return err;
}

struct writing {
    uv_work_t work;
    struct store_file *file;
    struct buf text;
    char path[NAME_BYTES]; /* path of the file being written */
    uint64_t generation;
    int err;
};

static void on_work(uv_work_t *work) { /* runs in a thread of the pool: accesses only `work` */
    struct writing *w = work->data;

    w->err = write_whole(w->path, w->text.data, w->text.len);
}

static void on_written(uv_work_t *work, int status) {
    struct writing *w = work->data;
    struct store_file *f = w->file;

    f->writing = false;
    if (w->generation != f->generation)
        unlink(w->path);
    else
        conclude(f, w->err < 0 ? w->err : put_in_place(f, w->path));
    if (f->dirty) store_file_touch(f);
    buf_finish(&w->text);
    free(w);
}

static void on_timer(uv_timer_t *t) {
    struct store_file *f = t->data;
    struct writing *w = f->writing || !*f->path ? NULL : calloc(1, sizeof(*w));

    if (!w) return;
    w->work.data = w;
    w->file = f;
    w->generation = f->generation;
    buf_init(&w->text);
    f->print(f->owner, &w->text);
    snprintf(w->path, sizeof(w->path), "%s.new", f->path);
    if (w->text.failed || uv_queue_work(f->loop, &w->work, on_work, on_written) < 0) {
        buf_finish(&w->text);
        free(w);
        return;
    }
    f->writing = true;
    f->dirty = false;
}

void store_file_touch(struct store_file *f) {
    f->dirty = true;
    if (!f->stopped && !f->writing && !uv_is_active((uv_handle_t *)&f->timer))
        uv_timer_start(&f->timer, on_timer, f->delay_ms, 0);
}

void store_file_flush(struct store_file *f) {
    char path[NAME_BYTES];
    struct buf text;
    int err;

    f->generation++;
    if ((!f->dirty && !f->writing) || !*f->path) return;
    f->dirty = false;
    snprintf(path, sizeof(path), "%s.now", f->path); /* the pool may be writing .new */
    buf_init(&text);
    f->print(f->owner, &text);
    err = text.failed ? -ENOMEM : write_whole(path, text.data, text.len);
    conclude(f, err < 0 ? err : put_in_place(f, path));
    buf_finish(&text);
}
