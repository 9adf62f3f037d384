// A file that is laid out, a long pause, and five operations with pauses between them; no symbols are needed to tell them apart.
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS = 512, OPERATIONS = 5 };

static void pause_for(unsigned long turns) {
    for (volatile unsigned long i = 0; i < turns; i++) {}
}

int main(void) {
    int file = open("pool", O_RDWR | O_CREAT, 0644);
    if (ftruncate(file, WORDS * 8)) return 9;
    uint64_t *m = mmap(0, WORDS * 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (unsigned i = 0; i < WORDS; i++) m[i] = 1;
    pause_for(50000);
    for (unsigned n = 0; n < OPERATIONS; n++) {
        for (unsigned k = 0; k < 2; k++) {
            m[n * 16 + k * 8] = 2;
            _mm_clflush(&m[n * 16 + k * 8]);
            _mm_sfence();
        }
        pause_for(500);
    }
    return 0;
}
