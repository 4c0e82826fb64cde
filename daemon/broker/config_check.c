/* SPDX-License-Identifier: Apache-2.0
 *
 * Each check tests in advance what would fail later, as the user of this process.
 */
#include "daemon/broker/config_check.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text/units.h"
#include "daemon/broker/config/config_gpus.h"
#include "daemon/broker/listen.h"
#include "daemon/broker/store/store_file.h"
#include "daemon/broker/worker/worker_path.h"

/* ---- programs and directories ---------------------------------------------------------------- */

static int check_worker(const struct config *c, FILE *errors) {
    char path[PATH_MAX + 32];
    int err = worker_path_find(c, path, sizeof(path));

    if (err == 0) return 0;
    if (!*c->worker)
        return config_complain(c, CONFIG_O_worker, errors,
                               "salus-gpu is neither in salusd's directory nor in ../libexec/salus "
                               "from there; set worker to its path");
    return config_complain(c, CONFIG_O_worker, errors, "%s: %s", path, strerror(-err));
}

/* Returns 0 when files can be created in the directory, else -errno. */
static int check_dir(const char *path) {
    struct stat st;

    if (stat(path, &st) < 0) return -errno;
    if (!S_ISDIR(st.st_mode)) return -ENOTDIR;
    return access(path, W_OK | X_OK) < 0 ? -errno : 0;
}

/* Returns the directory that contains `path`. */
static const char *above(const char *path, char out[STORE_PATH_BYTES]) {
    snprintf(out, STORE_PATH_BYTES, "%s", path);
    return dirname(out);
}

/* Checks that only its owner and root can write to the run directory, that we can, or that it can
 * be created. Returns the number of errors. */
static int check_run_dir(const struct config *c, FILE *errors) {
    const struct config_option *o = config_find("run_dir", strlen("run_dir"));
    char parent[STORE_PATH_BYTES];
    char why[STORE_PATH_BYTES + 256];
    int err = check_dir(c->run_dir);

    if (strcmp(c->run_dir, o->text) == 0) return 0;
    if (listen_check_dir(c->run_dir, why, sizeof(why)) < 0)
        return config_complain(c, CONFIG_O_run_dir, errors, "%s", why);
    if (err == 0) return 0;
    if (err != -ENOENT)
        return config_complain(c, CONFIG_O_run_dir, errors, "%s: %s", c->run_dir, strerror(-err));
    err = check_dir(above(c->run_dir, parent));
    if (err == 0) return 0;
    return config_complain(c, CONFIG_O_run_dir, errors, "%s cannot be created: %s: %s", c->run_dir,
                           above(c->run_dir, parent), strerror(-err));
}

/* Checks the file of a store. A name that does not begin with '/' is in the state directory, which
 * is not checked here. */
static int check_store(const struct config *c, enum config_place option, const char *value,
                       FILE *errors) {
    char parent[STORE_PATH_BYTES];
    struct stat st;
    int err;

    if (*value != '/') return 0;
    if (stat(value, &st) == 0 && S_ISDIR(st.st_mode))
        return config_complain(c, option, errors, "%s: %s", value, strerror(EISDIR));
    err = check_dir(above(value, parent));
    if (err == 0) return 0;
    return config_complain(c, option, errors, "%s cannot be written: %s: %s", value,
                           above(value, parent), strerror(-err));
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory of all software GPUs together, which is this machine's. */
static uint64_t soft_bytes(const struct config *c) {
    struct config own;
    uint64_t sum = 0;

    for (uint32_t gpu = 0; gpu < c->gpus; gpu++) {
        config_gpus_apply(c, gpu, &own);
        if (strcmp(own.device, "soft") == 0) sum += own.device_memory;
    }
    return sum;
}

static int check_memory(const struct config *c, const struct hostmem *m, FILE *errors) {
    uint64_t bytes = soft_bytes(c);
    char asked[24], most[24], swap[24];

    if (bytes <= hostmem_most(m)) return 0;
    units_print_bytes(bytes, asked, sizeof(asked));
    units_print_bytes(hostmem_most(m), most, sizeof(most));
    units_print_bytes(m->swap_bytes, swap, sizeof(swap));
    if (hostmem_most(m) == m->group_bytes)
        return config_complain(c, CONFIG_O_device_memory, errors,
                               "%s exceed the %s that %s allows, so the kernel would kill the "
                               "worker and all jobs; set device_memory to less",
                               asked, most, m->group_file);
    return config_complain(
        c, CONFIG_O_device_memory, errors,
        "%s exceed this machine's memory of %s, of which %s are swap; set device_memory to less",
        asked, most, swap);
}

int config_check_machine(const struct config *c, const struct hostmem *m, FILE *errors) {
    return check_run_dir(c, errors) + check_worker(c, errors) +
           check_store(c, CONFIG_O_profiles, c->profiles, errors) +
           check_store(c, CONFIG_O_kernels, c->kernels, errors) + check_memory(c, m, errors);
}
