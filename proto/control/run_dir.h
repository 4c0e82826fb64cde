/* SPDX-License-Identifier: Apache-2.0
 *
 * The files that salusd and its workers make in a run directory. Blocking file system calls.
 */
#ifndef PROTO_CONTROL_RUN_DIR_H
#define PROTO_CONTROL_RUN_DIR_H

#include <stddef.h>
#include <stdint.h>

#define RUN_DIR_LOCK "salusd.lock"
#define RUN_DIR_NAME_BYTES 32

/* Name of the file with the scheduler's inputs from a crashed worker: "worker.events" for GPU 0,
 * "worker.<n>.events" for the others. */
void run_dir_events_name(uint32_t gpu, char out[RUN_DIR_NAME_BYTES]);

/* Removes all these files from an open directory; other files stay. */
void run_dir_clear(int fd);

#endif
