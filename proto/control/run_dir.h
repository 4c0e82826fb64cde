/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that a salusd and its workers make in a run directory. Blocking file system calls.
 */
#ifndef PROTO_CONTROL_RUN_DIR_H
#define PROTO_CONTROL_RUN_DIR_H

#include <stddef.h>
#include <stdint.h>

#define RUN_DIR_LOCK "salusd.lock"
#define RUN_DIR_NAME_BYTES 32

/* The file that has what the scheduler of a worker that crashed went by: "worker.events" of GPU 0,
 * "worker.<n>.events" of the others. */
void run_dir_events_name(uint32_t gpu, char out[RUN_DIR_NAME_BYTES]);

/* Removes all these files from a directory that is open; whatever else lies there stays. */
void run_dir_clear(int fd);

#endif
