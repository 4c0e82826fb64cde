/* SPDX-License-Identifier: Apache-2.0
 *
 * The findings of `salusctl doctor`: lines with a level and a remedy. Fixed capacity: findings
 * beyond FINDINGS_MAX are only counted. One thread.
 */
#ifndef DAEMON_CTL_DOCTOR_FINDINGS_H
#define DAEMON_CTL_DOCTOR_FINDINGS_H

#include <stdbool.h>

#include "daemon/ctl/cli/cli.h"

struct cJSON;

#define FINDINGS_MAX 256
#define FINDINGS_TEXT_BYTES 512

enum findings_level { FINDINGS_OK, FINDINGS_WARNING, FINDINGS_ERROR, FINDINGS_LEVELS };

struct findings {
    struct finding {
        enum findings_level level;
        const char *what; /* static, such as "socket" */
        char text[FINDINGS_TEXT_BYTES];
        char todo[FINDINGS_TEXT_BYTES]; /* empty: no remedy */
    } items[FINDINGS_MAX];
    int count;   /* number of items */
    int omitted; /* number of findings that did not fit */
    int levels[FINDINGS_LEVELS];
};

/* Adds a finding. `what` is static; `todo` may be NULL. */
void findings_add(struct findings *f, enum findings_level level, const char *what, const char *todo,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* Prints all findings in c->format. In JSON they are added to `more` (taken over; NULL: none).
 * Returns CLI_OK, or CLI_FAILED if one is an error. */
int findings_show(struct cli *c, const struct findings *f, struct cJSON *more);

#endif
