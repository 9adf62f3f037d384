/* SQLite as LevelDB's benchmark drives it: fills in key order and at random, overwrites and reads, of keys of 16 digits and values of
 * 100 bytes, each a transaction. Usage: sqlite_bench FILE create|JOURNAL TRANSACTIONS, where JOURNAL is off, persist or wal.
 * cc -O2 -o sqlite_bench sqlite_bench.c -lsqlite3 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 1000, VALUE = 100 };
static sqlite3 *db;
static sqlite3_stmt *replace, *find;

/* Where a recording begins (--roi), and what ends a transaction (--ack-at). */
__attribute__((noinline)) void begin_benchmark(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void transaction_done(void) { __asm__ volatile("" ::: "memory"); }

static void must(int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
        fprintf(stderr, "%s\n", sqlite3_errmsg(db));
        exit(2);
    }
}
static void run(const char *sql) { must(sqlite3_exec(db, sql, NULL, NULL, NULL)); }
static unsigned draw(unsigned below)
{
    static unsigned long long state = 2014;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)((state >> 33) % below);
}
static void put(unsigned key, unsigned name)
{
    char digits[32], value[VALUE];
    snprintf(digits, sizeof digits, "%016u", key);
    for (int i = 0; i < VALUE; i++)
        value[i] = (char)(name * 2654435761u >> (i % 24));
    must(sqlite3_bind_blob(replace, 1, digits, 16, SQLITE_TRANSIENT));
    must(sqlite3_bind_blob(replace, 2, value, VALUE, SQLITE_TRANSIENT));
    must(sqlite3_step(replace));
    must(sqlite3_reset(replace));
}
static void get(unsigned key)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%016u", key);
    must(sqlite3_bind_blob(find, 1, digits, 16, SQLITE_TRANSIENT));
    must(sqlite3_step(find));
    must(sqlite3_reset(find));
}
static void prepare(void)
{
    must(sqlite3_prepare_v2(db, "REPLACE INTO test (key, value) VALUES (?, ?)", -1, &replace, NULL));
    must(sqlite3_prepare_v2(db, "SELECT value FROM test WHERE key = ?", -1, &find, NULL));
}

int main(int argc, char **argv)
{
    char pragma[64];
    if (argc != 4)
        return 2;
    must(sqlite3_open(argv[1], &db));
    run("PRAGMA page_size=4096; PRAGMA cache_spill=OFF; PRAGMA temp_store=MEMORY; PRAGMA mmap_size=0; PRAGMA locking_mode=EXCLUSIVE");
    snprintf(pragma, sizeof pragma, "PRAGMA journal_mode=%s", strcmp(argv[2], "create") ? argv[2] : "off");
    run(pragma);
    run(strcmp(argv[2], "off") && strcmp(argv[2], "create") ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
    if (strcmp(argv[2], "create") == 0) {
        run("CREATE TABLE test (key blob, value blob, PRIMARY KEY(key)); BEGIN");
        prepare();
        for (unsigned key = 0; key < ROWS; key++)
            put(key, key + 1);
        run("END");
        return 0;
    }
    prepare();
    get(0);
    begin_benchmark();
    for (unsigned i = 0, kind; i < (unsigned)atoi(argv[3]); i++) {
        kind = draw(100);
        if (kind < 30)
            put(2 * ROWS + i, 5000 + i);
        else if (kind < 60)
            put(draw(2 * ROWS), 5000 + i);
        else if (kind < 90)
            put(draw(ROWS), 5000 + i);
        else
            get(draw(2 * ROWS));
        transaction_done();
    }
    return 0;
}
