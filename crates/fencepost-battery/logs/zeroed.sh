# What the log says of memory before it overrides the image.
[ "$(od -An -tu1 -j0 -N1 "$1" | tr -d " ")" = 0 ]
