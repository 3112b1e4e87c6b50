/* The clients of a fan-out, as cheap as they can be: many connections in one process, on epoll.
 *
 * It speaks no protocol. A script says what each connection sends and which bytes it waits for
 * before it goes on; after that it looks for marks in whatever arrives:
 *
 *   ~@fan~ | 16 hex digits: ns of CLOCK_MONOTONIC | 8: number of the key | 8: round
 *
 * usage: drain SCRIPT PORT FIRST LAST SAMPLES
 *   FIRST, LAST  the rounds that count: each connection is to get each of them once, in order
 *   SAMPLES      where to write a pair of u32 per message that counts: round, microseconds
 * script (u32 in the byte order of the machine): count, then for each connection: number of its
 *   key, number of steps, and for each step: length and bytes to send, length and bytes to wait for
 *   (none: go on at once)
 * It says `ready` when all connections are through their scripts, and one line of JSON at the end:
 * when all have got the last round, or stdin is closed.
 * Above: drainer.py compiles and runs it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MARK = 6, RECORD = 38, CARRY = RECORD - 1, CHUNK = 1 << 18, IN_FLIGHT = 128, GREETING = 4096 };
static const char mark[] = "~@fan~";

typedef struct {
    const uint8_t *steps;   /* what is left of its script */
    uint8_t *greeting;      /* what came while it waits, until it is through */
    uint32_t greeting_len, steps_left, key, next;
    int fd;
    uint8_t carry_len, through, open;
    char carry[CARRY];
} client;

static client *clients;
static uint32_t count, first, last, opened, pending, through, finished;
static uint64_t messages, duplicates, missing, strays, closed, bytes;
static uint32_t *samples;
static size_t samples_len, samples_room;
static int poller, port;
static char buffer[CARRY + CHUNK];

static void fail(const char *what) {
    printf("failed: %s: %s\n", what, strerror(errno));
    exit(1);
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static uint64_t hex(const char *text, int digits) {
    uint64_t value = 0;
    for (int i = 0; i < digits; i++) {
        char digit = text[i];
        value = value << 4 | (digit <= '9' ? digit - '0' : (digit | 32) - 'a' + 10);
    }
    return value;
}

static void sample(uint32_t round, uint64_t latency_ns) {
    if (samples_len + 2 > samples_room) {
        samples_room = samples_room ? samples_room * 2 : 1 << 16;
        samples = realloc(samples, samples_room * sizeof *samples);
        if (!samples) fail("memory");
    }
    samples[samples_len++] = round;
    samples[samples_len++] = latency_ns / 1000;
}

static void message(client *each, const char *record, uint64_t now) {
    uint64_t sent = hex(record + MARK, 16);
    uint32_t key = hex(record + MARK + 16, 8), round = hex(record + MARK + 24, 8);
    if (key != each->key) { strays++; return; }
    if (round < first || round > last) return;
    if (round < each->next) { duplicates++; return; }
    missing += round - each->next;
    each->next = round + 1;
    messages++;
    sample(round, now > sent ? now - sent : 0);
    if (round == last) finished++;
}

/* `text` has room for the carry before it. */
static void scan(client *each, char *text, size_t length, uint64_t now) {
    char *at = text - each->carry_len, *end = text + length;
    memcpy(at, each->carry, each->carry_len);
    each->carry_len = 0;
    while ((at = memchr(at, mark[0], end - at))) {
        if (end - at < RECORD) {
            each->carry_len = end - at;
            memcpy(each->carry, at, each->carry_len);
            return;
        }
        if (memcmp(at, mark, MARK) == 0) {
            message(each, at, now);
            at += RECORD;
        } else {
            at++;
        }
    }
}

static uint32_t word(const uint8_t **at) {
    uint32_t value;
    memcpy(&value, *at, 4);
    *at += 4;
    return value;
}

static void send_all(client *each, const uint8_t *data, uint32_t length) {
    ssize_t sent = send(each->fd, data, length, MSG_NOSIGNAL);
    if (sent != (ssize_t)length) fail("a connection does not take its greeting");
}

/* Send what the script says, as far as it does not wait for an answer. */
static void go_on(client *each) {
    while (each->steps_left) {
        const uint8_t *at = each->steps;
        uint32_t send_len = word(&at);
        const uint8_t *data = at;
        at += send_len;
        uint32_t wait_len = word(&at);
        if (send_len) send_all(each, data, send_len);
        if (wait_len) { each->steps = at - 4; return; }
        each->steps = at;
        each->steps_left--;
    }
    each->through = 1;
    pending--;
    through++;
}

static void greeted(client *each, const char *text, size_t length, uint64_t now) {
    if (!each->greeting) each->greeting = malloc(GREETING);
    if (each->greeting_len + length > GREETING) fail("an answer is longer than expected");
    memcpy(each->greeting + each->greeting_len, text, length);
    each->greeting_len += length;
    while (!each->through) {
        const uint8_t *at = each->steps;
        uint32_t wait_len = word(&at);
        uint8_t *found = memmem(each->greeting, each->greeting_len, at, wait_len);
        if (!found) return;
        uint8_t *rest = found + wait_len;
        each->greeting_len -= rest - each->greeting;
        memmove(each->greeting, rest, each->greeting_len);
        each->steps = at + wait_len;
        each->steps_left--;
        go_on(each);
    }
    char *room = buffer + CARRY;
    memcpy(room, each->greeting, each->greeting_len);
    scan(each, room, each->greeting_len, now);
    free(each->greeting);
    each->greeting = NULL;
}

static void lose(client *each) {
    if (!each->through) {
        each->greeting_len = each->greeting_len < 300 ? each->greeting_len : 300;
        printf("failed: closed in its greeting, after: %.*s\n", (int)each->greeting_len,
               each->greeting ? (char *)each->greeting : "");
        exit(1);
    }
    close(each->fd);
    each->open = 0;
    closed++;
}

static void arrived(client *each) {
    char *room = buffer + CARRY;
    ssize_t length = recv(each->fd, room, CHUNK, 0);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (length <= 0) { lose(each); return; }
    bytes += length;
    uint64_t now = now_ns();
    if (each->through) scan(each, room, length, now);
    else greeted(each, room, length, now);
}

static void open_next(void) {
    client *each = &clients[opened];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    each->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (each->fd < 0) fail("socket");
    if (connect(each->fd, (struct sockaddr *)&address, sizeof address)) fail("connect");
    fcntl(each->fd, F_SETFL, O_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = opened};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, each->fd, &event)) fail("epoll");
    each->open = 1;
    opened++;
    pending++;
    go_on(each);
}

static void read_script(const char *path) {
    int fd = open(path, O_RDONLY);
    struct stat about;
    if (fd < 0 || fstat(fd, &about)) fail(path);
    uint8_t *data = malloc(about.st_size);
    for (off_t have = 0; have < about.st_size;) {
        ssize_t length = read(fd, data + have, about.st_size - have);
        if (length <= 0) fail(path);
        have += length;
    }
    close(fd);
    const uint8_t *at = data;
    count = word(&at);
    clients = calloc(count, sizeof *clients);
    for (uint32_t i = 0; i < count; i++) {
        clients[i].key = word(&at);
        clients[i].steps_left = word(&at);
        clients[i].steps = at;
        clients[i].next = first;
        for (uint32_t part = 0; part < clients[i].steps_left * 2; part++) {
            uint32_t length = word(&at);
            at += length;
        }
    }
}

static void report(const char *path) {
    struct timespec cpu;
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(samples, 4, samples_len, file) != samples_len || fclose(file)) fail(path);
    for (uint32_t i = 0; i < count; i++) missing += last + 1 - clients[i].next;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("{\"connections\": %u, \"messages\": %lu, \"duplicates\": %lu, \"missing\": %lu, "
           "\"strays\": %lu, \"closed\": %lu, \"bytes\": %lu, \"cpu_s\": %.6f}\n",
           count, messages, duplicates, missing, strays, closed, bytes,
           cpu.tv_sec + cpu.tv_nsec / 1e9);
}

/* No connection waits on this machine for a last word: the next turn needs its ports. */
static void close_all(void) {
    struct linger at_once = {1, 0};
    for (uint32_t i = 0; i < count; i++) {
        if (!clients[i].open) continue;
        setsockopt(clients[i].fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(clients[i].fd);
    }
}

int main(int argc, char **argv) {
    if (argc != 6) { fprintf(stderr, "usage: drain SCRIPT PORT FIRST LAST SAMPLES\n"); return 2; }
    port = atoi(argv[2]);
    first = atoi(argv[3]);
    last = atoi(argv[4]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    read_script(argv[1]);
    poller = epoll_create1(0);
    struct epoll_event input = {.events = EPOLLIN | EPOLLHUP, .data.u32 = UINT32_MAX};
    if (epoll_ctl(poller, EPOLL_CTL_ADD, 0, &input)) fail("stdin");
    struct epoll_event events[512];
    int said = 0, stop = 0, last_look = 0;
    while (!stop && !last_look) {
        while (opened < count && pending < IN_FLIGHT) open_next();
        if (through == count && !said) { puts("ready"); said = 1; }
        /* One more look after the last message: what comes twice comes soon. */
        last_look = finished == count;
        int got = epoll_wait(poller, events, 512, last_look ? 50 : -1);
        for (int i = 0; i < got; i++) {
            if (events[i].data.u32 != UINT32_MAX) arrived(&clients[events[i].data.u32]);
            else if (getchar() == EOF) stop = 1;
        }
        if (got > 0) last_look = 0;
    }
    report(argv[5]);
    close_all();
    return 0;
}
