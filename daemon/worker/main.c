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
#include "daemon/worker/launchlog.h"
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
    OPT_EXCLUSIVE,
    OPT_SWAP,
    OPT_MAX_LANES,
    OPT_OVERTAKES,
    OPT_LEASE_FACTOR,
    OPT_LEASE,
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
    {"exclusive", required_argument, NULL, OPT_EXCLUSIVE},
    {"swap", required_argument, NULL, OPT_SWAP},
    {"max-lanes", required_argument, NULL, OPT_MAX_LANES},
    {"overtakes", required_argument, NULL, OPT_OVERTAKES},
    {"lease-factor", required_argument, NULL, OPT_LEASE_FACTOR},
    {"lease-ns", required_argument, NULL, OPT_LEASE},
    {0},
};

static const char usage[] =
    "usage: salus-gpu --broker-fd N [--device NAME] [--device-memory BYTES] [--sm-count N]\n"
    "                 [--threads N] [--kernel-timeout-ns NS] [--inflight-cap N]\n"
    "                 [--lane-policy NAME] [--kernel-policy NAME] [--exclusive 0|1] [--swap 0|1]\n"
    "                 [--max-lanes N] [--overtakes N] [--lease-factor N] [--lease-ns NS]\n"
    "Started by salusd. 0 means the default everywhere, but for --exclusive and --swap: there it "
    "is\n"
    "-1, and 0 means no.\n";

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

static bool choice3(const char *text, int *out) {
    uint64_t value = 1;
    if (strcmp(text, "-1") == 0) {
        *out = -1;
        return true;
    }
    bool ok = number(text, 1, &value);
    *out = (int)value;
    return ok;
}

static bool take_choice(int id, const char *arg, struct sched_choice *c) {
    switch (id) {
    case OPT_LANE_POLICY: c->lane = arg; return true;
    case OPT_KERNEL_POLICY: c->kernel = arg; return true;
    case OPT_EXCLUSIVE: return choice3(arg, &c->exclusive);
    case OPT_SWAP: return choice3(arg, &c->swap);
    case OPT_MAX_LANES: return number32(arg, &c->max_lanes);
    case OPT_OVERTAKES: return number32(arg, &c->overtakes);
    case OPT_LEASE_FACTOR: return number32(arg, &c->lease_factor);
    case OPT_LEASE: return number(arg, UINT64_MAX, &c->lease_ns);
    default: return false;
    }
}

static bool take_option(int id, const char *arg, struct worker_config *c, const char **device) {
    uint64_t fd;
    switch (id) {
    case OPT_BROKER_FD:
        if (!number(arg, 1 << 20, &fd)) return false;
        c->broker_fd = (int)fd;
        return true;
    case OPT_DEVICE: *device = arg; return true;
    case OPT_DEVICE_MEMORY: return number(arg, UINT64_MAX, &c->device.memory_bytes);
    case OPT_SM_COUNT: return number32(arg, &c->device.sm_count);
    case OPT_THREADS: return number32(arg, &c->device.threads);
    case OPT_KERNEL_TIMEOUT: return number(arg, UINT64_MAX, &c->device.kernel_timeout_ns);
    case OPT_INFLIGHT_CAP: return number32(arg, &c->choice.inflight_cap);
    default: return take_choice(id, arg, &c->choice);
    }
}

int main(int argc, char **argv) {
    struct worker_config config = {
        .broker_fd = -1,
        .choice = {.exclusive = -1, .swap = -1, .priorities = -1, .profiles = -1, .sizes = -1}};
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
    err = launchlog_open();
    if (err) log_warn("worker", "SALUS_LAUNCH_LOG: %s", err_text(err));
    err = -ENODEV;
    config.ops = device_find(device && device[0] ? device : NULL);
    if (config.ops) err = worker_create(&w, &config, why, sizeof(why));
    if (err) {
        log_error("worker", "device=%s error=%s text=\"%s\"", device ? device : "-", err_name(err),
                  why);
        broker_link_ready(config.broker_fd, NULL, -1, err, why);
        return 1;
    }
    log_info("worker", "device=%s name=\"%s\" memory_bytes=%llu sm_count=%u", config.ops->name,
             w->info.name, (unsigned long long)w->info.memory_bytes, w->info.sm_count);
    if (broker_link_ready(w->broker_fd, &w->info, w->board_fd, 0, "") == 0) loop_run(w);
    log_info("worker", "the broker is gone");
    worker_destroy(w);
    if (launchlog_close()) log_warn("worker", "the launch log is not complete");
    return 0;
}
