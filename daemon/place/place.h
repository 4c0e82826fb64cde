/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which GPU of a cluster each waiting job goes to (Horus, sections 3 and 4; GPUColo,
 * section VIII). Pure: no clock, no system call, no thread. Time and events arrive with a step,
 * which returns actions. The caller (the placer for Slurm, or the simulator) carries out the
 * actions and reports the outcome in later steps. The same events give the same answers.
 *
 * Every job has one state from its event PLACE_JOB to PLACE_GONE: waiting, running, or refused. No
 * job is lost: if a node disappears, memory was too small, or the policy changes its decision, the
 * job waits again.
 *
 * Utilisation is the fraction of one GPU's time in which the job alone keeps it busy (the paper's
 * percent / 100), counted in millionths. Memory is in bytes.
 *
 *     place_create(&p, &(struct place_config){.policy = "horus"}, why, sizeof(why));
 *     place_step(p, now_ns, events, count, &answer);      whenever something happens
 *     for (i = 0; i < answer.action_count; i++) ... answer.actions[i] ...
 *     place_destroy(p);
 *
 * Report the nodes first, then the jobs that already run, then the waiting jobs in the order of
 * submission: jobs queue in the order of their events. Names decide nothing; among equal GPUs the
 * one reported first is taken.
 *
 * Owner: the caller of place_create. Thread: its owner's.
 */
#ifndef DAEMON_PLACE_PLACE_H
#define DAEMON_PLACE_PLACE_H

#include "daemon/place/place_check.h"
#include "daemon/place/place_create.h"
#include "daemon/place/place_look.h"
#include "daemon/place/place_step.h"
#include "daemon/place/policy/place_policies.h"
#include "daemon/place/state/place_types.h"

#endif
