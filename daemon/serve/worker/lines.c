/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads once per turn of the loop, so that a program that writes without end blocks nothing else.
 */
#include "daemon/serve/worker/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log.h"

#define LAST_READS 16 /* reads after a program ended, because its last lines matter most */

static void say(struct lines *l) {
    if (l->len > 0)
        log_burst("model", LOG_INFO, "event=said model=%s pid=%d text=\"%.*s\"", l->name, l->pid,
                  (int)l->len, l->text);
    l->len = 0;
}

static void take(struct lines *l, const char *from, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        if (from[i] == '\n' || l->len == sizeof(l->text)) say(l);
        if (from[i] != '\n') l->text[l->len++] = from[i] == '"' ? '\'' : from[i] ? from[i] : '?';
    }
}

enum heard { MORE, NOTHING, END };

/* MORE: more may be available. END: the stream has ended. */
static enum heard read_once(struct lines *l) {
    char part[4096];
    ssize_t n = read(l->fd, part, sizeof(part));

    if (n > 0) take(l, part, (size_t)n);
    if (n > 0 || (n < 0 && errno == EINTR)) return MORE;
    return n < 0 && errno == EAGAIN ? NOTHING : END;
}

static void on_poll(uv_poll_t *poll, int status, int events) {
    struct lines *l = poll->data;

    if (status < 0 || read_once(l) == END) uv_poll_stop(poll);
}

int lines_open(struct lines *l, uv_loop_t *loop, int fd, const char *name) {
    int err;

    *l = (struct lines){.name = name, .fd = fd};
    err = fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : uv_poll_init(loop, &l->poll, fd);
    if (err) {
        fdutil_close(&l->fd);
        return err;
    }
    l->poll.data = l;
    return uv_poll_start(&l->poll, UV_READABLE, on_poll);
}

void lines_close(struct lines *l, uv_close_cb closed, void *data) {
    for (int i = 0; i < LAST_READS && read_once(l) == MORE; i++) {
    }
    say(l);
    uv_poll_stop(&l->poll);
    fdutil_close(&l->fd);
    l->poll.data = data;
    uv_close((uv_handle_t *)&l->poll, closed);
}
