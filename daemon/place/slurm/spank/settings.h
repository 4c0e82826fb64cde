/* SPDX-License-Identifier: Apache-2.0
 *
 * What plugstack.conf says to the plugin, behind its file's name. Pure.
 *
 *   salusctl=PATH     of salusctl; /usr/bin/salusctl
 *   run_dir=DIR       of the node's salusd, %n being the node's name; salusctl's own default
 *   predictor=PATH    is given --salus-model's file and prints what such a job needs; none
 *   gres=NAME         of the GRES whose jobs run under Salus; salus
 *   prolog=no         a job is not held back from a node whose salusd does not answer
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_SPANK_SETTINGS_H
#define DAEMON_PLACE_SLURM_SPANK_SETTINGS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct settings {
    const char *salusctl, *run_dir, *predictor, *gres;
    bool prolog;
};

/* The words stay the caller's. 0, or -EINVAL with *wrong the first that is none of these. */
int settings_parse(struct settings *s, int argc, char **argv, const char **wrong);

/* The run directory on that node; NULL: there is none, or it is too long. */
const char *settings_run_dir(const struct settings *s, const char *node, char out[PATH_MAX]);

#endif
