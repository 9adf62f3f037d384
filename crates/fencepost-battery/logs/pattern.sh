# Of four records that nothing orders the first and the third may not survive alone. No end and no single deviation from one shows that.
byte() { od -An -tu1 -j"$2" -N1 "$1" | tr -d ' '; }
if [ -n "$FENCEPOST_READS" ]; then printf 'read %s 8\n' 0 64 128 192 >"$FENCEPOST_READS"; fi
[ "$(byte "$1" 0)$(byte "$1" 64)$(byte "$1" 128)$(byte "$1" 192)" != 1010 ]
