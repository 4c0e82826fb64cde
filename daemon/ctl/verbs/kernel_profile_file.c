/* SPDX-License-Identifier: Apache-2.0
 *
 * Transfers kernel profiles between a file and the daemon. Tables of other tools are parsed here;
 * the daemon always gets our own format, in a memfd.
 */
#include "daemon/ctl/verbs/kernel_profile_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/render.h"
#include "daemon/ctl/files/output_file.h"
#include "daemon/ctl/verbs/kernel_profile_verbs.h"
#include "daemon/kernels/kernel_adopt.h"
#include "daemon/kernels/kernel_import.h"
#include "daemon/kernels/kernel_text.h"
#include "daemon/kernels/kernel_wire.h"

#define OURS "salus-kernels "
#define FULL "more than %u hints of tables; import parts of it"

/* The data to import. */
struct source {
    const char *path; /* name for messages */
    struct buf text;
    struct kernel_set set;
    struct kernel_import_report report;
};

/* ---- reading --------------------------------------------------------------------------------- */

static int read_file(struct cli *c, const char *path, struct source *s) {
    bool standard = strcmp(path, "-") == 0;
    FILE *f = standard ? stdin : fopen(path, "re");
    int error;

    s->path = standard ? "standard input" : path;
    if (!f) return cli_fail(c, CLI_FAILED, "%s: %s", s->path, strerror(errno));
    do {
        if (buf_reserve(&s->text, 65536) < 0) break;
        s->text.len += fread(s->text.data + s->text.len, 1, 65536, f);
    } while (!feof(f) && !ferror(f) && s->text.len <= KERNEL_IMPORT_BYTES_MAX);
    error = ferror(f) ? errno : 0;
    if (!standard) fclose(f);
    if (s->text.failed) return cli_fail(c, CLI_FAILED, "out of memory");
    if (error) return cli_fail(c, CLI_FAILED, "%s: %s", s->path, strerror(error));
    if (s->text.len > KERNEL_IMPORT_BYTES_MAX)
        return cli_fail(c, CLI_USAGE, "%s: the file is larger than %u MiB; import it in parts",
                        s->path, KERNEL_IMPORT_BYTES_MAX >> 20);
    return CLI_OK;
}

static int understand(struct cli *c, struct source *s) {
    const char *text = s->text.len ? (const char *)s->text.data : "";
    size_t n = s->text.len;
    bool ours = n >= strlen(OURS) && memcmp(text, OURS, strlen(OURS)) == 0;
    char *why = s->report.why;
    int err = ours ? kernel_text_parse(&s->set, text, n, why)
                   : kernel_import_table(&s->set, text, n, &s->report);

    if (ours) s->report.format = "profiles of Salus";
    if (err == -EINVAL) return cli_fail(c, CLI_USAGE, "%s: %s", s->path, why);
    if (err < 0) return cli_fail(c, CLI_FAILED, "%s: %s", s->path, strerror(-err));
    if (cli_option(c, "--any-device") && (err = kernel_adopt(&s->set)) < 0) {
        if (err == -ENOSPC)
            return cli_fail(c, CLI_USAGE, "%s: " FULL, s->path, KERNEL_SET_HINTS_MAX);
        return cli_fail(c, CLI_FAILED, "%s: %s", s->path, strerror(-err));
    }
    return CLI_OK;
}

/* ---- import ---------------------------------------------------------------------------------- */

static void say_imported(struct cli *c, const struct source *s, const struct ctl_known *k) {
    fprintf(c->out, "%s: %s", s->path, s->report.format);
    if (s->report.rows) fprintf(c->out, ", %u rows", s->report.rows);
    fprintf(c->out, ": profiles %" PRIu64 ", hints %" PRIu64 "\n", k->moved_profiles,
            k->moved_hints);
    fprintf(c->out, "known of '%s' with %" PRIu64 " SMs: profiles %" PRIu64 ", hints %" PRIu64 "\n",
            k->device, k->sms, k->profiles, k->hints);
}

static int send_set(struct cli *c, const struct source *s) {
    struct ctl_request r = {.verb = CTL_V_profile_import};
    struct query_fds fds = {.out = kernel_wire_text(&s->set), .in = -1};
    struct query q;
    int status = ask_gpu(c, &r);

    if (status == CLI_OK && fds.out < 0)
        status = cli_fail(c, CLI_FAILED, "%s: %s", s->path, strerror(-fds.out));
    if (status == CLI_OK) status = query_send_fds(c, &r, &fds, &q);
    fdutil_close(&fds.out);
    if (status != CLI_OK) return status;
    if (c->format == CLI_TABLE && q.count)
        say_imported(c, s, query_record(&q, 0));
    else
        status = render_one(c, &q, "known");
    query_finish(&q);
    return status;
}

int kernel_profile_file_import(struct cli *c, int argc, char **argv) {
    struct source s = {0};
    int status;

    buf_init(&s.text);
    kernel_set_init(&s.set, 0);
    status = read_file(c, argv[0], &s);
    if (status == CLI_OK) status = understand(c, &s);
    if (status == CLI_OK) status = send_set(c, &s);
    kernel_set_finish(&s.set);
    buf_finish(&s.text);
    return status;
}

/* ---- export ---------------------------------------------------------------------------------- */

/* Reads everything that the daemon sent. Returns 0 or -errno. */
static int take_text(int fd, struct buf *text) {
    ssize_t n = 1;

    while (n > 0) {
        if (buf_reserve(text, 65536) < 0) return -ENOMEM;
        n = pread(fd, text->data + text->len, 65536, (off_t)text->len);
        if (n > 0) text->len += (size_t)n;
    }
    return n < 0 ? -errno : 0;
}

static int write_text(struct cli *c, const struct buf *text, const char *path) {
    struct output_file o;
    int status;

    if (!path) {
        fwrite(text->data, 1, text->len, c->out);
        return cli_flush(c);
    }
    status = output_file_open(c, &o, path, 0666);
    if (status != CLI_OK) return status;
    status = output_file_write(c, &o, text->data, text->len);
    output_file_close(&o, status == CLI_OK);
    return status;
}

static int write_file(struct cli *c, int fd, const char *path) {
    struct buf text;
    int err, status;

    buf_init(&text);
    err = take_text(fd, &text);
    status = err < 0 ? cli_fail(c, CLI_FAILED, "cannot read the profiles that salusd sent: %s",
                                err_text(err))
                     : write_text(c, &text, path);
    buf_finish(&text);
    return status;
}

int kernel_profile_file_export(struct cli *c, int argc, char **argv) {
    const char *path = argc && strcmp(argv[0], "-") != 0 ? argv[0] : NULL;
    struct ctl_request r = {.verb = CTL_V_profile_export};
    struct query_fds fds = {-1, -1};
    struct query q;
    int status = kernel_profile_verbs_user(c, &r);

    if (status == CLI_OK) status = query_send_fds(c, &r, &fds, &q);
    if (status != CLI_OK) return status;
    if (fds.in < 0 || fdutil_check_sealed(fds.in, 1) < 0)
        status = cli_fail(c, CLI_PROTOCOL,
                          "the reply from %s contains no profiles; compare 'salusctl version' with "
                          "'salusd --version'",
                          c->socket);
    else
        status = write_file(c, fds.in, path);
    fdutil_close(&fds.in);
    if (status == CLI_OK && path && q.count) {
        const struct ctl_known *k = query_record(&q, 0);

        fprintf(c->out, "%s: profiles %" PRIu64 ", hints %" PRIu64 "\n", path, k->moved_profiles,
                k->moved_hints);
    }
    query_finish(&q);
    return status;
}
