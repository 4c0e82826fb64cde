/* SPDX-License-Identifier: Apache-2.0
 *
 * Which GPU of a cluster each waiting job goes to (Horus, sections 3 and 4; GPUColo, section VIII).
 * Pure: no clock, no system call, no thread. Time and what happened arrive with a step; what is to
 * be done comes back from it. Whoever carries it out (the placer beside Slurm, the simulator) says
 * what became of it in later steps. The same events give the same answers.
 *
 * A job that was told is in one state until it is told to be gone: waiting, running, or refused.
 * None is lost: a node that goes away, memory that was too small and a policy's own change of mind
 * make a job wait again.
 *
 * Utilisation is a part of one GPU's time in which the job alone keeps it busy, 1 being all of it
 * (the paper's percent / 100), counted in millionths. Memory is in bytes.
 *
 *     place_create(&p, &(struct place_config){.policy = "horus"}, why, sizeof(why));
 *     place_step(p, now_ns, events, count, &answer);      whenever something happens
 *     for (i = 0; i < answer.action_count; i++) ... answer.actions[i] ...
 *     place_destroy(p);
 *
 * Tell the nodes first, then what runs on them already, then what waits, in the order of
 * submission: turns are given as jobs are told. Names decide nothing; among equals the GPU that was
 * told first is taken.
 *
 * Owner: who created it. Thread: its owner's.
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
