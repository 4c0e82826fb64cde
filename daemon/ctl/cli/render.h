/* SPDX-License-Identifier: Apache-2.0
 *
 * Records as text: tables for people, tab-separated for scripts, JSON for programs. JSON has SI
 * base units (a field x_ns is shown as x_seconds) and "schema": 1, which is promised not to break.
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

/* A list. `name` is its member in JSON. `columns` ends with a NULL heading. */
int render_list(struct cli *c, const struct query *q, const char *name,
                const struct render_column *columns);

/* The first record, a line a field. */
int render_one(struct cli *c, const struct query *q, const char *name);

/* A record's JSON object, owned by the caller (cJSON_Delete); NULL when memory is short. */
struct cJSON *render_json(enum ctl_record kind, const void *record);

/* An object with its "schema", to which others are added. */
struct cJSON *render_root(void);

/* A time for people. */
void render_duration(uint64_t ns, char *out, size_t cap);

/* Prints the object and deletes it. */
int render_print(struct cli *c, struct cJSON *root);

#endif
