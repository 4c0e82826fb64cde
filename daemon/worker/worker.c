/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens the device and the scheduler, and closes both in the reverse order.
 */
#include "daemon/worker/worker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/sched/core/life.h"
#include "daemon/worker/kernel/launch_profile.h"
#include "daemon/worker/link/describe.h"
#include "daemon/worker/link/surviving_memory.h"

#define WORKER_FIRST_EVENTS 256u

static int open_batch(struct event_batch *b) {
    b->cap = WORKER_FIRST_EVENTS;
    b->items = malloc(b->cap * sizeof(*b->items));
    return b->items ? 0 : -ENOMEM;
}

static int open_epoll(struct worker *w) {
    w->loop.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (w->loop.epoll_fd < 0) return -errno;
    int fds[] = {w->link.fd, w->ops->event_fd(w->dev), w->loads.background_tasks.event_fd,
                 w->shared.keepers.epoll_fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
        if (epoll_ctl(w->loop.epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0) return -errno;
    }
    return 0;
}

/* The software GPU's threads compete with spinning clients for the cores. */
static uint32_t device_threads(const struct worker_config *config, uint32_t cores) {
    if (strcmp(config->ops->name, "soft") != 0) return 0;
    return config->device.threads ? config->device.threads : cores;
}

/* Opens the device with an earlier worker's memory, if that has the right kind and size, else with
 * new memory. */
static int open_device(struct worker *w, const struct worker_config *c, char *why,
                       size_t why_bytes) {
    struct dev_config config = c->device;
    struct surviving_memory kept;
    surviving_memory_read(&kept, c->kept_fd);
    config.kept = kept.parts;
    config.kept_count = kept.count;
    config.keep = c->keep ? broker_link_keep : NULL;
    config.keep_arg = &w->link;
    config.why = why;
    config.why_bytes = why_bytes;
    bool given = config.memory_fd > 0 || kept.count;
    int err = w->ops->open(&w->dev, &config);
    w->recovery.restoring = given && !err;
    surviving_memory_finish(&kept); /* the device has duplicates of its own */
    if (config.memory_fd > 0) fdutil_close(&config.memory_fd);
    config.kept = NULL;
    config.memory_fd = config.kept_count = 0;
    return given && err ? w->ops->open(&w->dev, &config) : err;
}

int worker_create(struct worker **out, const struct worker_config *config, char *why,
                  size_t why_bytes) {
    struct worker *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);
    *out = NULL;
    if (!w) return -ENOMEM;
    memset(w, 0, sizeof(*w));
    w->ops = config->ops;
    w->link.fd = config->broker_fd;
    w->loop.epoll_fd = w->board.fd = w->loads.background_tasks.event_fd =
        w->shared.keepers.epoll_fd = -1;
    w->loop.cores = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    w->loop.dev_threads = device_threads(config, w->loop.cores);
    list_init(&w->clients.list);
    list_init(&w->work.active);
    list_init(&w->work.faulted);
    list_init(&w->boundaries.passing);
    list_init(&w->work.clearing);
    list_init(&w->work.parts);
    list_init(&w->work.asking);
    list_init(&w->boundaries.keeping);
    list_init(&w->work.saving);
    list_init(&w->moves.list);
    w->moves.most = w->moves.left = WORKER_GRANULES;
    list_init(&w->work.watching);
    list_init(&w->shared.segments.exported);
    list_init(&w->signals.list);
    list_init(&w->loads.back);
    w->isolation.waiting_last = &w->isolation.waiting;
    w->isolation.held_last = &w->isolation.held;
    w->config.clear_always = config->clear_always || config->device.deterministic;
    w->config.savepoint_ns = config->savepoint_ns;
    w->config.closed = config->closed;
    if (getrandom(&w->config.seed, sizeof(w->config.seed), 0) != sizeof(w->config.seed))
        w->config.seed = fdutil_now_ns(); /* a weaker seed, but the worker can still serve */

    char policy_why[160] = "the worker cannot create the scheduler";
    char device_why[256] = "";
    const char *step = "the worker cannot open the device";
    struct sched_config sched = {.policy = config->policy, .share_users = config->share_users};
    int err = open_device(w, config, device_why, sizeof(device_why));
    if (err) goto fail;
    /* drops the reason of a failed first try with an earlier worker's memory */
    device_why[0] = '\0';
    w->ops->info(w->dev, &w->info);
    err = describe_device(w->ops, w->dev, &w->info, &w->description, &step);
    if (err) goto fail;
    sched.capacity_bytes = w->info.memory_bytes;
    sched.chunk_bytes = w->info.granularity_bytes;
    sched.sms = w->info.sm_count;
    sched.share_sms = w->info.share_sms;
    _Static_assert(DEV_WAVES == SCHED_WAVES, "both are a slice's time that none has");
    sched.slice_ns = w->ops->shares ? w->info.slice_ns : 0;
    sched.one_user = w->info.open_memory && !config->share_users;
    step = policy_why;
    err = sched_create(&w->scheduling.sched, &sched, policy_why, sizeof(policy_why));
    if (err) goto fail;
    step = "the worker cannot create the event recorder";
    err = recorder_create(&w->events_link.recorder, &sched, 0);
    if (err) goto fail;
    w->events_link.sched = w->scheduling.sched;
    step = "the worker cannot create the buffers of scheduler events";
    err = open_batch(&w->scheduling.events);
    if (!err) err = open_batch(&w->scheduling.taken);
    if (err) goto fail;
    step = "the worker cannot create the table of kernel profiles";
    err = launch_profile_create(&w->profiles.kernels, &w->info, w->config.seed);
    if (err) goto fail;
    step = "the worker cannot start its threads";
    err = background_start(&w->loads.background_tasks);
    if (err) goto fail;
    step = "the worker cannot create its event loop";
    err = keepers_open(&w->shared.keepers);
    if (!err) err = open_epoll(w);
    if (err) goto fail;
    step = "the worker cannot create its status page";
    err = board_create(&w->board);
    if (err) goto fail;
    w->now_ns = w->loop.idle_since_ns = fdutil_now_ns();
    *out = w;
    return 0;
fail:
    if (device_why[0])
        snprintf(why, why_bytes, "%s", device_why);
    else
        snprintf(why, why_bytes, "%s: %s", step, err_text(err));
    w->link.fd = -1;
    worker_destroy(w);
    return err;
}

void worker_destroy(struct worker *w) {
    if (!w) return;
    if (w->loads.background_tasks.event_fd >= 0) background_stop(&w->loads.background_tasks);
    recorder_destroy(w->events_link.recorder);
    sched_destroy(w->scheduling.sched);
    kernels_destroy(w->profiles.kernels);
    lane_table_finish(&w->lanes);
    keepers_finish(&w->shared.keepers);
    board_destroy(&w->board);
    if (w->dev) w->ops->close(w->dev);
    fdutil_close(&w->loop.epoll_fd);
    fdutil_close(&w->link.fd);
    free(w->scheduling.events.items);
    free(w->scheduling.taken.items);
    free(w);
}
