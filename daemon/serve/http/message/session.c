/* SPDX-License-Identifier: Apache-2.0
 *
 * Usually a request arrives with one read into the caller's scratch buffer, and nothing is copied.
 */
#include "daemon/serve/http/message/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void session_init(struct session *s) {
    *s = (struct session){.state = SESSION_IN_HEAD};
}

void session_finish(struct session *s) {
    free(s->kept);
    s->kept = NULL;
    s->bytes = 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

void *session_room(struct session *s, void *scratch, size_t *bytes) {
    if (s->state == SESSION_IN_BODY && s->body) {
        *bytes = s->head.body_bytes - s->body_bytes;
        return s->body + s->body_bytes;
    }
    *bytes = HEAD_MAX_BYTES - s->bytes;
    return s->kept ? s->kept + s->bytes : scratch;
}

void session_came(struct session *s, void *at, size_t bytes) {
    if (s->state == SESSION_IN_BODY && s->body) {
        s->body_bytes += bytes;
        return;
    }
    if (s->bytes == 0) s->at = at;
    s->bytes += bytes;
}

int session_keep(struct session *s) {
    if (s->bytes == 0) {
        session_finish(s);
        return 0;
    }
    if (!s->kept) {
        s->kept = malloc(HEAD_MAX_BYTES);
        if (!s->kept) return -ENOMEM;
    }
    if (s->at != s->kept) memmove(s->kept, s->at, s->bytes);
    s->at = s->kept;
    return 0;
}

static void use(struct session *s, size_t bytes) {
    s->at += bytes;
    s->bytes -= bytes;
}

/* ---- requests -------------------------------------------------------------------------------- */

static enum session_next over(struct session *s) {
    s->state = SESSION_OVER;
    s->bytes = s->body_bytes = 0;
    return SESSION_BAD;
}

static enum session_next next_head(struct session *s, struct refusal *why) {
    char *text;
    size_t end;
    int found;

    /* Empty lines before a request are skipped (RFC 9112, 2.2). */
    while (s->looked_at == 0 && s->bytes && (*s->at == '\r' || *s->at == '\n'))
        use(s, 1);
    text = (char *)s->at;
    found = head_end(text, s->bytes, &s->looked_at, why);
    if (found < 0) return over(s);
    if (found == 0 && s->bytes < HEAD_MAX_BYTES) return SESSION_MORE;
    if (found == 0) {
        refusal_say(why, 431,
                    "the request's head has more than %u bytes: send fewer or shorter headers",
                    HEAD_MAX_BYTES);
        return over(s);
    }
    end = s->looked_at;
    s->looked_at = 0;
    if (head_parse(&s->head, text, end, why)) return over(s);
    use(s, end);
    return SESSION_HEAD;
}

static enum session_next next_body(struct session *s) {
    size_t left = s->head.body_bytes - s->body_bytes, bytes = s->bytes < left ? s->bytes : left;

    if (s->body && bytes) memcpy(s->body + s->body_bytes, s->at, bytes);
    use(s, bytes);
    s->body_bytes += bytes;
    if (bytes < left) return SESSION_MORE;
    s->state = SESSION_ANSWERING;
    return SESSION_WHOLE;
}

enum session_next session_next(struct session *s, struct refusal *why) {
    if (s->state == SESSION_IN_HEAD) return next_head(s, why);
    if (s->state == SESSION_IN_BODY) return next_body(s);
    if (s->state == SESSION_OVER) s->bytes = 0;
    return SESSION_MORE;
}

void session_body(struct session *s, void *place) {
    s->state = SESSION_IN_BODY;
    s->body = place;
    s->body_bytes = 0;
}

void session_answered(struct session *s, bool last) {
    s->state = last ? SESSION_OVER : SESSION_IN_HEAD;
    s->body = NULL;
    s->body_bytes = 0;
}

bool session_begun(const struct session *s) {
    return s->state == SESSION_IN_BODY || (s->state == SESSION_IN_HEAD && s->looked_at > 0);
}
