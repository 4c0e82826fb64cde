/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-gpu: the process that owns one device. Started by salusd, never by hand; it ends when the
 * broker does.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "daemon/worker/broker_link.h"
#include "daemon/worker/loop.h"

enum option_id {
    OPT_BROKER_FD = 1,
    OPT_DEVICE,
    OPT_DEVICE_MEMORY,
    OPT_SM_COUNT,
    OPT_THREADS,
    OPT_KERNEL_TIMEOUT,
    OPT_INFLIGHT_CAP,
    OPT_LANE_POLICY,
    OPT_KERNEL_POLICY,
};

static const struct option options[] = {
    {"broker-fd", required_argument, NULL, OPT_BROKER_FD},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"device-memory", required_argument, NULL, OPT_DEVICE_MEMORY},
    {"sm-count", required_argument, NULL, OPT_SM_COUNT},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"kernel-timeout-ns", required_argument, NULL, OPT_KERNEL_TIMEOUT},
    {"inflight-cap", required_argument, NULL, OPT_INFLIGHT_CAP},
    {"lane-policy", required_argument, NULL, OPT_LANE_POLICY},
    {"kernel-policy", required_argument, NULL, OPT_KERNEL_POLICY},
    {0},
};

static const char usage[] =
    "usage: salus-gpu --broker-fd N [--device NAME] [--device-memory BYTES] [--sm-count N]\n"
    "                 [--threads N] [--kernel-timeout-ns NS] [--inflight-cap N] [--lane-policy "
    "NAME] [--kernel-policy NAME]\n"
    "Started by salusd. 0 means the default everywhere.\n";

static bool number(const char *text, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == 0 && !errno && *out <= most) return true;
    fprintf(stderr, "salus-gpu: not a number from 0 to %llu: %s\n", (unsigned long long)most, text);
    return false;
}

static bool number32(const char *text, uint32_t *out) {
    uint64_t value = 0;
    bool ok = number(text, UINT32_MAX, &value);
    *out = (uint32_t)value;
    return ok;
}

static bool take_option(int id, const char *arg, struct worker_config *c, const char **device) {
    uint64_t fd;
    switch (id) {
    case OPT_BROKER_FD:
        if (!number(arg, 1 << 20, &fd)) return false;
        c->broker_fd = (int)fd;
        return true;
    case OPT_DEVICE: *device = arg; return true;
    case OPT_LANE_POLICY: c->choice.lane = arg; return true;
    case OPT_KERNEL_POLICY: c->choice.kernel = arg; return true;
    case OPT_DEVICE_MEMORY: return number(arg, UINT64_MAX, &c->device.memory_bytes);
    case OPT_SM_COUNT: return number32(arg, &c->device.sm_count);
    case OPT_THREADS: return number32(arg, &c->device.threads);
    case OPT_KERNEL_TIMEOUT: return number(arg, UINT64_MAX, &c->device.kernel_timeout_ns);
    case OPT_INFLIGHT_CAP: return number32(arg, &c->inflight_cap);
    default: return false;
    }
}

int main(int argc, char **argv) {
    struct worker_config config = {.broker_fd = -1};
    struct worker *w = NULL;
    const char *device = NULL;
    char why[256] = "no such device";
    int id, err = -ENODEV;

    while ((id = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(id, optarg, &config, &device)) break;
    if (id != -1 || optind != argc || config.broker_fd < 0) {
        fputs(usage, stderr);
        return 2;
    }
    log_init("info");
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* a terminal's Ctrl-C is the broker's to handle */
    config.ops = device_find(device && device[0] ? device : NULL);
    if (config.ops) err = worker_create(&w, &config, why, sizeof(why));
    if (err) {
        log_error("worker", "device=%s error=%s text=\"%s\"", device ? device : "-", err_name(err),
                  why);
        broker_link_ready(config.broker_fd, NULL, err, why);
        return 1;
    }
    log_info("worker", "device=%s name=\"%s\" memory_bytes=%llu sm_count=%u", config.ops->name,
             w->info.name, (unsigned long long)w->info.memory_bytes, w->info.sm_count);
    if (broker_link_ready(w->broker_fd, &w->info, 0, "") == 0) loop_run(w);
    log_info("worker", "the broker is gone");
    worker_destroy(w);
    return 0;
}
