/* SPDX-License-Identifier: Apache-2.0
 *
 * Nodes and jobs as tables: the meaning of rows, and the errors for invalid rows.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/place/jobset_file.h"

#define MIB ((uint64_t)1 << 20)

static struct jobset set;
static struct buf errors;
static struct jobset_rules rules;

static void begin(void) {
    jobset_init(&set);
    buf_init(&errors);
    rules = (struct jobset_rules){0};
}

static void over(void) {
    jobset_finish(&set);
    buf_finish(&errors);
}

TestSuite(jobset_file, .init = begin, .fini = over);

static int jobs(const char *text) {
    return jobset_parse_jobs(&set, &rules, text, strlen(text), &errors);
}

static int nodes(const char *text) {
    return jobset_parse_nodes(&set, text, strlen(text), &errors);
}

static void refused(int err, const char *sentence) {
    cr_expect_eq(err, -EINVAL, "%s", sentence);
    cr_expect(strstr(buf_str(&errors), sentence), "'%s' is not '%s'", buf_str(&errors), sentence);
    buf_clear(&errors);
    jobset_finish(&set);
}

/* ---- our own table --------------------------------------------------------------------------- */

Test(jobset_file, a_job_has_what_its_row_says) {
    cr_assert_eq(jobs("length_s,arrival_s,tasks,gpus,util,persistent_mib,ephemeral_mib,told_util,"
                      "told_persistent_mib,kind,slo,cpu_milli,memory_mib,gpu_spec\n"
                      "600,5,2,4,0.5,100,300,0.6,90,service,1.2,4000,2048,T4|V100M16\n"
                      "60.5,1.25,,,,,,,,,,,,\n"),
                 0, "%s", buf_str(&errors));
    cr_assert_eq(set.job_count, 2);
    const struct jobset_job *a = &set.jobs[0], *b = &set.jobs[1];
    cr_expect_float_eq(a->arrival_s, 1.25, 1e-12, "by arrival");
    cr_expect_float_eq(a->length_s, 60.5, 1e-12);
    cr_expect(a->tasks == 1 && a->gpus == 1 && a->is.util == 1 && !a->service && a->slo == 1);
    cr_expect(a->labels == 0 && a->told.util == 0 && a->cpu_milli == 0);
    cr_expect(b->tasks == 2 && b->gpus == 4 && b->is.util == 0.5 && b->service && b->slo == 1.2);
    cr_expect_eq(b->is.persistent_bytes, 100 * MIB);
    cr_expect_eq(b->is.ephemeral_bytes, 300 * MIB);
    cr_expect_eq(b->told.persistent_bytes, 90 * MIB);
    cr_expect_float_eq(b->told.util, 0.6, 1e-12);
    cr_expect(b->cpu_milli == 4000 && b->memory_bytes == 2048 * MIB);
    cr_expect_eq(b->labels, jobset_label(&set, "T4") | jobset_label(&set, "V100M16"));
    cr_expect_eq(set.model_count, 2);
}

Test(jobset_file, services_without_an_slo_have_the_preset) {
    rules.slo = 1.7;
    cr_assert_eq(jobs("arrival_s,length_s,kind\n0,1,service\n"), 0);
    cr_expect_float_eq(set.jobs[0].slo, 1.7, 1e-12);
}

Test(jobset_file, faults_are_named_with_their_lines) {
    refused(jobs(""), "1: the table has no heading: its first line must name the columns");
    refused(jobs("arrival_s,util\n"), "1: the table has no column length_s");
    refused(jobs("arrival_s,length_s\n1,2\n1,x\n"), "3: length_s: 'x' is not a number from 1e-06");
    refused(jobs("arrival_s,length_s\n1,\n"), "2: length_s is missing");
    refused(jobs("arrival_s,length_s\n,1\n"), "2: arrival_s is missing");
    refused(jobs("arrival_s,length_s\n-1,5\n"), "2: arrival_s: '-1'");
    refused(jobs("arrival_s,length_s\nnan,5\n"), "2: arrival_s: 'nan'");
    refused(jobs("arrival_s,length_s\n1,inf\n"), "2: length_s: 'inf'");
    refused(jobs("arrival_s,length_s\n1,0x10\n"), "2: length_s: '0x10'");
    refused(jobs("arrival_s,length_s\n1,1e99\n"), "2: length_s: '1e99'");
    refused(jobs("arrival_s,length_s,util\n1,1,1.5\n"),
            "2: util: '1.5' is not a number from 0.001");
    refused(jobs("arrival_s,length_s,gpus\n1,1,1.5\n"), "2: gpus: '1.5' is not a whole number");
    refused(jobs("arrival_s,length_s,gpus\n1,1,65\n"), "2: gpus: '65'");
    refused(jobs("arrival_s,length_s,gpus,tasks\n1,1,64,2000\n"),
            "2: the job needs more than 65536 GPUs");
    refused(jobs("arrival_s,length_s,kind\n1,1,batch\n"), "2: kind: 'batch' is neither");
    refused(jobs("arrival_s,length_s\n1,\"2\n"), "2: ");
}

Test(jobset_file, many_faults_are_not_all_listed) {
    struct buf text;
    buf_init(&text);
    buf_printf(&text, "arrival_s,length_s\n");
    for (int i = 0; i < 1000; i++)
        buf_printf(&text, "x,y\n");
    cr_expect_eq(jobs(buf_str(&text)), -EINVAL);
    uint32_t lines = 0;
    for (const char *s = buf_str(&errors); (s = strchr(s, '\n')); s++)
        lines++;
    cr_expect_eq(lines, 20);
    buf_finish(&text);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

Test(jobset_file, nodes_have_gpus_in_a_row) {
    cr_assert_eq(nodes("sn,cpu_milli,memory_mib,gpu,model\na,64000,262144,2,P100\nb,1000,1,0,\n"
                       "c,96000,393216,8,V100M32\n"),
                 0, "%s", buf_str(&errors));
    cr_assert_eq(set.node_count, 2, "one without a GPU is none");
    cr_expect_eq(set.gpu_count, 10);
    cr_expect_eq(set.nodes[1].first_gpu, 2);
    cr_expect_eq(set.nodes[0].gpu_bytes, 16384 * MIB);
    cr_expect_eq(set.nodes[1].gpu_bytes, 32768 * MIB);
    cr_expect_eq(set.nodes[1].memory_bytes, 393216 * MIB);
    cr_expect_eq(set.nodes[1].labels, jobset_label(&set, "V100M32"));
}

Test(jobset_file, a_nodes_memory_may_be_said) {
    cr_assert_eq(nodes("gpu,model,gpu_mib\n4,mine,1000\n2,T4,15000\n"), 0);
    cr_expect_eq(set.nodes[0].gpu_bytes, 1000 * MIB);
    cr_expect(set.nodes[0].cpu_milli == JOBSET_MILLI_MOST, "what is not said is enough");
    cr_expect(set.nodes[0].memory_bytes == JOBSET_BYTES_MOST);
    cr_expect_eq(set.nodes[1].gpu_bytes, 15000 * MIB);
    jobset_finish(&set);
    refused(nodes("gpu,model\n4,mine\n"), "2: gpu_mib is missing, and the memory of a 'mine'");
    refused(nodes("gpu,model\n65,T4\n"), "2: gpu: '65'");
    refused(nodes("model\nT4\n"), "1: the table has no column gpu");
}

Test(jobset_file, there_are_so_many_models_and_no_more) {
    struct buf text;
    buf_init(&text);
    buf_printf(&text, "gpu,model,gpu_mib\n");
    for (uint32_t i = 0; i <= JOBSET_MODELS; i++)
        buf_printf(&text, "1,m%u,1000\n", i);
    refused(nodes(buf_str(&text)),
            "66: model: the name 'm64' is too long, or the table has too many models");
    buf_finish(&text);
}

/* ---- Alibaba's ------------------------------------------------------------------------------- */

static const char pods[] =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p0,12000,16384,1,460,,LS,Running,1000,1500,1100\n"
    "p1,12000,16384,0,0,,LS,Running,0,100,0\n"
    "p2,1000,1024,8,1000,T4,BE,Failed,1050,1100,\n";

Test(jobset_file, a_pod_is_a_job) {
    cr_assert_eq(jobs(pods), 0, "%s", buf_str(&errors));
    cr_assert_eq(set.job_count, 2);
    cr_expect_eq(set.passed_over, 1);
    const struct jobset_job *a = &set.jobs[0], *b = &set.jobs[1];
    cr_expect_float_eq(a->arrival_s, 0, 1e-9, "time begins with the first");
    cr_expect_float_eq(a->length_s, 400, 1e-9, "from when it was scheduled");
    cr_expect_float_eq(a->is.util, 0.46, 1e-9);
    cr_expect_eq((a->is.persistent_bytes + a->is.ephemeral_bytes) / MIB,
                 (uint64_t)(0.46 * 14 * 1024));
    cr_expect(a->service && a->gpus == 1 && a->cpu_milli == 12000);
    cr_expect(!b->service && b->gpus == 8 && b->tasks == 1);
    cr_expect_float_eq(b->arrival_s, 50, 1e-9);
    cr_expect_float_eq(b->length_s, 50, 1e-9);
    cr_expect_eq(b->labels, jobset_label(&set, "T4"));
}

Test(jobset_file, rules_say_what_the_table_does_not) {
    rules = (struct jobset_rules){.slo = 0.96,
                                  .service_use = 0.18,
                                  .whole_tasks = true,
                                  .drop_failed = true,
                                  .length_most_s = 300};
    cr_assert_eq(jobs(pods), 0);
    cr_assert_eq(set.job_count, 1);
    cr_expect_eq(set.passed_over, 2);
    cr_expect_float_eq(set.jobs[0].length_s, 300, 1e-9);
    cr_expect_float_eq(set.jobs[0].slo, 0.96, 1e-9);
    cr_expect(set.jobs[0].is.util <= 0.46 * 0.36 && set.jobs[0].is.util > 0);
    jobset_finish(&set);
    rules.drop_failed = false;
    cr_assert_eq(jobs(pods), 0);
    cr_expect(set.jobs[1].tasks == 8 && set.jobs[1].gpus == 1);
    cr_expect_float_eq(set.jobs[1].is.util, 1, 1e-9, "trainings use all");
}

/* The table itself, if it is on this machine. */
Test(jobset_file, alibabas_table_is_read) {
    static const char folder[] = "../shared/data/alibaba-gpu-v2023/";
    char path[200];
    snprintf(path, sizeof(path), "%sopenb_node_list_gpu_node.csv", folder);
    int err = jobset_read_nodes(&set, path, &errors);
    if (err == -ENOENT) cr_skip_test("%s is not there", path);
    cr_assert_eq(err, 0, "%s", buf_str(&errors));
    cr_expect_eq(set.node_count, 1213);
    cr_expect_eq(set.gpu_count, 6212);
    snprintf(path, sizeof(path), "%sopenb_pod_list_default.csv", folder);
    cr_assert_eq(jobset_read_jobs(&set, &rules, path, &errors), 0, "%s", buf_str(&errors));
    cr_expect_eq(set.job_count + set.passed_over, 8152);
    cr_expect_eq(set.passed_over, 1088);
}

Test(jobset_file, a_file_that_is_not_there_is_said) {
    cr_expect_eq(jobset_read_jobs(&set, &rules, "no/such/file", &errors), -ENOENT);
    cr_expect_str_eq(buf_str(&errors), "No such file or directory\n");
}

/* ---- written --------------------------------------------------------------------------------- */

Test(jobset_file, what_is_written_is_read_to_the_same) {
    char *text[2] = {NULL, NULL};
    size_t bytes[2];
    cr_assert_eq(jobs(pods), 0);
    jobset_tell(&set, &(struct jobset_error){.util = 0.2, .memory = 0.2, .seed = 3});
    for (int i = 0; i < 2; i++) {
        FILE *f = open_memstream(&text[i], &bytes[i]);
        jobset_write_jobs(&set, f);
        fclose(f);
        jobset_finish(&set);
        cr_assert_eq(jobs(text[i]), 0, "%s", buf_str(&errors));
        cr_assert_eq(set.job_count, 2);
    }
    cr_expect_str_eq(text[0], text[1]);
    cr_expect(set.jobs[0].service && set.jobs[1].labels == jobset_label(&set, "T4"));
    free(text[0]);
    free(text[1]);
}
