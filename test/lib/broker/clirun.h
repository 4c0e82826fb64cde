/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs salusctl in the test's own process; holds the output and exit status of the latest call.
 */
#ifndef TEST_LIB_CLIRUN_H
#define TEST_LIB_CLIRUN_H

#include <cjson/cJSON.h>

#include "daemon/ctl/cli/cli.h"

extern char *clirun_out, *clirun_err;
extern int clirun_status;

/* Runs salusctl with these words; the last one is NULL. */
void clirun(const char *const *words);
void clirun_forget(void);

/* The member `name` of the latest output, which must be JSON of schema 1. */
const cJSON *clirun_json(const char *name);
/* Members that must exist: one with text, one with a number. */
double clirun_number(const cJSON *object, const char *name);
const char *clirun_text(const cJSON *object, const char *name);

/* `run` forks and ends with the command's exit status. So this runs it in a child; returns its
 * standard output and diagnostics together, in static memory. */
char *clirun_in_child(const char *const *words, int *exit_status);

#define CTL(...) clirun((const char *const[]){__VA_ARGS__, NULL})

#define EXPECT(want, out, err)                                                         \
    do {                                                                               \
        cr_assert_eq(clirun_status, want, "status %d: %s", clirun_status, clirun_err); \
        cr_assert_str_eq(clirun_out, out, "%s", clirun_out);                           \
        cr_assert_str_eq(clirun_err, err, "%s", clirun_err);                           \
    } while (0)

#endif
