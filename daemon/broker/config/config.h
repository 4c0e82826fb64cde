/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon's options: one struct, filled from config/options.def's defaults, then files, the
 * environment and flags, each overriding the previous one. All errors are collected, not only the
 * first.
 *
 * Owner: the holder of the struct, which has no pointers. Threads: one.
 */
#ifndef DAEMON_BROKER_CONFIG_CONFIG_H
#define DAEMON_BROKER_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/broker/config/config_value.h"

#define CONFIG_TEXT_BYTES 256
#define CONFIG_WHY_BYTES 320
#define CONFIG_ORIGIN_BYTES 128

/* Distance between the windows of two clients; all windows of a client fit into it. */
#define CONFIG_STRIDE_BYTES (368ull << 30)
/* End of the range for windows. Above it the kernel places mappings of its own choice, from
 * 0x7fff_ffff_ffff downwards. */
#define CONFIG_WINDOW_END 0x7e0000000000ull
#define CONFIG_WINDOW_ALIGN (2ull << 20)
#define CONFIG_MEMORY_LEAST (4ull << 20) /* least device memory */

#define CONFIG_FIELD_PATH(name) char name[CONFIG_TEXT_BYTES]
#define CONFIG_FIELD_FILE(name) char name[CONFIG_TEXT_BYTES]
#define CONFIG_FIELD_DEVICE(name) char name[CONFIG_TEXT_BYTES]
#define CONFIG_FIELD_CHOICE(name) char name[CONFIG_TEXT_BYTES]
#define CONFIG_FIELD_BYTES(name) uint64_t name
#define CONFIG_FIELD_COUNT(name) uint64_t name
#define CONFIG_FIELD_TIME(name) uint64_t name /* nanoseconds */
#define CONFIG_FIELD_PART(name) uint64_t name /* thousandths */
#define CONFIG_FIELD_ADDRESS(name) uint64_t name

/* CONFIG_O_<name>: the index of an option in the table. */
enum config_place {
#define OPTION(section, name, ...) CONFIG_O_##name,
#include "config/options.def"
#undef OPTION
    CONFIG_OPTIONS
};

/* Limits: for all users in [users], for some in [user NAME] and [group NAME]. */
#define CONFIG_LIMIT_FIRST CONFIG_O_user_connections
#define CONFIG_LIMITS (CONFIG_O_max_weight - CONFIG_LIMIT_FIRST + 1)
#define CONFIG_RULES_MAX 128
#define CONFIG_RULE_NAME_BYTES 44

struct config_rule {
    bool group;
    uint32_t id; /* uid or gid */
    char name[CONFIG_RULE_NAME_BYTES];
    uint32_t given; /* bit n: values[n] is set, for option CONFIG_LIMIT_FIRST + n */
    uint64_t values[CONFIG_LIMITS];
};

/* A setting of a section [gpu N]: the value of an option for one GPU. */
#define CONFIG_GPUS_MAX 16 /* largest number of GPUs served */
#define CONFIG_GPU_RULES_MAX 128

struct config_gpu_rule {
    uint32_t gpu;
    enum config_place option;
    char value[CONFIG_TEXT_BYTES];    /* text as given */
    char origin[CONFIG_ORIGIN_BYTES]; /* "<path>:<line>" */
};

struct config {
#define OPTION(section, name, type, choices, text, min, max, reload, help) \
    CONFIG_FIELD_##type(name);
#include "config/options.def"
#undef OPTION
    struct config_rule rules[CONFIG_RULES_MAX];
    unsigned rule_count;
    struct config_gpu_rule gpu_rules[CONFIG_GPU_RULES_MAX];
    unsigned gpu_rule_count;
    /* The source of each value, as errors name it: "<path>:<line>", "environment SALUS_..",
     * "command line"; empty: the default. */
    char origin[CONFIG_OPTIONS][CONFIG_ORIGIN_BYTES];
};

struct config_option {
    const char *section, *name;
    enum config_type type;
    const char *choices; /* CONFIG_CHOICE: "a|b" */
    const char *text;    /* the default */
    uint64_t min, max;
    bool reloadable;
    const char *help;
    size_t offset; /* offset in struct config */
};

/* Returns the table, and its length in *count. */
const struct config_option *config_options(int *count);
const struct config_option *config_find(const char *name, size_t bytes);

/* Returns the known key most similar to `name`, or NULL if none is similar. */
const char *config_nearest(const char *name);

void config_defaults(struct config *c);

/* Sets one option from text. Returns 0, or -EINVAL with the reason in `why`. */
int config_set(struct config *c, const char *name, const char *value, char *why, size_t cap);

/* Records the source of the value that was just set. */
void config_said(struct config *c, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a line about an option's value, with its source; returns 1. */
int config_complain(const struct config *c, enum config_place option, FILE *errors, const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));

/* Parses the text of a numeric option. Returns 0, or -EINVAL with the reason. */
int config_parse(const struct config_option *o, const char *value, uint64_t *out, char *why,
                 size_t cap);

/* Prints the value as text that config_set accepts. */
void config_show(const struct config *c, const struct config_option *o, char *out, size_t cap);

/* Copies the value of one option, and its source. */
void config_take(struct config *c, const struct config *from, enum config_place option);

#endif
