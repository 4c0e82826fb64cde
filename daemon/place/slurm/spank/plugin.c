/* SPDX-License-Identifier: Apache-2.0
 *
 * The SPANK plugin: options of sbatch, salloc and srun, and the environment of tasks. These
 * programs, slurmd's prolog helper and slurmstepd load it, and each process has one job. The
 * interface passes no context between functions, so that their common state is static.
 *
 * A task that cannot be served is rejected in task_init: an error in an earlier function counts as
 * the node's, and Slurm then drains the node.
 */
#include <inttypes.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/place/slurm/spank/child.h"
#include "daemon/place/slurm/spank/daemon.h"
#include "daemon/place/slurm/spank/settings.h"
#include "daemon/place/slurm/spank/spank_job.h"

/* cppcheck-suppress unknownMacro */
SPANK_PLUGIN(salus, 1)

#define MODEL_OPTION ASK_OPTION_COUNT
#define ASK_VARIABLE "SALUS_ASK" /* in the job's environment, for its node */
#define CONTROL_VARIABLE "SALUS" /* in the job's control environment, for job_submit.lua */
#define SUBMITTED_VARIABLE "SLURM_SPANK_" CONTROL_VARIABLE /* the same variable as tasks see it */

static struct {
    struct settings settings;
    const char *values[ASK_OPTION_COUNT + 1]; /* as given; NULL: not given */
    struct job job; /* the job as slurmctld describes it; on a node only */
    bool asked;     /* slurmctld answered */
} plugin;

/* ---- options --------------------------------------------------------------------------------- */

static int check_model(const char *path) {
    struct stat st;

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0) return 0;
    slurm_error("salus: --salus-model: the file '%.200s' cannot be read", path);
    return -1;
}

/* Stores one option. On the node, the model was checked at submission. */
static int take_option(int option, const char *value, int remote) {
    char why[ASK_WHY_BYTES];
    struct ask scratch = {0};

    if (option < 0 || option > MODEL_OPTION || !value) return -1;
    if (option == MODEL_OPTION) {
        if (!remote && check_model(value) < 0) return -1;
    } else if (ask_set(&scratch, (enum ask_option)option, value, why) < 0) {
        slurm_error("salus: %s", why);
        return -1;
    }
    plugin.values[option] = strdup(value);
    return plugin.values[option] ? 0 : -1;
}

static bool any_option(void) {
    for (int i = 0; i <= MODEL_OPTION; i++)
        if (plugin.values[i]) return true;
    return false;
}

static struct spank_option options[] = {
#define X(option, argument, name, sentence) \
    {option, argument, sentence, 1, ASK_##name, take_option},
    ASK_OPTIONS(X)
#undef X
        {"salus-model", "FILE",
         "ONNX file of the job's model, from which its memory and use of the GPU are predicted", 1,
         MODEL_OPTION, take_option},
};

/* Applies the given options over the values in `a`. */
static int apply_options(struct ask *a, char *why) {
    for (int i = 0; i < ASK_OPTION_COUNT; i++)
        if (plugin.values[i] && ask_set(a, (enum ask_option)i, plugin.values[i], why) < 0)
            return -1;
    return ask_check(a, why) < 0 ? -1 : 0;
}

int slurm_spank_init(spank_t sp, int argc, char **argv) {
    const char *wrong;

    if (settings_parse(&plugin.settings, argc, argv, &wrong) < 0) {
        slurm_error("salus: plugstack.conf: the setting '%s' is unknown; see docs/slurm.md", wrong);
        return -1;
    }
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS) return -1;
    return 0;
}

/* ---- on submission, as the user -------------------------------------------------------------- */

/* Asks the predictor what a job with this model needs; values that it does not give stay
 * unknown. */
static void predict(struct ask *a) {
    char *argv[] = {(char *)plugin.settings.predictor, (char *)plugin.values[MODEL_OPTION], NULL};
    struct child_output out;

    if (!plugin.settings.predictor || !plugin.values[MODEL_OPTION]) return;
    if (child_run(argv, environ, CHILD_LIMIT_MS, &out) < 0) {
        slurm_info("salus: %s cannot be run; the job is placed without a prediction", argv[0]);
        return;
    }
    out.out[strcspn(out.out, "\n")] = '\0';
    if (out.status || ask_parse(a, out.out) < 0) {
        *a = (struct ask){0};
        slurm_info("salus: the needs of %s cannot be predicted: %s", argv[1],
                   *out.err ? out.err : "the predictor's output cannot be read");
    }
    child_finish(&out);
}

/* Memory given by the user replaces all predicted memory. */
static int ask_of_user(struct ask *a, char *why) {
    predict(a);
    if (plugin.values[ASK_MEM]) a->persistent_bytes = 0;
    return apply_options(a, why);
}

static int say_where_submitted(spank_t sp) {
    char why[ASK_WHY_BYTES], text[ASK_TEXT_BYTES];
    struct ask a = {0};

    if (!any_option()) return 0;
    if (ask_of_user(&a, why) < 0) {
        slurm_error("salus: %s", why);
        return -1;
    }
    ask_print(&a, text, sizeof(text));
    setenv(ASK_VARIABLE, text, 1);
    return spank_job_control_setenv(sp, CONTROL_VARIABLE, text, 1) == ESPANK_SUCCESS ? 0 : -1;
}

int slurm_spank_init_post_opt(spank_t sp, int argc, char **argv) {
    spank_context_t where = spank_context();

    if (where == S_CTX_LOCAL || where == S_CTX_ALLOCATOR) return say_where_submitted(sp);
    return 0;
}

/* ---- on the node ----------------------------------------------------------------------------- */

/* Runs as the user, once per step; an error here would count as the node's. */
int slurm_spank_user_init(spank_t sp, int argc, char **argv) {
    uint32_t id;

    if (spank_context() != S_CTX_REMOTE || spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS)
        return 0;
    plugin.asked = spank_job_ask(id, plugin.settings.gres, &plugin.job) == 0;
    if (!plugin.asked) slurm_info("salus: slurmctld does not answer about job %" PRIu32, id);
    return 0;
}

static void set_variable(void *self, const char *name, const char *value) {
    spank_setenv(self, name, value, 1);
}

static bool is_batch(spank_t sp) {
    uint32_t step;

    return spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS && step == SLURM_BATCH_SCRIPT;
}

/* Tests whether a step's memory options equal those of its job, which srun finds in its
 * environment. */
static bool memory_is_the_jobs(spank_t sp) {
    char text[ASK_TEXT_BYTES], why[ASK_WHY_BYTES];
    struct ask job, step = {0};

    return spank_getenv(sp, SUBMITTED_VARIABLE, text, sizeof(text)) == ESPANK_SUCCESS &&
           ask_parse(&job, text) == 0 && apply_options(&step, why) == 0 &&
           step.mem_bytes == job.mem_bytes && step.persistent_bytes == job.persistent_bytes;
}

/* The options of sbatch also apply to the batch script and to steps without their own. If the job
 * was queued again with more memory, the note has the newer value and these options are dropped. */
static void forget_old_memory(spank_t sp) {
    if (!plugin.asked || !plugin.job.noted || !plugin.job.note.more) return;
    if (is_batch(sp) || memory_is_the_jobs(sp))
        plugin.values[ASK_MEM] = plugin.values[ASK_PERSISTENT] = NULL;
}

/* Takes the placer's note, else the request in the job's environment, and applies this step's own
 * options over it. */
static int ask_of_task(spank_t sp, struct ask *a, char *why) {
    char text[ASK_TEXT_BYTES];

    if (plugin.asked && plugin.job.noted)
        *a = plugin.job.note.ask;
    else if (spank_getenv(sp, ASK_VARIABLE, text, sizeof(text)) != ESPANK_SUCCESS ||
             ask_parse(a, text) < 0)
        *a = (struct ask){0};
    forget_old_memory(sp);
    if (plugin.values[ASK_MEM]) a->persistent_bytes = 0;
    return apply_options(a, why);
}

/* The GPU that the placer chose, if it chose this node. */
static uint32_t gpu_of_task(const char *node) {
    const struct note *n = &plugin.job.note;

    return plugin.asked && plugin.job.noted && strcmp(n->node, node) == 0 ? n->gpu : NOTE_ANY_GPU;
}

static int serve_task(spank_t sp, const char *node, char *why) {
    struct ask a;
    struct daemon_task task = {.node = node, .ask = &a, .self = sp, .set = set_variable};
    char name[32], **env = NULL;
    uint32_t id = 0;

    if (ask_of_task(sp, &a, why) < 0) return -1;
    spank_get_item(sp, S_JOB_ID, &id);
    spank_get_item(sp, S_JOB_ENV, &env);
    snprintf(name, sizeof(name), "slurm-%" PRIu32, id);
    task.name = name;
    task.gpu = gpu_of_task(node);
    task.env = env;
    return daemon_environment(&plugin.settings, &task, why) < 0 ? -1 : 0;
}

/* Queues the job again if salusd answered the prolog and is gone now: the job has done nothing yet.
 * A job rejected for another reason would be rejected again. */
static void give_back(spank_t sp, const char *node) {
    char why[DAEMON_WHY_BYTES];
    uint32_t id;

    if (!plugin.settings.prolog || !is_batch(sp)) return;
    if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS) return;
    if (daemon_answers(&plugin.settings, node, why) == 0) return;
    if (spank_job_requeue(id) == 0) slurm_spank_log("salus: job %" PRIu32 " is queued again", id);
}

/* Tests for an option or the GRES. If slurmctld does not answer, the request that job_submit.lua
 * stored in the job decides. */
static bool is_ours(spank_t sp) {
    char text[ASK_TEXT_BYTES];

    if (any_option()) return true;
    if (plugin.asked) return plugin.job.shares;
    return spank_getenv(sp, ASK_VARIABLE, text, sizeof(text)) == ESPANK_SUCCESS;
}

int slurm_spank_task_init(spank_t sp, int argc, char **argv) {
    char why[DAEMON_WHY_BYTES], node[NOTE_NODE_BYTES] = "";

    if (spank_context() != S_CTX_REMOTE || !is_ours(sp)) return 0;
    spank_getenv(sp, "SLURMD_NODENAME", node, sizeof(node));
    if (serve_task(sp, node, why) == 0) return 0;
    slurm_spank_log("salus: %s: the task was not started: %s", node, why);
    give_back(sp, node);
    return -1;
}

/* Runs as slurmd's user in a process that calls no other function of the plugin. It keeps a job
 * from starting where salusd does not answer: Slurm queues the job again, and the node gets no
 * other job until it is resumed (by config/slurm/salus-report). */
int slurm_spank_job_prolog(spank_t sp, int argc, char **argv) {
    char why[DAEMON_WHY_BYTES];
    const char *node = getenv("SLURMD_NODENAME"), *wrong;
    uint32_t id;

    /* Slurmd has logged the error. */
    if (settings_parse(&plugin.settings, argc, argv, &wrong) < 0) return 0;
    if (!plugin.settings.prolog || !node) return 0;
    if (spank_get_item(sp, S_JOB_ID, &id) != ESPANK_SUCCESS) return 0;
    if (spank_job_ask(id, plugin.settings.gres, &plugin.job) < 0 || !plugin.job.shares) return 0;
    if (daemon_answers(&plugin.settings, node, why) == 0) return 0;
    slurm_error("salus: job %" PRIu32 " is queued again: %s", id, why);
    spank_job_drain_node(node, why);
    return -1;
}
