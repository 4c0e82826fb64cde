/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker gets the socket as descriptor 3, no input, and our standard error; inherited device
 * memory as descriptor 4, and a list of its parts as 5. The parts keep the numbers that they have
 * here, so that no further descriptors are needed.
 */
#include "daemon/broker/worker/spawn.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "common/text/word_list.h"
#include "daemon/broker/worker/worker_path.h"
#include "daemon/policy/parameters.h"
#include "proto/control/run_dir.h"
#include "proto/cuda/capability.h"

#define WORKER_FD "3"
#define MEMORY_FD "4"
#define KEPT_FD "5"
#define STDIO_FIRST 6 /* number of the fixed descriptors, 0 to 5 */
#define NUMBER_BYTES 64
#define PART_MOST (16ull << 30) /* largest part of a software GPU without a configured size */
#define ARGS_MAX (64 + 2 * PARAMETERS)

/* The command line, and the texts of its numbers. */
struct command {
    char *args[ARGS_MAX + 1];
    char numbers[ARGS_MAX][NUMBER_BYTES];
    struct word_list words; /* words in `args` */
    int number_count;
    bool cut; /* a number did not fit */
};

static void add_text(struct command *c, const char *option, const char *value) {
    word_list_add(&c->words, option);
    word_list_add(&c->words, value);
}

/* Returns a buffer for the text of a number; NULL: there is none. */
static char *take_number(struct command *c) {
    c->cut |= c->number_count == ARGS_MAX;
    return c->cut ? NULL : c->numbers[c->number_count++];
}

static void add_number(struct command *c, const char *option, uint64_t value) {
    char *text = take_number(c);

    if (!text) return;
    snprintf(text, NUMBER_BYTES, "%" PRIu64, value);
    add_text(c, option, text);
}

static void add_set(struct command *c, const char *field, int64_t value) {
    char *text = take_number(c);

    if (!text) return;
    c->cut |= snprintf(text, NUMBER_BYTES, "%s=%" PRId64, field, value) >= NUMBER_BYTES;
    add_text(c, "--set", text);
}

static void add_policy(struct command *c, const struct policy_config *policy) {
    const struct parameter *k;

    add_text(c, "--lane-policy", policy->lane);
    add_text(c, "--kernel-policy", policy->kernel);
    add_text(c, "--control-policy", policy->control);
    for (int i = 0; (k = parameters_at(i)); i++)
        add_set(c, k->field, parameters_get(policy, k));
}

/* Several software GPUs share the memory that one would take: half of the machine's. */
static uint64_t part_of_memory(const struct config *c) {
    struct hostmem m;
    uint64_t part;

    if (c->gpus < 2 || strcmp(c->device, "soft") != 0) return 0;
    hostmem_read(&m, "");
    part = hostmem_ram(&m) == HOSTMEM_NONE ? PART_MOST : hostmem_ram(&m) / 2 / c->gpus;
    return (part < PART_MOST ? part : PART_MOST) & ~(CONFIG_WINDOW_ALIGN - 1);
}

/* The size that the first worker chose stays: jobs must not see another GPU after a restart. */
static uint64_t memory_of(const struct spawn *what) {
    if (what->config->device_memory) return what->config->device_memory;
    return what->device_memory_bytes ? what->device_memory_bytes : part_of_memory(what->config);
}

static void crash_path(const struct spawn *what, char *out, size_t cap) {
    char name[RUN_DIR_NAME_BYTES];

    run_dir_events_name(what->launch.gpu, name);
    snprintf(out, cap, "%s/%s", what->config->run_dir, name);
}

/* End of the windows that jobs will have: the first slots, with a margin for occupied ones. */
static uint64_t windows_end(const struct config *c) {
    uint64_t end = c->window_base + 2ull * c->max_jobs * CONFIG_STRIDE_BYTES;
    return end < CONFIG_WINDOW_END ? end : CONFIG_WINDOW_END;
}

/* ---- the worker's descriptors --------------------------------------------------------------- */

static uv_stdio_container_t pass(int fd) {
    if (fd < 0) return (uv_stdio_container_t){.flags = UV_IGNORE};
    return (uv_stdio_container_t){.flags = UV_INHERIT_FD, .data.fd = fd};
}

static int count_stdio(const struct spawn *what) {
    int fd, count = STDIO_FIRST;

    if (what->launch.kept_fd < 0) return count;
    for (uint32_t id = 0; (fd = held_memory_next(what->keeping, &id)) >= 0; id++)
        if (fd >= count) count = fd + 1;
    return count;
}

/* Builds the descriptor table, for the caller to free; NULL: out of memory. */
static uv_stdio_container_t *make_stdio(const struct spawn *what, int count) {
    uv_stdio_container_t *stdio = calloc((size_t)count, sizeof(*stdio)); /* all UV_IGNORE */
    int fd;

    if (!stdio) return NULL;
    stdio[1] = stdio[2] = pass(STDERR_FILENO);
    stdio[3] = pass(what->launch.fd);
    stdio[4] = pass(what->launch.memory_fd);
    stdio[5] = pass(what->launch.kept_fd);
    if (what->launch.kept_fd < 0) return stdio;
    for (uint32_t id = 0; (fd = held_memory_next(what->keeping, &id)) >= 0; id++)
        stdio[fd] = pass(fd);
    return stdio;
}

/* ---- the process ----------------------------------------------------------------------------- */

static void add_options(struct command *command, const struct spawn *what, const char *crash) {
    const struct config *c = what->config;

    add_text(command, "--broker-fd", WORKER_FD);
    if (what->launch.memory_fd >= 0) add_text(command, "--memory-fd", MEMORY_FD);
    if (what->launch.kept_fd >= 0) add_text(command, "--kept-fd", KEPT_FD);
    add_number(command, "--keep", strcmp(c->recovery, "yes") == 0);
    add_text(command, "--device", c->device);
    add_number(command, "--gpu", what->launch.gpu);
    add_number(command, "--device-memory", memory_of(what));
    add_number(command, "--sm-count", c->sm_count);
    add_number(command, "--capability", capability_parse(c->capability));
    if (c->driver[0]) add_text(command, "--driver", c->driver);
    if (c->device_id[0]) add_text(command, "--device-id", c->device_id);
    add_text(command, "--completion", c->completion);
    add_number(command, "--threads", c->device_threads);
    add_number(command, "--cancel-timeout-ns", c->cancel_timeout);
    add_number(command, "--kernel-timeout-ns", c->kernel_timeout);
    add_number(command, "--deterministic", strcmp(c->deterministic, "yes") == 0);
    add_number(command, "--subgrids", strcmp(c->subgrids, "yes") == 0);
    add_number(command, "--subgrid-waves", c->subgrid_waves);
    add_number(command, "--windows-base", c->window_base);
    add_number(command, "--windows-end", windows_end(c));
    add_number(command, "--share-users", strcmp(c->share_users, "yes") == 0);
    add_number(command, "--savepoint-ns", c->savepoint_every);
    add_number(command, "--clear-always", strcmp(c->clear, "always") == 0);
    add_policy(command, what->policy);
    add_text(command, "--crash-events", crash);
}

/* Builds the command line. Returns -E2BIG if it does not fit. */
static int make_command(struct command *c, const struct spawn *what, const char *path,
                        const char *crash) {
    c->words = WORD_LIST_OF(c->args);
    c->number_count = 0;
    c->cut = false;
    word_list_add(&c->words, path);
    add_options(c, what, crash);
    return c->cut ? -E2BIG : word_list_check(&c->words);
}

int spawn_worker(const struct spawn *what, uv_loop_t *loop, uv_process_t *process, bool *open) {
    char path[PATH_MAX + 32], crash[PATH_MAX + 32];
    struct command command;
    uv_process_options_t options = {
        .file = path, .args = command.args, .exit_cb = what->on_exit, .cwd = "/"};
    int err = worker_path_find(what->config, path, sizeof(path));

    *open = false;
    crash_path(what, crash, sizeof(crash));
    if (err == 0) err = make_command(&command, what, path, crash);
    if (err < 0) return err;
    options.stdio_count = count_stdio(what);
    options.stdio = make_stdio(what, options.stdio_count);
    if (!options.stdio) return -ENOMEM;
    *open = true;                            /* even a failed start leaves a handle to close */
    err = uv_spawn(loop, process, &options); /* libuv's errors are -errno */
    free(options.stdio);
    return err;
}
