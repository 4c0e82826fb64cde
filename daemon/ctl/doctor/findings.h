/* SPDX-License-Identifier: Apache-2.0
 *
 * What `salusctl doctor` found: lines with a level, and what to do about them. Fixed room: what
 * comes after FINDINGS_MAX is only counted. One thread.
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
        const char *what; /* static: "socket" */
        char text[FINDINGS_TEXT_BYTES];
        char todo[FINDINGS_TEXT_BYTES]; /* empty: nothing */
    } items[FINDINGS_MAX];
    int count;   /* of items */
    int omitted; /* for which there was no room */
    int levels[FINDINGS_LEVELS];
};

/* `what` is static; `todo` may be NULL. */
void findings_add(struct findings *f, enum findings_level level, const char *what, const char *todo,
                  const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* All of them, as c->format says, JSON with the members that `more` has already (taken over; NULL:
 * none). CLI_OK, CLI_FAILED where there is an error among them. */
int findings_show(struct cli *c, const struct findings *f, struct cJSON *more);

#endif
