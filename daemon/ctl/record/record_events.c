/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl record --events`: the worker writes its scheduler's events and actions into our file as
 * long as we renew the lease; the last line marks the file as complete.
 */
#include "daemon/ctl/record/record_events.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/cli.h"
#include "daemon/ctl/cli/interrupt.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/files/output_file.h"

#define LEASE_NS 10000000000u /* recording ends after this time without a renewal */
#define RENEW_NS 2000000000u
#define LOOK_MS 100
#define END_MS 10000 /* time that the worker may take for the last line */

static const char last_line[] = "\nend\n";

static int tell(struct cli *c, uint64_t for_ns, int fd) {
    struct ctl_request r = {.verb = CTL_V_events_record};
    struct query_fds fds = {.out = fd, .in = -1};
    struct query q;
    int status = ask_gpu(c, &r);

    if (status != CLI_OK) return status;
    ctl_msg_put(&r, CTL_A_for_ns, (int64_t)for_ns);
    status = query_send_fds(c, &r, &fds, &q);
    fdutil_close(&fds.in);
    if (status == CLI_OK) query_finish(&q);
    return status;
}

static bool is_over(int fd) {
    char end[sizeof(last_line) - 1];
    struct stat st;

    if (fstat(fd, &st) < 0 || st.st_size < (off_t)sizeof(end)) return false;
    return pread(fd, end, sizeof(end), st.st_size - (off_t)sizeof(end)) == sizeof(end) &&
           memcmp(end, last_line, sizeof(end)) == 0;
}

int record_events_begin(struct cli *c, struct record_lease *l, int fd) {
    *l = (struct record_lease){.fd = fd, .renewed_ns = fdutil_now_ns()};
    return tell(c, LEASE_NS, fd);
}

int record_events_renew(struct cli *c, struct record_lease *l) {
    uint64_t now = fdutil_now_ns();

    if (now - l->renewed_ns < RENEW_NS) return CLI_OK;
    l->renewed_ns = now;
    return tell(c, LEASE_NS, -1);
}

int record_events_end(struct cli *c, const struct record_lease *l, const char *what) {
    int status = is_over(l->fd) ? CLI_OK : tell(c, 0, -1);

    for (int ms = 0; status == CLI_OK && !is_over(l->fd) && ms < END_MS; ms++)
        usleep(1000); /* even after an interrupt */
    if (status == CLI_OK && !is_over(l->fd))
        status = cli_fail(c, CLI_FAILED,
                          "%s: the recording is incomplete: the worker ended, another recording "
                          "began, or the file could not be written; record again",
                          what);
    return status;
}

/* Waits until the time is over, or the worker has ended the recording. */
static int wait_for_end(struct cli *c, uint64_t for_ns, struct record_lease *l) {
    uint64_t begin = fdutil_now_ns();
    int status = CLI_OK;

    while (status == CLI_OK && !interrupt_came() && !is_over(l->fd)) {
        if (for_ns && fdutil_now_ns() - begin >= for_ns) break;
        status = record_events_renew(c, l);
        if (status == CLI_OK) interrupt_sleep_ms(LOOK_MS);
    }
    return status;
}

/* Records from the first line to the last, which marks the file as complete. */
static int record_into(struct cli *c, const struct output_file *o, uint64_t for_ns,
                       struct stat *st) {
    struct record_lease lease;
    int status;

    if (fstat(o->fd, st) < 0 || !S_ISREG(st->st_mode))
        return cli_fail(c, CLI_USAGE,
                        "%s: events can be recorded only into a regular file; name one", o->path);
    status = output_file_write(c, o, "", 0);
    if (status != CLI_OK) return status;
    interrupt_catch();
    status = record_events_begin(c, &lease, o->fd);
    if (status == CLI_OK) status = wait_for_end(c, for_ns, &lease);
    if (status == CLI_OK) status = record_events_end(c, &lease, o->path);
    return status;
}

int record_events(struct cli *c, uint64_t for_ns, const char *path) {
    struct output_file o;
    struct stat st = {0};
    int status = output_file_open(c, &o, path, 0600);
    bool empty;

    if (status != CLI_OK) return status;
    status = record_into(c, &o, for_ns, &st);
    empty = fstat(o.fd, &st) == 0 && st.st_size == 0;
    output_file_close(&o, !empty); /* an incomplete file may still be useful */
    if (status == CLI_OK)
        fprintf(c->err,
                "salusctl: recorded %lld bytes of events in %s; repeat them with 'salus-sim "
                "replay', see salus-sim(1)\n",
                (long long)st.st_size, path);
    return status;
}
