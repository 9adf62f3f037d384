// The audit of two threads of which one copies what the other publishes: a copy has an original.
#include <stdint.h>
#include <stdio.h>

enum { N = 20, LINE = 8 };

int main(int n, char **a) {
    uint64_t v[2 * N * LINE];
    FILE *f = fopen(a[n - 1], "r");
    if (!f || fread(v, 1, sizeof v, f) != sizeof v) return 9;
    for (int i = 0; i < N; i++)
        if (v[(N + i) * LINE] > v[i * LINE]) return 1;
    return 0;
}
