# As pattern.sh, but says of what it reads what nobody understands: then it may have read anything.
byte() { od -An -tu1 -j"$2" -N1 "$1" | tr -d ' '; }
if [ -n "$FENCEPOST_READS" ]; then printf 'read 0 8\nreads the rest\n' >"$FENCEPOST_READS"; fi
[ "$(byte "$1" 0)$(byte "$1" 64)$(byte "$1" 128)$(byte "$1" 192)" != 1010 ]
