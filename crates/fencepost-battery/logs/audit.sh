# A flag at 0x40 vouches for the record 41 at 0; an acknowledged operation of the last thread has set it.
byte() { od -An -tu1 -j"$2" -N1 "$1" | tr -d ' '; }
if [ -n "$FENCEPOST_READS" ]; then printf 'read 64 8\nread 0 8\n' >"$FENCEPOST_READS"; fi
[ "$(byte "$1" 64)" = 0 ] || [ "$(byte "$1" 0)" = 41 ] || exit 1
[ "${FENCEPOST_ACKED##*[ ,]}" = 0 ] || [ "$(byte "$1" 64)" = 1 ]
