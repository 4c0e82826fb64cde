/* SPDX-License-Identifier: Apache-2.0
 *
 * Every number is bounded before it is used.
 */
#include "daemon/place/slurm/placer/report.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARK "salus:"
#define REPORT_TIME_MOST_S 1e12 /* exact in ms */

static int bad(char *why, const char *what) {
    snprintf(why, REPORT_WHY_BYTES, "%s", what);
    return -EINVAL;
}

/* Reads a whole number up to `most`. */
static bool number(const cJSON *object, const char *key, double most, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > most)
        return false;
    *out = item->valuedouble;
    return floor(*out) == *out;
}

static int take_gpu(struct report *r, const cJSON *gpu, char *why) {
    const cJSON *state = cJSON_GetObjectItemCaseSensitive(gpu, "state");
    double id, memory;

    if (!number(gpu, "id", REPORT_GPUS_MOST - 1, &id))
        return bad(why, "a GPU in the report has no number");
    if (id != r->gpu_count) return bad(why, "the report's GPUs are not numbered consecutively");
    if (!number(gpu, "memory_bytes", (double)REPORT_MEMORY_MOST, &memory))
        return bad(why, "the report gives no size for a GPU's memory");
    if (!cJSON_IsString(state)) return bad(why, "a GPU in the report has no state");
    r->gpus[r->gpu_count++] = (struct report_gpu){
        .memory_bytes = (uint64_t)memory,
        .ready = strcmp(state->valuestring, "ready") == 0 && memory > 0,
    };
    return 0;
}

static bool take_who(const cJSON *object, double *id, double *uid) {
    return number(object, "id", UINT32_MAX, id) && number(object, "uid", UINT32_MAX, uid);
}

/* Adds up entries of the same Slurm job. An invalid entry is skipped, because a user's program
 * names it; the node's other jobs and its GPUs stay valid. */
static void take_job(struct report *r, const cJSON *job) {
    double id, uid, demand, persistent, ephemeral;
    struct report_job *j;

    if (!take_who(job, &id, &uid) || !number(job, "demand", 1000, &demand) ||
        !number(job, "persistent", (double)REPORT_MEMORY_MOST, &persistent) ||
        !number(job, "ephemeral", (double)REPORT_MEMORY_MOST, &ephemeral))
        return;
    j = (struct report_job *)report_find_job(r, (uint32_t)id, (uint32_t)uid);
    if (!j && r->job_count == REPORT_JOBS_MOST) return;
    if (!j) j = &r->jobs[r->job_count++];
    j->id = (uint32_t)id;
    j->uid = (uint32_t)uid;
    j->demand_milli += (uint32_t)demand;
    if (j->demand_milli > 1000) j->demand_milli = 1000;
    j->persistent_bytes += (uint64_t)persistent;
    j->ephemeral_bytes += (uint64_t)ephemeral;
}

static int take_jobs(struct report *r, const cJSON *all, char *why) {
    const cJSON *jobs = cJSON_GetObjectItemCaseSensitive(all, "jobs"), *job;

    if (!jobs) return 0;
    if (!cJSON_IsArray(jobs)) return bad(why, "the report's jobs are not a list");
    cJSON_ArrayForEach(job, jobs) {
        take_job(r, job);
    }
    return 0;
}

/* Merges several failures or processes of one job: the latest time and the largest need. */
static void take_lack(struct report *r, const cJSON *lack) {
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(lack, "at");
    double id, uid, needed;
    struct report_lack *l;

    if (!take_who(lack, &id, &uid) || !number(lack, "needed", (double)UINT64_MAX, &needed) ||
        !cJSON_IsNumber(at) || !(at->valuedouble >= 0) || at->valuedouble > REPORT_TIME_MOST_S)
        return;
    l = (struct report_lack *)report_find_lack(r, (uint32_t)id, (uint32_t)uid);
    if (!l && r->lack_count == REPORT_LACKS_MOST) return;
    if (!l) l = &r->lacks[r->lack_count++];
    if (needed > 2.0 * REPORT_MEMORY_MOST) needed = 2.0 * REPORT_MEMORY_MOST;
    l->id = (uint32_t)id;
    l->uid = (uint32_t)uid;
    if ((uint64_t)needed > l->needed_bytes) l->needed_bytes = (uint64_t)needed;
    if ((int64_t)(at->valuedouble * 1000) > l->at_ms) l->at_ms = (int64_t)(at->valuedouble * 1000);
}

static int take_lacks(struct report *r, const cJSON *all, char *why) {
    const cJSON *lacks = cJSON_GetObjectItemCaseSensitive(all, "lacked"), *lack;

    if (!lacks) return 0;
    if (!cJSON_IsArray(lacks))
        return bad(why, "the report's jobs that lacked memory are not a list");
    cJSON_ArrayForEach(lack, lacks) {
        take_lack(r, lack);
    }
    return 0;
}

static int take_gpus(struct report *r, const cJSON *all, char *why) {
    const cJSON *gpus = cJSON_GetObjectItemCaseSensitive(all, "gpus"), *gpu;
    double schema;
    int err;

    if (!number(all, "schema", 1, &schema) || schema != 1)
        return bad(why, "the report's schema is not 1");
    if (!cJSON_IsArray(gpus)) return bad(why, "the report has no list of GPUs");
    cJSON_ArrayForEach(gpu, gpus) {
        if (r->gpu_count == REPORT_GPUS_MOST) return bad(why, "the report has too many GPUs");
        err = take_gpu(r, gpu, why);
        if (err < 0) return err;
    }
    return r->gpu_count ? 0 : bad(why, "the report has no GPU");
}

const struct report_job *report_find_job(const struct report *r, uint32_t id, uint32_t uid) {
    for (uint32_t i = 0; i < r->job_count; i++)
        if (r->jobs[i].id == id && r->jobs[i].uid == uid) return &r->jobs[i];
    return NULL;
}

const struct report_lack *report_find_lack(const struct report *r, uint32_t id, uint32_t uid) {
    for (uint32_t i = 0; i < r->lack_count; i++)
        if (r->lacks[i].id == id && r->lacks[i].uid == uid) return &r->lacks[i];
    return NULL;
}

int report_parse(struct report *r, const char *text, char *why) {
    size_t clock;
    cJSON *all;
    int err;

    *r = (struct report){0};
    if (!text || strncmp(text, MARK, strlen(MARK)) != 0) return -ENOENT;
    text += strlen(MARK);
    clock = strspn(text, "0123456789.");
    if (clock == 0 || text[clock] != ' ') return bad(why, "the report has no time");
    if (strnlen(text, REPORT_BYTES_MOST) == REPORT_BYTES_MOST)
        return bad(why, "the report is too long");
    all = cJSON_ParseWithOpts(text + clock + 1, NULL, 1);
    if (!all) return bad(why, "the report is not JSON");
    err = take_gpus(r, all, why);
    if (err == 0) err = take_jobs(r, all, why);
    if (err == 0) err = take_lacks(r, all, why);
    cJSON_Delete(all);
    return err;
}
