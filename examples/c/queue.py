"""A queue in persistent memory that writes fencepost's log by itself: any language can."""
import inspect
import sys

log = open(sys.argv[1], "w")
print("fencepost-log 1\npersistent 0x100000 4096", file=log)


def line(text):
    print(f"0 {text} @ queue.py:{inspect.stack()[2].lineno}", file=log)


def store(offset, value):
    line(f"store pm+{offset:#x} {value}")


def flush(offset):
    line(f"clwb pm+{offset:#x}")


def fence():
    line("sfence")


HEAD, SLOTS = 0, 64
for n in range(4):
    print(f"0 begin {n}", file=log)
    store(SLOTS + 64 * n, 1000 + n)
    flush(SLOTS + 64 * n)
    store(HEAD, n + 1)  # the mistake: no fence before it
    flush(HEAD)
    fence()
    print(f"0 end {n}\n0 ack {n}", file=log)
