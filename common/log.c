/* SPDX-License-Identifier: Apache-2.0
 *
 * Log records on stderr. The levels are set once, before threads start, and only read afterwards. A
 * record is built on the stack and written by one write(2). So records of threads and of processes
 * that share a stderr never mix within a line. In a daemon the writer's thread writes the record.
 */
#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/log_limit.h"
#include "common/log_writer.h"
#include "common/utf8.h"

#define LOG_TOPICS 32
#define LOG_TOPIC_BYTES 24
#define LOG_LINE_BYTES LOG_WRITER_RECORD_BYTES
#define LOG_PATIENCE_NS 500000000u /* time that a process's end waits for the reader of its log */

static const char *const level_names[] = {"error", "warn", "info", "debug"};

static struct {
    char name[LOG_TOPIC_BYTES];
    int level;
} topics[LOG_TOPICS];
static int topic_count;
static int default_level = LOG_WARN;
static int highest_level = LOG_WARN; /* highest level of any topic: decides most calls */
static bool limited;                 /* set by log_background, before other threads start */

/* Returns LOG_NONE - 1 if the text names no level. */
static int parse_level(const char *text, size_t bytes) {
    for (int i = 0; i < (int)(sizeof(level_names) / sizeof(level_names[0])); i++) {
        if (strlen(level_names[i]) == bytes && !strncmp(text, level_names[i], bytes)) return i;
    }
    return bytes == 4 && !strncmp(text, "none", 4) ? LOG_NONE : LOG_NONE - 1;
}

static bool set_topic(const char *name, size_t bytes, int level) {
    if (bytes == 0 || bytes >= LOG_TOPIC_BYTES) return false;
    int i = 0;
    while (i < topic_count &&
           (strlen(topics[i].name) != bytes || memcmp(topics[i].name, name, bytes) != 0))
        i++;
    if (i == LOG_TOPICS) return false;
    if (i == topic_count) {
        memcpy(topics[i].name, name, bytes);
        topics[i].name[bytes] = '\0';
        topic_count++;
    }
    topics[i].level = level;
    return true;
}

/* Parses "level" or "topic:level". Returns false if it is neither or no topic is free. */
static bool parse_item(const char *item, size_t bytes) {
    const char *colon = memchr(item, ':', bytes);
    size_t skip = colon ? (size_t)(colon - item) + 1 : 0;
    int level = parse_level(item + skip, bytes - skip);
    if (level < LOG_NONE) return false;
    if (colon) return set_topic(item, skip - 1, level);
    default_level = level;
    return true;
}

/* Returns the first item that could not be parsed, or NULL. */
static const char *parse(const char *spec) {
    const char *bad = NULL;
    while (spec && *spec) {
        size_t bytes = strcspn(spec, ",");
        if (bytes > 0 && !parse_item(spec, bytes) && !bad) bad = spec;
        spec += bytes + (spec[bytes] == ',');
    }
    return bad;
}

void log_init(const char *fallback) {
    topic_count = 0;
    default_level = LOG_WARN;
    parse(fallback);
    const char *bad = parse(getenv("SALUS_LOG"));
    highest_level = default_level;
    for (int i = 0; i < topic_count; i++) {
        if (topics[i].level > highest_level) highest_level = topics[i].level;
    }
    if (bad)
        log_warn("log",
                 "event=ignored variable=SALUS_LOG item=\"%.*s\" do=\"write topic:level or level\"",
                 (int)strcspn(bad, ","), bad);
}

int log_on(const char *topic, enum log_level level) {
    if ((int)level > highest_level || level == LOG_NONE) return 0;
    for (int i = 0; i < topic_count; i++) {
        if (!strcmp(topics[i].name, topic)) return (int)level <= topics[i].level;
    }
    return (int)level <= default_level;
}

static int put_prefix(char *line, size_t cap, const char *topic, enum log_level level) {
    struct timespec now;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(line, cap, "%Y-%m-%dT%H:%M:%S", &utc);
    n += (size_t)snprintf(line + n, cap - n, ".%06ldZ %s %.*s ", now.tv_nsec / 1000,
                          level_names[level], LOG_TOPIC_BYTES, topic);
    return (int)n;
}

/* Ends the record with the number of suppressed records before it and with its newline, which
 * replaces the terminator. `n`: length that the record needed. */
static size_t finish_line(char *line, size_t start, size_t n, uint64_t suppressed) {
    char tail[40] = "";
    size_t tail_bytes = 0, room;
    if (suppressed)
        tail_bytes = (size_t)snprintf(tail, sizeof(tail), " suppressed=%" PRIu64, suppressed);
    room = LOG_LINE_BYTES - 1 - tail_bytes;
    if (n > room) {
        n = room;
        memcpy(line + n - 3, "...", 3);
    }
    /* Names of jobs and kernels come from clients. None of them may forge a second record. */
    utf8_clean(line + start, n - start);
    memcpy(line + n, tail, tail_bytes);
    line[n + tail_bytes] = '\n';
    return n + tail_bytes + 1;
}

__attribute__((format(printf, 5, 0))) static size_t make_line(char *line, const char *topic,
                                                              enum log_level level,
                                                              uint64_t suppressed, const char *fmt,
                                                              va_list args) {
    int saved = errno;
    size_t start = (size_t)put_prefix(line, LOG_LINE_BYTES, topic, level);
    errno = saved; /* %m reads errno */
    int wanted = vsnprintf(line + start, LOG_LINE_BYTES - start, fmt, args);
    return finish_line(line, start, start + (wanted > 0 ? (size_t)wanted : 0), suppressed);
}

__attribute__((format(printf, 4, 0))) static void write_line(const char *topic,
                                                             enum log_level level,
                                                             uint64_t suppressed, const char *fmt,
                                                             va_list args) {
    char line[LOG_LINE_BYTES];
    size_t n = make_line(line, topic, level, suppressed, fmt, args);
    if (log_writer_put(line, n)) return;
    while (write(STDERR_FILENO, line, n) < 0 && errno == EINTR) {
    }
}

__attribute__((format(printf, 4, 0))) static void write_limited(const char *topic,
                                                                enum log_level level,
                                                                unsigned burst, const char *fmt,
                                                                va_list args) {
    int saved = errno;
    uint64_t suppressed = 0;
    if (limited && level != LOG_DEBUG &&
        !log_limit_pass(topic, fmt, burst, fdutil_now_ns(), &suppressed))
        return;
    write_line(topic, level, suppressed, fmt, args);
    errno = saved;
}

void log_write(const char *topic, enum log_level level, const char *fmt, ...) {
    va_list args;
    if (!log_on(topic, level)) return;
    va_start(args, fmt);
    write_limited(topic, level, 1, fmt, args);
    va_end(args);
}

void log_burst(const char *topic, enum log_level level, const char *fmt, ...) {
    va_list args;
    if (!log_on(topic, level)) return;
    va_start(args, fmt);
    write_limited(topic, level, LOG_BURST, fmt, args);
    va_end(args);
}

void log_each(const char *topic, enum log_level level, const char *fmt, ...) {
    int saved = errno;
    va_list args;
    if (!log_on(topic, level)) return;
    va_start(args, fmt);
    write_line(topic, level, 0, fmt, args);
    va_end(args);
    errno = saved;
}

/* ---- in a daemon ----------------------------------------------------------------------------- */

/* Reports suppressed records. The format represents the kind; its double quotes are replaced. */
static void say_suppressed(const char *topic, const char *fmt, uint64_t suppressed) {
    char kind[64];
    snprintf(kind, sizeof(kind), "%s", fmt);
    for (char *p = kind; *p; p++)
        if (*p == '"') *p = '\'';
    log_each(topic, LOG_WARN, "event=suppressed records=%" PRIu64 " like=\"%s\"", suppressed, kind);
}

static void wait_idle(void) {
    log_limit_report(fdutil_now_ns(), false, say_suppressed);
}

__attribute__((format(printf, 3, 4))) static size_t make_own(char *line, enum log_level level,
                                                             const char *fmt, ...) {
    size_t n;
    va_list args;
    va_start(args, fmt);
    n = make_line(line, "log", level, 0, fmt, args);
    va_end(args);
    return n;
}

static size_t drops(char *line, uint64_t count) {
    return make_own(line, LOG_ERROR,
                    "event=dropped records=%" PRIu64
                    " why=\"the log's reader was too slow or had closed the log\"",
                    count);
}

int log_background(void) {
    int err = log_writer_start(wait_idle, drops);
    limited = err == 0;
    return err;
}

void log_finish(void) {
    if (!limited) return;
    log_limit_report(fdutil_now_ns(), true, say_suppressed);
    log_writer_finish(LOG_PATIENCE_NS);
}
