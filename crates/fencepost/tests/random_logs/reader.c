// Recovery for random logs, as a program that reads its image only as far as it must: `reader FILE HOW FIRST DAMAGES REPAIRS IMAGE`. The file lists the states that it
// survives, or does not survive. HOW says by which calls or loads it reads, FIRST from which word on. With REPAIRS it then stores two words behind them,
// and says so by its status where one of them is there without the other.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WORDS = 64, STATES = 1 << 14, THREADS = 2 };
struct state { unsigned begun[THREADS], acked[THREADS]; uint64_t words[WORDS]; };
static struct state states[STATES];
static int count, words, how, repairs, folder = -1;
static size_t apart;
// A file of the image, opened when it is first needed.
static struct piece { int file; size_t length; unsigned char *map; } pieces[WORDS / 8 + 1];

static void fail(int status) {
    fflush(stdout);
    _exit(status);
}
static int numbers(const char *text, unsigned *to) {
    char *end;
    int n = 0;
    for (; n < THREADS; text = end + 1) {
        to[n++] = strtoul(text, &end, 10);
        if (*end != ',') break;
    }
    return n;
}
static int rules(const char *path, char *listed) {
    static char line[WORDS * 24];
    char damages[8];
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "%15s %7s %zu %*s %*s\n", listed, damages, &apart) != 3) fail(9);
    for (; count < STATES && fgets(line, sizeof line, f); count++) {
        struct state *s = &states[count];
        char *begun = strtok(line, " "), *acked = strtok(0, " "), *w = strtok(0, ",\n");
        numbers(begun, s->begun);
        numbers(acked, s->acked);
        for (words = 0; w; w = strtok(0, ",\n")) s->words[words++] = strtoull(w, 0, 10);
    }
    fclose(f);
    return 0;
}
// Where a line lies: in the only file, or in one of its own.
static struct piece *piece_of(size_t *at) {
    struct piece *p = &pieces[folder < 0 ? 0 : *at / 64];
    if (folder >= 0 && p->file == 0) {
        char name[16];
        snprintf(name, sizeof name, "part%d", (int)(*at / 64));
        p->file = openat(folder, name, O_RDWR);
    }
    if (folder >= 0) *at %= 64;
    if (p->length == 0) {
        struct stat about;
        if (p->file < 0 || fstat(p->file, &about)) fail(9);
        p->length = about.st_size;
        int kind = repairs ? MAP_SHARED : MAP_PRIVATE;
        if (how > 2 || repairs) p->map = mmap(0, p->length, PROT_READ | PROT_WRITE, kind, p->file, 0);
        if (p->map == MAP_FAILED) fail(9);
    }
    return p;
}
static uint64_t read_word(size_t at) {
    uint64_t w = 0, next = 0;
    const struct piece *p = piece_of(&at);
    const int file = p->file;
    unsigned char *map = p->map;
    if (at + 8 > p->length) return 0;
    struct iovec pieces[2] = {{&w, 3}, {(char *)&w + 3, 5}};
    switch (how) {
    case 0: if (pread(file, &w, 8, at) != 8) fail(9); break;
    case 1: lseek(file, at, SEEK_SET); if (read(file, &w, 8) != 8) fail(9); break;
    case 2: if (preadv(file, pieces, 2, at) != 8) fail(9); break;
    case 3: memcpy(&w, map + at, 8); break;
    case 4: for (int i = 7; i >= 0; i--) w = w << 8 | ((volatile unsigned char *)map)[at + i]; break;
    case 5: {
        // A whole vector, of which a word counts.
        __m128i v = _mm_loadu_si128((const __m128i *)(map + at / 16 * 16));
        uint64_t both[2];
        _mm_storeu_si128((__m128i *)both, v);
        w = both[at / 8 % 2];
        break;
    }
    case 6: {
        // An atomic reads, and what it has stored is its own.
        uint64_t *word = (uint64_t *)(map + at);
        w = __atomic_fetch_add(word, 5, __ATOMIC_SEQ_CST);
        if (__atomic_exchange_n(word, 7, __ATOMIC_SEQ_CST) != w + 5) fail(9);
        break;
    }
    default: {
        // What it has stored itself it does not read of the image.
        volatile uint64_t *word = (volatile uint64_t *)(map + at);
        w = *word;
        *word = 7;
        next = *word;
        if (next != 7) fail(9);
    }
    }
    return w;
}
static int concerned(const struct state *s, const char *listed, const unsigned *begun, const unsigned *acked, int threads) {
    for (int t = 0; t < threads; t++) {
        if (listed[0] == 'S' && (s->begun[t] != begun[t] || s->acked[t] != acked[t])) return 0;
        if (listed[0] == 'T' && (begun[t] < s->begun[t] || s->acked[t] < acked[t])) return 0;
        if (listed[0] == 'L' && acked[t] < s->acked[t]) return 0;
    }
    return 1;
}
static void persist(volatile uint64_t *p) {
    _mm_clflush((void *)p);
    _mm_sfence();
}
// Two words on lines of their own: the first is durable before the second where it must be.
static void repair(int forbidden) {
    size_t at = (size_t)words / 8 * apart;
    const struct piece *p = piece_of(&at);
    volatile uint64_t *first = (uint64_t *)(p->map + at), *second = first + 8;
    int found = (*first != 0) + 2 * (*second != 0);
    if (forbidden >> found & 1) {
        printf("found %d\n", found);
        fail(1);
    }
    *first = 1;
    if (repairs == 1) persist(first);
    *second = 1;
    persist(second);
    persist(first);
}
// Whether a word need not be looked at, as all states that are survived and left have the same there: files may stay closed.
static int agree(int word, const unsigned char *left, const char *listed) {
    const struct state *seen = 0;
    for (int s = 0; s < count; s++) {
        if (!left[s]) continue;
        if (seen && seen->words[word] != states[s].words[word]) return 0;
        seen = &states[s];
    }
    return listed[0] == 'S';
}
int main(int n, char **a) {
    char listed[16];
    unsigned begun[THREADS] = {0}, acked[THREADS] = {0};
    if (n != 8 || !getenv("FENCEPOST_BEGUN") || !getenv("FENCEPOST_ACKED")) return 9;
    rules(a[1], listed);
    how = atoi(a[2]);
    int first = atoi(a[3]), damages = atoi(a[4]), forbidden = atoi(a[6]);
    repairs = atoi(a[5]);
    int threads = numbers(getenv("FENCEPOST_BEGUN"), begun);
    numbers(getenv("FENCEPOST_ACKED"), acked);
    folder = open(a[7], O_RDONLY | O_DIRECTORY);
    if (folder < 0) pieces[0].file = open(a[7], O_RDWR);
    static unsigned char left[STATES];
    int some = 0;
    for (int i = 0; i < count; i++) some += left[i] = concerned(&states[i], listed, begun, acked, threads);
    for (int i = 0; i < words && some; i++) {
        int word = (first + i) % words;
        if (folder >= 0 && agree(word, left, listed)) continue;
        uint64_t value = read_word((size_t)word / 8 * apart + word % 8 * 8);
        some = 0;
        for (int s = 0; s < count; s++) some += left[s] = left[s] && states[s].words[word] == value;
    }
    int good = (some == 0) == (listed[0] == 'L');
    if (!good) {
        printf("a state that recovery does not survive\n");
        fail(1);
    }
    if (repairs) repair(forbidden);
    if (damages) {
        static char bad[4096];
        memset(bad, 0xa5, sizeof bad);
        for (const struct piece *p = pieces; p < pieces + WORDS / 8 + 1; p++)
            for (size_t at = 0; at < p->length; at += sizeof bad) {
                size_t n = p->length - at < sizeof bad ? p->length - at : sizeof bad;
                if (pwrite(p->file, bad, n, at) != (ssize_t)n) return 9;
            }
    }
    return 0;
}
