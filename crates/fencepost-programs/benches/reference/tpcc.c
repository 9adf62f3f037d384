/* New order of TPC-C, one warehouse: 5 to 15 lines, each a sold item, 1 % of the orders with an item that does not exist. */
#include "oltp.h"
#include <string.h>

#define ITEMS 10000
#define DISTRICTS 10
#define CUSTOMERS 300
#define ORDERS 300
#define LOCKS 4096
#define LINES 15
#define EACH (ORDERS + MOST)

struct warehouse { uint64_t id; word tax; char rest[112]; };
struct district { uint64_t id; word next, tax; char rest[104]; };
struct customer { uint64_t id; word discount, credit, last[2]; char rest[664]; };
struct item { uint64_t id; word price, name[3], data[7]; char rest[32]; };
struct stock { uint64_t id; half quantity, ytd, orders, remote; word dist[10][3], data[7]; };
/* Order, new order, lines: a line of memory each. */
struct block { word order[8], new_order[8], lines[LINES][8]; };

struct line { uint64_t item, supply, quantity; };
struct input { uint64_t district, customer, entered, len; struct line lines[LINES]; };
struct found { struct item *item; struct stock *stock; uint64_t lock; };

static struct warehouse *warehouse;
static struct district *districts;
static struct stock *stocks;
static struct index customers, items, stock_index;
static word *by_order, *by_new_order;
static lock_t *district_locks, *stock_locks;

static inline int original(const uint64_t *text) {
    const char *bytes = (const char *)text;
    for (int i = 0; i <= 50 - 8; i++) {
        uint64_t window;
        memcpy(&window, bytes + i, 8);
        if (window == 0x4c414e494749524full) return 1;
    }
    return 0;
}

static uint64_t new_order(const struct input *in) {
    struct found found[LINES];
    for (uint64_t i = 0; i < in->len; i++) {
        const struct line *l = &in->lines[i];
        found[i].item = find(&items, l->item + 1);
        if (!found[i].item) return 0;
        found[i].stock = find(&stock_index, l->supply << 32 | (l->item + 1));
        found[i].lock = (uint64_t)(found[i].stock - stocks) * LOCKS / ITEMS;
    }
    lock(&district_locks[in->district]);
    uint64_t last = ~0ull;
    for (uint64_t i = 0; i < in->len; i++)
        if (found[i].lock != last) lock(&stock_locks[last = found[i].lock]);
    begin();
    struct district *d = &districts[in->district];
    uint64_t tax = warehouse->tax + d->tax, number = d->next, total = 0, brands = 0, text = 0;
    struct customer *c = find(&customers, in->district << 32 | (in->customer + 1));
    uint64_t discount = c->discount;
    text ^= c->credit ^ c->last[0] ^ c->last[1];
    word *index = by_order + in->district * EACH + number, *new_index = by_new_order + in->district * EACH + number;
    announce(&d->next, 1);
    announce(index, 1);
    announce(new_index, 1);
    for (uint64_t i = 0; i < in->len; i++) announce((word *)&found[i].stock->quantity, 2);
    announced();
    store(&d->next, number + 1);
    struct block *b = (struct block *)take(sizeof(struct block) / 8);
    fresh(&b->order[0], number + 1);
    fresh(&b->order[1], in->district);
    fresh(&b->order[2], in->customer + 1);
    fresh(&b->order[3], in->entered);
    uint64_t local = 1;
    for (uint64_t i = 0; i < in->len; i++) local &= in->lines[i].supply == 0;
    fresh(&b->order[4], in->len | local << 32);
    fresh(&b->new_order[0], number + 1);
    fresh(&b->new_order[1], in->district);
    store(index, (uint64_t)b);
    store(new_index, (uint64_t)b->new_order);
    for (uint64_t i = 0; i < in->len; i++) {
        const struct line *l = &in->lines[i];
        struct item *item = found[i].item;
        struct stock *s = found[i].stock;
        uint64_t price = item->price, of_item[7], of_stock[7];
        text ^= item->name[0] ^ item->name[1] ^ item->name[2];
        for (int w = 0; w < 7; w++) of_item[w] = item->data[w];
        for (int w = 0; w < 7; w++) of_stock[w] = s->data[w];
        brands += original(of_item) && original(of_stock);
        uint32_t quantity = s->quantity, ordered = (uint32_t)l->quantity;
        store4(&s->quantity, quantity >= ordered + 10 ? quantity - ordered : quantity + 91 - ordered);
        store4(&s->ytd, s->ytd + ordered);
        store4(&s->orders, s->orders + 1);
        if (l->supply) store4(&s->remote, s->remote + 1);
        uint64_t amount = l->quantity * price;
        total += amount;
        word *row = b->lines[i];
        fresh(row, number + 1);
        fresh(row + 1, in->district << 8 | i);
        fresh(row + 2, (l->item + 1) | l->supply << 32);
        fresh(row + 3, l->quantity);
        fresh(row + 4, amount);
        for (int w = 0; w < 3; w++) fresh(row + 5 + w, s->dist[in->district][w]);
    }
    commit();
    last = ~0ull;
    for (uint64_t i = 0; i < in->len; i++)
        if (found[i].lock != last) unlock(&stock_locks[last = found[i].lock]);
    unlock(&district_locks[in->district]);
    return total * (10000 - discount) / 10000 * (10000 + tax) / 10000 + brands + (text & 1);
}

static uint64_t non_uniform(uint64_t a, uint64_t n) {
    return (random_below(a + 1) | (random_below(n) + 1)) % n;
}
static int by_item(const void *a, const void *b) {
    uint64_t x = ((const struct line *)a)->item, y = ((const struct line *)b)->item;
    return (x > y) - (x < y);
}
static void letters(word *to, int words, int mark) {
    for (int w = 0; w < words; w++) to[w] = 0x6161616161616161ull + random_below(26);
    if (mark && !random_below(10)) to[random_below(5)] = 0x4c414e494749524full;
}
int main(int argc, char **argv) {
    uint64_t ops = operations(argc, argv);
    start(MOST, sizeof(struct block) / 8);
    warehouse = memory(sizeof *warehouse);
    warehouse->tax = 1000;
    districts = memory(DISTRICTS * sizeof *districts);
    struct customer *all = memory(DISTRICTS * CUSTOMERS * sizeof *all);
    struct item *item = memory(ITEMS * sizeof *item);
    stocks = memory(ITEMS * sizeof *stocks);
    customers = index_for(DISTRICTS * CUSTOMERS), items = index_for(ITEMS), stock_index = index_for(ITEMS);
    by_order = memory(DISTRICTS * EACH * 8), by_new_order = memory(DISTRICTS * EACH * 8);
    district_locks = memory(DISTRICTS * sizeof(lock_t)), stock_locks = memory(LOCKS * sizeof(lock_t));
    for (uint64_t d = 0; d < DISTRICTS; d++) {
        districts[d].next = ORDERS;
        districts[d].tax = random_below(2001);
        for (uint64_t c = 0; c < CUSTOMERS; c++) {
            struct customer *row = &all[d * CUSTOMERS + c];
            row->discount = random_below(5001);
            letters(row->last, 2, 0);
            put_key(&customers, d << 32 | (c + 1), row);
        }
    }
    for (uint64_t i = 0; i < ITEMS; i++) {
        item[i].price = 100 + random_below(9901);
        letters(item[i].name, 3, 0);
        letters(item[i].data, 7, 1);
        stocks[i].quantity = 10 + (uint32_t)random_below(91);
        for (int d = 0; d < 10; d++) letters(stocks[i].dist[d], 3, 0);
        letters(stocks[i].data, 7, 1);
        put_key(&items, i + 1, &item[i]);
        put_key(&stock_index, i + 1, &stocks[i]);
    }
    struct input *in = memory(MOST * sizeof *in);
    for (uint64_t i = 0; i < MOST; i++) {
        struct input *o = &in[i];
        o->district = random_below(DISTRICTS);
        o->customer = non_uniform(1023, CUSTOMERS);
        o->entered = i + 1;
        o->len = 5 + random_below(11);
        for (uint64_t l = 0; l < o->len; l++) o->lines[l] = (struct line){non_uniform(8191, ITEMS), 0, 1 + random_below(10)};
        qsort(o->lines, o->len, sizeof(struct line), by_item);
        if (!random_below(100)) o->lines[o->len - 1].item = ITEMS;
    }
    uint64_t sum = 0;
    for (uint64_t i = 0; i < ops; i++) sum += new_order(&in[i]);
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
