"""Every slot below the head holds its value; every acknowledged operation is below the head."""
import os
import struct
import sys

image = open(sys.argv[1], "rb").read()
(head,) = struct.unpack_from("<Q", image, 0)
acked = int(os.environ["FENCEPOST_ACKED"].split(",")[0])
if head < acked:
    sys.exit(f"{acked} operations acknowledged, but the head is {head}")
for n in range(head):
    (value,) = struct.unpack_from("<Q", image, 64 + 64 * n)
    if value != 1000 + n:
        sys.exit(f"slot {n} is below the head and holds {value}")
