/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts a scheduler's decisions from a recording (daemon/sched/record/notation.h) of all its
 * steps: a line for each decision, with the time since the first step. Two recordings of the same
 * jobs give the same text if their scheduler decided the same, in however many steps.
 *
 *   TIME admit J@LANE, run J, spill J, restore J
 *   TIME boundary J
 *   TIME turn J           the job has the turn from now on
 *   TIME end J WHY        the job has lost the turn: at a boundary, because it left, because it
 *                         was idle, or because its lease ended while it was not idle
 */
#ifndef TEST_LIB_DECISIONS_H
#define TEST_LIB_DECISIONS_H

#include <stdio.h>

#define DECISIONS_JOBS 8u /* most jobs of a recording; they are numbered from 1 */

/* Returns text that the caller frees. Ends the test when the input is not a recording or the
 * scheduler breaks an invariant. */
char *decisions_read(FILE *recording);

#endif
