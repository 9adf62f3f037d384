# Reads the second record only where it is there, and says so: what it read on by is in none of its reports.
byte() { od -An -tu1 -j"$2" -N1 "$1" | tr -d ' '; }
if [ -n "$FENCEPOST_READS" ]; then
  printf 'read 0 8\n' >"$FENCEPOST_READS"
  if [ "$(byte "$1" 64)" = 1 ]; then printf 'read 64 8\n' >>"$FENCEPOST_READS"; fi
fi
