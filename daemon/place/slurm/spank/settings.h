/* SPDX-License-Identifier: Apache-2.0
 *
 * The plugin's arguments in plugstack.conf, after its file name. Pure.
 *
 *   salusctl=PATH     path of salusctl; default /usr/bin/salusctl
 *   run_dir=DIR       run directory of the node's salusd, %n is the node's name; default salusctl's
 *   predictor=PATH    program that prints the needs of the model of --salus-model; default none
 *   gres=NAME         name of the GRES whose jobs run under Salus; default salus
 *   prolog=no         let jobs begin on a node whose salusd does not answer; default yes
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

/* The arguments stay the caller's. Returns 0, or -EINVAL with the first invalid one in *wrong. */
int settings_parse(struct settings *s, int argc, char **argv, const char **wrong);

/* The run directory on that node; NULL if none is set or the path is too long. */
const char *settings_run_dir(const struct settings *s, const char *node, char out[PATH_MAX]);

#endif
