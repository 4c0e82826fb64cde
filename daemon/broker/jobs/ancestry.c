/* SPDX-License-Identifier: Apache-2.0
 *
 * A process chooses its own name, which may contain brackets and spaces. So the fields begin after
 * the last closing bracket.
 */
#include "daemon/broker/jobs/ancestry.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STAT_BYTES 512 /* the parent is among the first fields */

pid_t ancestry_parent(const char *stat) {
    const char *p = strrchr(stat, ')');
    char state;
    long parent;

    if (!p || sscanf(p + 1, " %c %ld ", &state, &parent) != 2) return 0;
    return parent > 0 && parent <= 0x7fffffff ? (pid_t)parent : 0;
}

static pid_t read_parent(pid_t pid) {
    char path[32], text[STAT_BYTES];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    return ancestry_parent(text);
}

void ancestry_read(pid_t pid, struct ancestry *out) {
    out->count = 0;
    if (pid <= 1) return;
    while (out->count < ANCESTRY_MOST && (pid = read_parent(pid)) > 1)
        out->pids[out->count++] = pid;
}

bool ancestry_has(const struct ancestry *ancestry, pid_t pid) {
    for (int i = 0; i < ancestry->count; i++)
        if (ancestry->pids[i] == pid) return true;
    return false;
}
