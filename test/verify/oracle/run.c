/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs all forms of a folder that pack.py wrote, on the GPU of the loaded libcuda.so.1, and writes
 * their results.
 *
 *   oracle_run FOLDER RESULTS [PROCESSES]
 *
 * A record of RESULTS is a struct oracle_record, followed by the bytes of its words. If
 * FOLDER/expected.bin exists, with a checksum for each form, words are written only for forms with
 * another checksum. Each module runs in its own process. A module that the driver rejects is loaded
 * kernel by kernel. After an error that ends the context, a new process continues with the next
 * form.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/verify/oracle/driver.h"

#define RUN_FORMS 8192
#define RUN_MODULES 128
#define RUN_BLOCK 128
#define RUN_SECONDS 120 /* limit for one form, including its module's compilation */

enum run_status { RUN_WORDS, RUN_SAME, RUN_REFUSED, RUN_FAILED, RUN_DIED };

struct oracle_record {
    uint32_t form, status, error, zero;
    uint64_t sum, bytes;
};

struct run_form {
    uint32_t index, module, threads;
    size_t in_at, in_bytes, out_bytes;
    char name[200];
};

struct run {
    struct run_form forms[RUN_FORMS];
    uint32_t count, modules;
    uint8_t *inputs;
    uint64_t *expected; /* NULL: none */
    size_t expected_count, inputs_bytes;
    volatile uint32_t *at; /* shared memory, one per module: index in `forms` of the running form */
    const char *folder;
    struct driver cu;
    CUdeviceptr in, out, scratch;
    uint8_t *host;
    FILE *results;
};

static char *run_file(const char *folder, const char *name, size_t *bytes) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *text = malloc(*bytes + 1);
    if (!text || fread(text, 1, *bytes, f) != *bytes) exit(2);
    text[*bytes] = 0;
    fclose(f);
    return text;
}

static void run_read(struct run *r) {
    size_t bytes;
    char *text = run_file(r->folder, "forms.txt", &bytes), *save;
    if (!text) exit(2);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct run_form *f = &r->forms[r->count++];
        if (r->count > RUN_FORMS ||
            sscanf(line, "%u %u %u %zu %zu %zu %*s %199[^\n]", &f->index, &f->module, &f->threads,
                   &f->in_at, &f->in_bytes, &f->out_bytes, f->name) != 7)
            exit(2);
        r->modules = f->module + 1;
    }
    free(text);
    r->inputs = (uint8_t *)run_file(r->folder, "inputs.bin", &r->inputs_bytes);
    r->expected = (uint64_t *)run_file(r->folder, "expected.bin", &bytes);
    r->expected_count = r->expected ? bytes / 8 : 0;
    if (!r->inputs || r->modules > RUN_MODULES) exit(2);
}

static void run_begin(struct run *r) {
    size_t most = 16;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < r->count; i++) {
        if (r->forms[i].out_bytes > most) most = r->forms[i].out_bytes;
        if (r->forms[i].threads > threads) threads = r->forms[i].threads;
    }
    driver_open(&r->cu);
    driver_need(r->cu.alloc(&r->in, r->inputs_bytes), "cuMemAlloc");
    driver_need(r->cu.alloc(&r->out, most), "cuMemAlloc");
    driver_need(r->cu.alloc(&r->scratch, (size_t)threads * 32), "cuMemAlloc");
    driver_need(r->cu.in(r->in, r->inputs, r->inputs_bytes), "cuMemcpyHtoD");
    r->host = malloc(most);
    if (!r->host) exit(2);
}

/* FNV-1a over words of 8 bytes. */
static uint64_t run_sum(const uint8_t *bytes, size_t count) {
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; i += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + i, count - i < 8 ? count - i : 8);
        sum = (sum ^ word) * 0x100000001b3;
        sum ^= sum >> 32;
    }
    return sum;
}

static void run_record(struct run *r, const struct run_form *f, enum run_status status,
                       CUresult error) {
    struct oracle_record record = {.form = f->index, .status = status, .error = (uint32_t)error};
    if (status == RUN_WORDS) {
        record.sum = run_sum(r->host, f->out_bytes);
        if (f->index < r->expected_count && r->expected[f->index] == record.sum)
            record.status = RUN_SAME;
        else
            record.bytes = f->out_bytes;
    }
    fwrite(&record, sizeof(record), 1, r->results);
    fwrite(r->host, 1, record.bytes, r->results);
    if (fflush(r->results)) exit(2);
}

/* An error here may have destroyed the context: the caller ends the process. */
static CUresult run_form(struct run *r, const struct run_form *f, CUmodule module) {
    CUdeviceptr in = r->in + f->in_at;
    void *params[] = {&in, &r->out, &r->scratch};
    CUfunction function;
    char name[32];
    snprintf(name, sizeof(name), "f%u", f->index);
    CUresult e = r->cu.function(&function, module, name);
    if (!e) e = r->cu.set(r->out, 0, f->out_bytes);
    if (!e) e = r->cu.set(r->scratch, 0, (size_t)f->threads * 32);
    if (!e)
        e = r->cu.launch(function, f->threads / RUN_BLOCK, 1, 1, RUN_BLOCK, 1, 1, 0, NULL, params,
                         NULL);
    if (!e) e = r->cu.synchronize();
    if (!e) e = r->cu.out(r->host, r->out, f->out_bytes);
    return e;
}

/* Returns 0 if the context is still usable. */
static int run_one(struct run *r, const struct run_form *f, CUmodule module) {
    CUresult e = run_form(r, f, module);
    run_record(r, f, e ? RUN_FAILED : RUN_WORDS, e);
    if (!e) return 0;
    fprintf(stderr, "failed: error %d: %s\n", (int)e, f->name);
    return r->cu.synchronize() ? -EIO : 0;
}

static CUresult run_load(struct run *r, const char *text, CUmodule *module, char *log) {
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)2000};
    log[0] = 0;
    return r->cu.load(module, text, 2, options, values);
}

/* The header of `text` and only the kernel of form f. */
static char *run_single(const char *text, const struct run_form *f) {
    char mark[40];
    snprintf(mark, sizeof(mark), "//form %u\n", f->index);
    const char *first = strstr(text, "//form"), *begin = strstr(text, mark);
    if (!first || !begin) exit(2);
    const char *end = strstr(begin + 6, "//form");
    char *single = NULL;
    if (asprintf(&single, "%.*s%.*s", (int)(first - text), text,
                 end ? (int)(end - begin) : (int)strlen(begin), begin) < 0)
        exit(2);
    return single;
}

static int run_alone(struct run *r, const struct run_form *f, const char *text) {
    static char log[2000];
    CUmodule module;
    char *single = run_single(text, f);
    const CUresult e = run_load(r, single, &module, log);
    int end = 0;
    if (e) {
        fprintf(stderr, "refused: error %d: %s: %.*s\n", (int)e, f->name, (int)strcspn(log, "\n"),
                log);
        run_record(r, f, RUN_REFUSED, e);
    } else {
        end = run_one(r, f, module);
        if (!end) r->cu.unload(module);
    }
    free(single);
    return end;
}

static void run_module(struct run *r, uint32_t m, uint32_t from) {
    static char log[2000];
    char name[32];
    size_t bytes;
    CUmodule module = NULL;
    snprintf(name, sizeof(name), "m%03u.ptx", m);
    char *text = run_file(r->folder, name, &bytes);
    if (!text) exit(2);
    run_begin(r);
    r->at[m] = from;
    alarm(RUN_SECONDS);
    const CUresult e = run_load(r, text, &module, log);
    if (e) fprintf(stderr, "module %u: error %d: %s\n", m, (int)e, log);
    for (uint32_t i = from; i < r->count && r->forms[i].module == m; i++) {
        r->at[m] = i;
        alarm(RUN_SECONDS);
        if (e ? run_alone(r, &r->forms[i], text) : run_one(r, &r->forms[i], module)) {
            r->at[m] = i + 1;
            _exit(3);
        }
    }
    _exit(0);
}

static pid_t run_start(struct run *r, uint32_t m, uint32_t from, const char *results) {
    char path[4096];
    snprintf(path, sizeof(path), "%s.m%03u", results, m);
    r->results = fopen(path, "ab");
    if (!r->results) exit(2);
    const pid_t child = fork();
    if (child < 0) exit(2);
    if (!child) run_module(r, m, from);
    fclose(r->results);
    return child;
}

/* Handles the end of a process of module m. Returns the form with which a new process has to
 * start, or UINT32_MAX. */
static uint32_t run_ended(struct run *r, uint32_t m, int status, const char *results) {
    uint32_t at = r->at[m];
    if (WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 2)) return UINT32_MAX;
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 3) && at < r->count &&
        r->forms[at].module == m) {
        char path[4096];
        snprintf(path, sizeof(path), "%s.m%03u", results, m);
        r->results = fopen(path, "ab");
        if (!r->results) exit(2);
        fprintf(stderr, "died: status %#x: %s\n", status, r->forms[at].name);
        run_record(r, &r->forms[at], RUN_DIED, (CUresult)status);
        fclose(r->results);
        at++;
    }
    return at < r->count && r->forms[at].module == m ? at : UINT32_MAX;
}

static uint32_t run_first(const struct run *r, uint32_t m) {
    uint32_t i = 0;
    while (i < r->count && r->forms[i].module != m)
        i++;
    return i;
}

static void run_all(struct run *r, const char *results, int processes) {
    pid_t children[RUN_MODULES] = {0};
    uint32_t next = 0;
    int running = 0;
    while (next < r->modules || running) {
        for (; next < r->modules && running < processes; next++, running++)
            children[next] = run_start(r, next, run_first(r, next), results);
        int status;
        const pid_t child = wait(&status);
        for (uint32_t m = 0; m < next; m++)
            if (children[m] == child) {
                const uint32_t from = run_ended(r, m, status, results);
                children[m] = from == UINT32_MAX ? 0 : run_start(r, m, from, results);
                running -= from == UINT32_MAX;
            }
    }
}

static void run_gather(const struct run *r, const char *results) {
    FILE *all = fopen(results, "wb");
    if (!all) exit(2);
    for (uint32_t m = 0; m < r->modules; m++) {
        char path[4096];
        size_t bytes;
        snprintf(path, sizeof(path), "%s.m%03u", results, m);
        char *part = run_file("/", path, &bytes);
        if (!part) part = run_file(".", path, &bytes);
        if (part && fwrite(part, 1, bytes, all) != bytes) exit(2);
        free(part);
        unlink(path);
    }
    if (fclose(all)) exit(2);
}

int main(int argc, char **argv) {
    static struct run r;
    if (argc < 3) {
        fprintf(stderr, "usage: oracle_run FOLDER RESULTS [PROCESSES]\n");
        return 2;
    }
    r.folder = argv[1];
    run_read(&r);
    r.at = mmap(NULL, RUN_MODULES * sizeof(*r.at), PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (r.at == MAP_FAILED) return 2;
    run_all(&r, argv[2], argc > 3 ? atoi(argv[3]) : 1);
    run_gather(&r, argv[2]);
    return 0;
}
