/* SPDX-License-Identifier: Apache-2.0
 *
 * Event files are found by the form of their names, since the number of GPUs is not known here.
 */
#include "proto/control/run_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_BEGIN "worker."
#define EVENTS_END "events"

void run_dir_events_name(uint32_t gpu, char out[RUN_DIR_NAME_BYTES]) {
    if (gpu == 0)
        snprintf(out, RUN_DIR_NAME_BYTES, EVENTS_BEGIN EVENTS_END);
    else
        snprintf(out, RUN_DIR_NAME_BYTES, EVENTS_BEGIN "%u." EVENTS_END, gpu);
}

static bool has_events(const char *name) {
    size_t digits;

    if (strncmp(name, EVENTS_BEGIN, sizeof(EVENTS_BEGIN) - 1) != 0) return false;
    name += sizeof(EVENTS_BEGIN) - 1;
    digits = strspn(name, "0123456789");
    if (digits && name[digits] == '.') name += digits + 1;
    return strcmp(name, EVENTS_END) == 0;
}

static void remove_events(int fd) {
    int own = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = own < 0 ? NULL : fdopendir(own);
    struct dirent *e;

    if (!d && own >= 0) close(own);
    while (d && (e = readdir(d)))
        if (has_events(e->d_name)) unlinkat(fd, e->d_name, 0);
    if (d) closedir(d);
}

void run_dir_clear(int fd) {
    static const char *const files[] = {"job.sock", "ctl.sock", "notify", RUN_DIR_LOCK};

    remove_events(fd);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        unlinkat(fd, files[i], 0);
}
