/* SPDX-License-Identifier: Apache-2.0
 *
 * The program gets the socket as descriptor 3, an empty input, and a pipe of ours for output and
 * errors.
 */
#include "daemon/serve/worker/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "proto/serve/serve_wire.h"

#define SOCKET_FD 3
#define SETTING SERVE_WIRE_ENVIRONMENT "=3"

/* The environment with our setting added. The caller frees the array but not its strings. NULL if
 * memory is short. */
static char **make_env(char *const *env) {
    const size_t name = sizeof(SERVE_WIRE_ENVIRONMENT); /* includes the "=" */
    size_t count = 0, kept = 0;
    char **all;

    while (env[count])
        count++;
    all = calloc(count + 2, sizeof(*all));
    if (!all) return NULL;
    for (size_t i = 0; i < count; i++)
        if (strncmp(env[i], SETTING, name) != 0) all[kept++] = env[i];
    all[kept] = (char *)SETTING;
    return all;
}

static void close_all(int *fds, int count) {
    for (int i = 0; i < count; i++)
        fdutil_close(&fds[i]);
}

/* Creates a pair of sockets, the first of which is ours, and a pipe. */
static int make_ends(int fds[4]) {
    for (int i = 0; i < 4; i++)
        fds[i] = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0 ||
        pipe2(fds + 2, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
        int err = -errno;
        close_all(fds, 4);
        return err;
    }
    return 0;
}

int process_start(uv_loop_t *loop, uv_process_t *process, char *const *argv, char *const *env,
                  uv_exit_cb on_exit, int *sock, int *words, bool *open) {
    uv_stdio_container_t stdio[SOCKET_FD + 1] = {{.flags = UV_IGNORE}};
    uv_process_options_t options = {.exit_cb = on_exit,
                                    .file = argv[0],
                                    .args = (char **)argv,
                                    /* A new session, and so a new process group. */
                                    .flags = UV_PROCESS_DETACHED,
                                    .stdio_count = SOCKET_FD + 1,
                                    .stdio = stdio};
    int fds[4], err = make_ends(fds);

    *open = false;
    if (err) return err;
    options.env = make_env(env ? env : environ);
    if (!options.env) err = -ENOMEM;
    for (int i = 1; i <= SOCKET_FD; i++) {
        stdio[i].flags = UV_INHERIT_FD;
        stdio[i].data.fd = i == SOCKET_FD ? fds[1] : fds[3];
    }
    *open = !err;
    if (!err) err = uv_spawn(loop, process, &options); /* libuv's errors are -errno */
    if (*open && !err) fdutil_lower_limits(process->pid);
    free(options.env);
    close_all(fds + 1, 1);
    close_all(fds + 3, 1);
    if (err) close_all(fds, 4);
    *sock = fds[0];
    *words = fds[2];
    return err;
}

void process_signal(int pid, int signal) {
    if (pid > 0) kill(-pid, signal);
}
