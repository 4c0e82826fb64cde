/* SPDX-License-Identifier: Apache-2.0
 *
 * Formats records: tables for people, tab-separated text for scripts, JSON for programs. JSON uses
 * SI base units (a field x_ns is shown as x_seconds) and has "schema": 1, which is kept compatible.
 */
#ifndef DAEMON_CTL_CLI_RENDER_H
#define DAEMON_CTL_CLI_RENDER_H

#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/cli/query.h"

#define RENDER_SCHEMA 1

/* A column of a table: a field's name under a heading. */
struct render_column {
    const char *heading, *field;
};

/* Prints a list. `name` is its member in JSON. `columns` ends with a NULL heading. */
int render_list(struct cli *c, const struct query *q, const char *name,
                const struct render_column *columns);

/* Prints the first record, one field per line. */
int render_one(struct cli *c, const struct query *q, const char *name);

/* Returns a record's JSON object, owned by the caller (cJSON_Delete); NULL: out of memory. */
struct cJSON *render_json(enum ctl_record kind, const void *record);

/* Returns an object with only "schema", for others to be added to. */
struct cJSON *render_root(void);

/* Prints a duration for people. */
void render_duration(uint64_t ns, char *out, size_t cap);

/* Prints the object and deletes it. */
int render_print(struct cli *c, struct cJSON *root);

#endif
