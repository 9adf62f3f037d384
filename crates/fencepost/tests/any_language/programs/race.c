// Two threads: one publishes under a lock and flushes after it has unlocked; the other copies what it sees, durably.
#include <fcntl.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { N = 20, LINE = 8 };
static uint64_t *m;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void persist(void *p) {
    _mm_clflush(p);
    _mm_sfence();
}
static void *publish(void *nothing) {
    for (int i = 0; i < N; i++) {
        pthread_mutex_lock(&lock);
        m[i * LINE] = 1;
#ifdef RIGHT
        persist(&m[i * LINE]);
#endif
        pthread_mutex_unlock(&lock);
        persist(&m[i * LINE]);
    }
    return nothing;
}
static void *copy(void *nothing) {
    for (int done = 0; done < N;) {
        pthread_mutex_lock(&lock);
        for (int i = done; i < N && m[i * LINE]; i++, done++) {
            m[(N + i) * LINE] = 1;
            persist(&m[(N + i) * LINE]);
        }
        pthread_mutex_unlock(&lock);
    }
    return nothing;
}

int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, 2 * N * LINE * 8)) return 9;
    m = mmap(0, 2 * N * LINE * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, publish, 0);
    pthread_create(&threads[1], 0, copy, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}
