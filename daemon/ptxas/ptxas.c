/* SPDX-License-Identifier: Apache-2.0
 *
 * The program's main part. Drivers distinguish PTX from machine code by its contents, and expect a
 * NUL at its end, so the output has one. Texts that compilers look for in the answers are ptxas's
 * own.
 */
#include "daemon/ptxas/ptxas.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/err.h"
#include "daemon/device/soft/instructions/ptx_ir.h"
#include "daemon/device/soft/instructions/ptx_rules.h"
#include "daemon/device/soft/ptx/ptx_parse.h"
#include "daemon/ptxas/options.h"

#define WHY_BYTES 512
#define INPUT_MAX (1u << 30)

static int fatal(FILE *log, const char *what, const char *more) {
    fprintf(log, "ptxas fatal   : %s%s%s\n", what, *more ? ": " : "", more);
    return 1;
}

/* Release 13.0 of the toolkit has PTX 9.0, and so on. Compilers write what that version
 * supports. */
static void print_version(FILE *out) {
    fprintf(out,
            "salus-ptxas: hands PTX over to the software GPU of Salus\n"
            "Cuda compilation tools, release %d.%d, V%d.%d.0\n",
            PTX_RULES_VERSION / 10 + 4, PTX_RULES_VERSION % 10, PTX_RULES_VERSION / 10 + 4,
            PTX_RULES_VERSION % 10);
}

static void print_help(FILE *out) {
    fputs("usage: salus-ptxas [OPTION]... [-o FILE] FILE\n\n"
          "Takes ptxas' place for programs on the software GPU: its output is the PTX of its\n"
          "input. Options of ptxas that say how machine code is made have no effect.\n",
          out);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int read_file(const char *path, struct buf *b) {
    FILE *f = fopen(path, "re");
    int err = f ? 0 : -errno;
    char part[65536];
    size_t n;

    if (!f) return err;
    while ((n = fread(part, 1, sizeof(part), f)) > 0 && b->len <= INPUT_MAX)
        buf_append(b, part, n);
    if (ferror(f)) err = -errno;
    if (b->len > INPUT_MAX) err = -EFBIG;
    fclose(f);
    return err ? err : b->failed ? -ENOMEM : 0;
}

static int write_file(const char *path, const struct buf *b) {
    FILE *f = fopen(path, "we");
    int err = f ? 0 : -errno;

    if (!f) return err;
    if (fwrite(b->data, 1, b->len, f) != b->len) err = -errno;
    if (fclose(f) != 0 && !err) err = -errno;
    return err;
}

/* Writes a file under another name first and renames it, so that readers never see a part. */
static int write_whole(const char *path, const struct buf *b) {
    char part[PATH_MAX];
    int err;

    if (strncmp(path, "/dev/", 5) == 0) return write_file(path, b);
    if (snprintf(part, sizeof(part), "%s.%d", path, (int)getpid()) >= (int)sizeof(part))
        return -ENAMETOOLONG;
    err = write_file(part, b);
    if (!err && rename(part, path) < 0) err = -errno;
    if (err) unlink(part);
    return err;
}

/* ---- PTX ------------------------------------------------------------------------------------- */

/* True if the PTX's version is newer than the rules. *major and *minor are 0 if it has no
 * version. */
static bool too_new(const struct buf *b, unsigned *major, unsigned *minor) {
    const char *found = memmem(b->data, b->len, ".version", 8);

    *major = *minor = 0;
    return found && sscanf(found, ".version %3u.%3u", major, minor) == 2 &&
           *major * 10 + *minor > PTX_RULES_VERSION;
}

/* Explains an error. XLA finds the newest supported version by trying an impossible one. */
static int explain(FILE *log, const struct buf *b) {
    unsigned major, minor;
    char text[128];

    if (!too_new(b, &major, &minor)) return fatal(log, "Ptx assembly aborted due to errors", "");
    snprintf(text, sizeof(text), "Unsupported .version %u.%u; current version is '%d.%d'", major,
             minor, PTX_RULES_VERSION / 10, PTX_RULES_VERSION % 10);
    return fatal(log, text, "");
}

/* Checks the PTX; `b` ends with a NUL. */
static int check(FILE *log, const char *name, const struct buf *b) {
    struct ptx_module *m = NULL;
    char why[WHY_BYTES] = "";
    int err = ptx_parse((const char *)b->data, b->len, &m, why, sizeof(why));

    ptx_module_free(m);
    if (err == 0) return 0;
    fprintf(log, "ptxas %s, %s; error   : %s\n", name, why, err_text(err));
    return explain(log, b);
}

static int convert(FILE *log, const struct options *o, struct buf *b) {
    const char *name = o->input ? o->input : "<string>";
    int err = o->input ? read_file(o->input, b) : buf_append(b, o->text, strlen(o->text));

    if (err < 0) return fatal(log, name, strerror(-err));
    if (buf_append(b, "", 1) < 0) return fatal(log, name, strerror(ENOMEM));
    if (check(log, name, b)) return 1;
    err = write_whole(o->output, b);
    if (err < 0) return fatal(log, o->output, strerror(-err));
    if (o->verbose)
        fprintf(log, "ptxas info    : %s: PTX for the software GPU, no machine code\n", name);
    return 0;
}

int ptxas_main(FILE *out, FILE *log, char **argv) {
    struct options o;
    char why[WHY_BYTES];
    struct buf b;
    int status;

    if (options_parse(&o, argv + 1, why, sizeof(why)) < 0) return fatal(log, why, "");
    if (o.version || o.help) {
        (o.version ? print_version : print_help)(out);
        return 0;
    }
    buf_init(&b);
    status = convert(log, &o, &b);
    buf_finish(&b);
    return status;
}
