/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job of Slurm asks of Salus: the options of sbatch, as a text that travels with the job,
 * and as what `salusctl environment` is told. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_ASK_H
#define DAEMON_PLACE_SLURM_ASK_H

#include <stddef.h>
#include <stdint.h>

#define ASK_WHY_BYTES 320
#define ASK_TEXT_BYTES 512
#define ASK_WORD_BYTES 24

enum ask_class { ASK_TRAINING, ASK_SERVICE, ASK_BEST_EFFORT };

struct ask {
    enum ask_class class;
    uint64_t mem_bytes;        /* device memory in all; 0: not known */
    uint64_t persistent_bytes; /* of it, over iterations; where it was not given, mem_bytes */
    uint64_t slo_ns;           /* 0: none; of services only */
    uint32_t util_milli;       /* of a GPU's time, 1 to 1000; 0: not known */
};

/* X(option of sbatch, its argument in help, NAME, sentence) */
#define ASK_OPTIONS(X)                                                              \
    X("salus-class", "service|training|be", CLASS,                                  \
      "what kind of job it is: a service goes first, best effort (be) last")        \
    X("salus-mem", "SIZE", MEM, "device memory that it needs in all, such as 4GiB") \
    X("salus-persistent", "SIZE", PERSISTENT,                                       \
      "how much of that it keeps over iterations; the rest is shared in turns")     \
    X("salus-slo", "TIME", SLO,                                                     \
      "of a service: that its requests shall take no longer, such as 20ms")         \
    X("salus-util", "PERCENT", UTIL, "of a GPU's time, that it keeps busy alone, such as 40%")

enum ask_option {
#define X(option, argument, name, sentence) ASK_##name,
    ASK_OPTIONS(X)
#undef X
        ASK_OPTION_COUNT
};

/* One option as it was typed: 0, or -EINVAL with what is wrong in `why` (ASK_WHY_BYTES). */
int ask_set(struct ask *a, enum ask_option option, const char *value, char *why);

/* All that was set, against each other; the same results. Fills in what follows from the rest. */
int ask_check(struct ask *a, char *why);

/* "class=be mem=4294967296 ...", in at most ASK_TEXT_BYTES; and back: 0, or -EINVAL, and then
 * `a` asks nothing. Words that are not known are passed over, so that a newer plugin may say more.
 */
void ask_print(const struct ask *a, char *out, size_t cap);
int ask_parse(struct ask *a, const char *text);

/* What `salusctl environment` is told, beside its words for the daemon: pairs of option and value.
 */
#define ASK_WORDS_MOST 8
struct ask_words {
    char text[ASK_WORDS_MOST][ASK_WORD_BYTES];
    int count;
};
void ask_words(const struct ask *a, struct ask_words *out);

const char *ask_class_name(enum ask_class class);

#endif
