/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-gpu, the process that owns one device. The broker starts it, never a user, and it ends when
 * the broker does.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "daemon/device/device_recovery.h"
#include "daemon/policy/parameters.h"
#include "daemon/worker/crash.h"
#include "daemon/worker/fixed_addresses.h"
#include "daemon/worker/front/launchlog.h"
#include "daemon/worker/front/scheduler_view.h"
#include "daemon/worker/loop.h"
#include "daemon/worker/oom.h"

enum option_id {
    OPT_BROKER_FD = 1,
    OPT_DEVICE,
    OPT_DEVICE_MEMORY,
    OPT_SM_COUNT,
    OPT_CAPABILITY,
    OPT_DRIVER,
    OPT_GPU,
    OPT_DEVICE_ID,
    OPT_COMPLETION,
    OPT_THREADS,
    OPT_KERNEL_TIMEOUT,
    OPT_CANCEL_TIMEOUT,
    OPT_SUBGRIDS,
    OPT_DETERMINISTIC,
    OPT_SUBGRID_WAVES,
    OPT_WINDOWS_BASE,
    OPT_WINDOWS_END,
    OPT_SHARE_USERS,
    OPT_CLEAR_ALWAYS,
    OPT_LANE_POLICY,
    OPT_KERNEL_POLICY,
    OPT_CONTROL_POLICY,
    OPT_SET,
    OPT_CRASH_EVENTS,
    OPT_MEMORY_FD,
    OPT_KEPT_FD,
    OPT_KEEP,
    OPT_SAVEPOINT,
};

static const struct option options[] = {
    {"broker-fd", required_argument, NULL, OPT_BROKER_FD},
    {"device", required_argument, NULL, OPT_DEVICE},
    {"device-memory", required_argument, NULL, OPT_DEVICE_MEMORY},
    {"sm-count", required_argument, NULL, OPT_SM_COUNT},
    {"capability", required_argument, NULL, OPT_CAPABILITY},
    {"driver", required_argument, NULL, OPT_DRIVER},
    {"gpu", required_argument, NULL, OPT_GPU},
    {"device-id", required_argument, NULL, OPT_DEVICE_ID},
    {"completion", required_argument, NULL, OPT_COMPLETION},
    {"threads", required_argument, NULL, OPT_THREADS},
    {"kernel-timeout-ns", required_argument, NULL, OPT_KERNEL_TIMEOUT},
    {"cancel-timeout-ns", required_argument, NULL, OPT_CANCEL_TIMEOUT},
    {"deterministic", required_argument, NULL, OPT_DETERMINISTIC},
    {"subgrids", required_argument, NULL, OPT_SUBGRIDS},
    {"subgrid-waves", required_argument, NULL, OPT_SUBGRID_WAVES},
    {"windows-base", required_argument, NULL, OPT_WINDOWS_BASE},
    {"windows-end", required_argument, NULL, OPT_WINDOWS_END},
    {"share-users", required_argument, NULL, OPT_SHARE_USERS},
    {"clear-always", required_argument, NULL, OPT_CLEAR_ALWAYS},
    {"lane-policy", required_argument, NULL, OPT_LANE_POLICY},
    {"kernel-policy", required_argument, NULL, OPT_KERNEL_POLICY},
    {"control-policy", required_argument, NULL, OPT_CONTROL_POLICY},
    {"set", required_argument, NULL, OPT_SET},
    {"crash-events", required_argument, NULL, OPT_CRASH_EVENTS},
    {"memory-fd", required_argument, NULL, OPT_MEMORY_FD},
    {"kept-fd", required_argument, NULL, OPT_KEPT_FD},
    {"keep", required_argument, NULL, OPT_KEEP},
    {"savepoint-ns", required_argument, NULL, OPT_SAVEPOINT},
    {0},
};

static const char usage[] =
    "usage: salus-gpu --broker-fd N [--device NAME] [--device-memory BYTES] [--sm-count N]\n"
    "                 [--capability N] [--driver FILE] [--gpu N] [--threads N]\n"
    "                 [--kernel-timeout-ns NS] [--cancel-timeout-ns NS] [--share-users 0|1]\n"
    "                 [--windows-base ADDRESS] [--windows-end ADDRESS]\n"
    "                 [--clear-always 0|1] [--lane-policy NAME] [--kernel-policy NAME]\n"
    "                 [--control-policy NAME]\n"
    "                 [--set FIELD=NUMBER]... [--crash-events FILE] [--memory-fd N]\n"
    "                 [--kept-fd N] [--keep 0|1] [--savepoint-ns NS] [--subgrids 0|1]\n"
    "                 [--subgrid-waves THOUSANDTHS] [--deterministic 0|1]\n"
    "Started by salusd. 0 means the default; FIELD is a parameter of daemon/policy/policies.def.\n";

static bool number(const char *text, uint64_t most, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == 0 && !errno && *out <= most) return true;
    fprintf(stderr, "salus-gpu: '%s' is not a number from 0 to %llu\n", text,
            (unsigned long long)most);
    return false;
}

static bool flag(const char *text, bool *out) {
    uint64_t value = 0;
    bool ok = number(text, 1, &value);
    *out = value;
    return ok;
}

static bool number32(const char *text, uint32_t *out) {
    uint64_t value = 0;
    bool ok = number(text, UINT32_MAX, &value);
    *out = (uint32_t)value;
    return ok;
}

/* Parses "field=number" of daemon/policy/policies.def; the scheduler checks the bounds. */
static bool take_set(const char *pair, struct policy_config *c) {
    char field[64];
    const char *equals = strchr(pair, '=');
    char *end = NULL;
    int64_t value = equals ? strtoll(equals + 1, &end, 10) : 0;
    const struct parameter *k = NULL;
    if (end && end != equals + 1 && !*end) {
        snprintf(field, sizeof(field), "%.*s", (int)(equals - pair), pair);
        k = parameters_find_field(field);
    }
    if (k && parameters_put(c, k, value)) return true;
    fprintf(stderr,
            "salus-gpu: --set: '%s' is not a parameter's name and a number (FIELD=NUMBER)\n", pair);
    return false;
}

static bool take_name(const char *name, char out[POLICY_NAME_BYTES]) {
    if (snprintf(out, POLICY_NAME_BYTES, "%s", name) < POLICY_NAME_BYTES) return true;
    fprintf(stderr, "salus-gpu: the policy's name '%s' is too long\n", name);
    return false;
}

/* `each`: as `words`, with a fence behind each operation. */
static bool take_completion(const char *arg, struct dev_config *c) {
    static const char *const names[] = {[DEV_COMPLETION_WORDS] = "words",
                                        [DEV_COMPLETION_EVENTS] = "events",
                                        [DEV_COMPLETION_AUTO] = "auto"};
    c->completion_each = strcmp(arg, "each") == 0;
    c->completion = DEV_COMPLETION_WORDS;
    if (c->completion_each) return true;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(arg, names[i]) != 0) continue;
        c->completion = (enum dev_completion)i;
        return true;
    }
    return false;
}

static bool take_option(int id, const char *arg, struct worker_config *c, const char **device) {
    uint64_t fd;
    switch (id) {
    case OPT_BROKER_FD:
        if (!number(arg, 1 << 20, &fd)) return false;
        c->broker_fd = (int)fd;
        return true;
    case OPT_MEMORY_FD:
        if (!number(arg, 1 << 20, &fd)) return false;
        c->device.memory_fd = (int)fd;
        return true;
    case OPT_KEPT_FD:
        if (!number(arg, 1 << 20, &fd)) return false;
        c->kept_fd = (int)fd;
        return true;
    case OPT_KEEP: return flag(arg, &c->keep);
    case OPT_SAVEPOINT: return number(arg, UINT64_MAX, &c->savepoint_ns);
    case OPT_DEVICE: *device = arg; return true;
    case OPT_DEVICE_MEMORY: return number(arg, UINT64_MAX, &c->device.memory_bytes);
    case OPT_SM_COUNT: return number32(arg, &c->device.sm_count);
    case OPT_CAPABILITY: return number32(arg, &c->device.capability);
    case OPT_DRIVER: c->device.driver = arg[0] ? arg : NULL; return true;
    case OPT_GPU: return number32(arg, &c->device.index);
    case OPT_DEVICE_ID: c->device.device_id = arg[0] ? arg : NULL; return true;
    case OPT_COMPLETION: return take_completion(arg, &c->device);
    case OPT_THREADS: return number32(arg, &c->device.threads);
    case OPT_KERNEL_TIMEOUT: return number(arg, UINT64_MAX, &c->device.kernel_timeout_ns);
    case OPT_CANCEL_TIMEOUT: return number(arg, UINT64_MAX, &c->device.cancel_timeout_ns);
    case OPT_DETERMINISTIC: return flag(arg, &c->device.deterministic);
    case OPT_SUBGRIDS: return flag(arg, &c->device.subgrids);
    case OPT_SUBGRID_WAVES: return number32(arg, &c->device.subgrid_waves);
    case OPT_WINDOWS_BASE: return number(arg, UINT64_MAX, &c->closed.lo);
    case OPT_WINDOWS_END: return number(arg, UINT64_MAX, &c->closed.hi);
    case OPT_SHARE_USERS: return flag(arg, &c->share_users);
    case OPT_CLEAR_ALWAYS: return flag(arg, &c->clear_always);
    case OPT_LANE_POLICY: return take_name(arg, c->policy.lane);
    case OPT_KERNEL_POLICY: return take_name(arg, c->policy.kernel);
    case OPT_CONTROL_POLICY: return take_name(arg, c->policy.control);
    case OPT_SET: return take_set(arg, &c->policy);
    case OPT_CRASH_EVENTS: crash_watch(arg); return true;
    default: return false;
    }
}

int main(int argc, char **argv) {
    struct worker_config config = {.broker_fd = -1};
    struct worker *w = NULL;
    const char *device = NULL;
    char why[256] = "salus-gpu has no such device driver; see --device";
    int id, err = -ENODEV;

    parameters_clear(&config.policy);
    while ((id = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take_option(id, optarg, &config, &device)) break;
    if (id != -1 || optind != argc || config.broker_fd < 0) {
        fputs(usage, stderr);
        return 2;
    }
    log_init("info");
    config.ops = device_find(device && device[0] ? device : NULL);
    if (config.ops && config.ops->recovery && config.ops->recovery->by_process)
        fixed_addresses_begin(argv);
    log_background();
    fdutil_raise_limits();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* the broker handles a terminal's Ctrl-C */
    oom_yield();
    err = launchlog_open();
    if (err)
        log_warn("worker",
                 "event=no-launch-log why=\"%s\" text=\"the file that SALUS_LAUNCH_LOG names "
                 "cannot be opened\"",
                 err_text(err));
    err = -ENODEV;
    if (config.ops) err = worker_create(&w, &config, why, sizeof(why));
    if (err) {
        log_error("worker", "event=failed device=%s error=%s text=\"%s\"", device ? device : "-",
                  err_name(err), why);
        broker_link_ready(config.broker_fd, NULL, NULL, NULL, err, why);
        log_finish();
        return 1;
    }
    log_info("worker", "event=opened device=%s name=\"%s\" memory_bytes=%llu sm_count=%u",
             config.ops->name, w->info.name, (unsigned long long)w->info.memory_bytes,
             w->info.sm_count);
    scheduler_view_update(w, true);
    crash_recorder(w->events_link.recorder);
    const struct broker_link_fds fds = {w->board.fd,
                                        w->ops->recovery ? w->ops->recovery->memory_fd(w->dev) : -1,
                                        w->recovery.restoring};
    if (broker_link_ready(w->link.fd, &w->info, &w->description, &fds, 0, "") == 0) loop_run(w);
    crash_recorder(NULL);
    bool lost = w->recovery.ending;
    if (!lost) log_info("worker", "event=ends why=\"the broker closed its socket\"");
    if (lost)
        loop_leave(w);
    else
        loop_finish(w);
    if (launchlog_close())
        log_warn("worker", "event=launch-log-incomplete text=\"not every launch could be written "
                           "to the file that SALUS_LAUNCH_LOG names\"");
    log_finish();
    if (lost) _exit(0); /* the driver's exit handlers do not work with a dead context */
    return 0;
}
