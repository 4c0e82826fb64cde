/* SPDX-License-Identifier: Apache-2.0
 *
 * The ends of sockets, watched only for a hang-up.
 */
#include "daemon/worker/segments/keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/worker/segments/segment.h"

#define KEEPER_ROOM (1u << 18) /* limit where the process may have any number of descriptors */
#define KEEPER_BATCH 64

/* Memory that a user's descriptors keep. */
struct keeper_user {
    struct list link;
    uint32_t uid, count;
    uint64_t bytes; /* bytes of segments, each counted once */
};

struct keeper {
    struct list link;
    struct keeper_user *user;
    struct segment *segment;
    int fd;
};

static uint32_t find_room(void) {
    struct rlimit limit = {0};
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 0;
    return limit.rlim_cur / 2 < KEEPER_ROOM ? (uint32_t)(limit.rlim_cur / 2) : KEEPER_ROOM;
}

int keepers_open(struct keepers *k) {
    list_init(&k->list);
    list_init(&k->users);
    k->count = 0;
    k->room = find_room();
    k->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    return k->epoll_fd < 0 ? -errno : 0;
}

/* ---- users ----------------------------------------------------------------------------------- */

static struct keeper_user *find_user(const struct keepers *k, uint32_t uid) {
    struct list *pos;
    list_each(pos, &k->users) {
        struct keeper_user *u = list_entry(pos, struct keeper_user, link);
        if (u->uid == uid) return u;
    }
    return NULL;
}

static struct keeper_user *enter_user(struct keepers *k, uint32_t uid) {
    struct keeper_user *u = find_user(k, uid);
    if (u) return u;
    u = calloc(1, sizeof(*u));
    if (!u) return NULL;
    u->uid = uid;
    list_append(&k->users, &u->link);
    return u;
}

static void leave_user(struct keeper_user *u) {
    if (u->count) return;
    list_remove(&u->link);
    free(u);
}

static uint64_t bytes_of(const struct segment *s) {
    return s->count * s->granule;
}

/* A segment that the user does not keep yet adds its bytes. */
static int check_bounds(const struct keepers *k, const struct keeper_user *u,
                        const struct segment *s, uint64_t most) {
    uint64_t more = s->keepers ? 0 : bytes_of(s);
    if (more && (more > most || u->bytes > most - more)) return ERR_NO_MEMORY;
    return u->count < k->room - k->count ? 0 : -EMFILE;
}

/* ---- keepers --------------------------------------------------------------------------------- */

static int watch(struct keepers *k, struct keeper *kept) {
    struct epoll_event event = {.events = 0, .data.ptr = kept}; /* EPOLLHUP is always reported */
    return epoll_ctl(k->epoll_fd, EPOLL_CTL_ADD, kept->fd, &event) < 0 ? -errno : 0;
}

static int add(struct keepers *k, struct keeper_user *u, struct segment *s, int fd) {
    struct keeper *kept = malloc(sizeof(*kept));
    if (!kept) return -ENOMEM;
    *kept = (struct keeper){.user = u, .segment = s, .fd = fd};
    int err = watch(k, kept);
    if (err) {
        free(kept);
        return err;
    }
    list_append(&k->list, &kept->link);
    k->count++;
    u->count++;
    if (!s->keepers) u->bytes += bytes_of(s);
    segment_keep(s);
    return 0;
}

int keepers_take(struct keepers *k, struct segment *s, int fd, uint64_t most) {
    struct keeper_user *u = enter_user(k, s->uid);
    int err = u ? check_bounds(k, u, s, most) : -ENOMEM;
    if (!err) err = add(k, u, s, fd);
    if (u) leave_user(u);
    if (err) fdutil_close(&fd);
    return err;
}

static void drop(struct keepers *k, struct keeper *kept) {
    struct keeper_user *u = kept->user;
    list_remove(&kept->link);
    /* Closing alone does not remove it: the client may have this end open too. */
    epoll_ctl(k->epoll_fd, EPOLL_CTL_DEL, kept->fd, NULL);
    fdutil_close(&kept->fd);
    if (kept->segment->keepers == 1) u->bytes -= bytes_of(kept->segment);
    segment_unkeep(kept->segment);
    free(kept);
    k->count--;
    u->count--;
    leave_user(u);
}

unsigned keepers_look(struct keepers *k) {
    struct epoll_event events[KEEPER_BATCH];
    int n = epoll_wait(k->epoll_fd, events, KEEPER_BATCH, 0);
    for (int i = 0; i < n; i++)
        drop(k, events[i].data.ptr);
    return n > 0 ? (unsigned)n : 0;
}

void keepers_finish(struct keepers *k) {
    struct list *pos, *tmp;
    if (k->epoll_fd < 0) return;
    list_each_safe(pos, tmp, &k->list) drop(k, list_entry(pos, struct keeper, link));
    fdutil_close(&k->epoll_fd);
}
