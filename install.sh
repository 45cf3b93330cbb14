#!/bin/sh
# install.sh PYTHON ARGUMENT...: `PYTHON -m pip install ARGUMENT...`, showing that it is working. On a fresh machine pip compiles
# llama.cpp, silently, for about five minutes.
python=$1
shift
log=.venv/install.log
printf 'Installing (the first time this compiles llama.cpp, about 5 minutes; log: %s)\n' "$log"
"$python" -m pip install --disable-pip-version-check "$@" >"$log" 2>&1 &
pid=$!
trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
seconds=0
while kill -0 "$pid" 2>/dev/null; do
    sleep 1
    seconds=$((seconds + 1))
    if [ -t 1 ]; then
        printf '\r  %3d s  %-60.60s' "$seconds" "$(tail -n 1 "$log" | tr -cd '[:print:]')"
    elif [ $((seconds % 20)) -eq 0 ]; then
        printf '  %d s  %.100s\n' "$seconds" "$(tail -n 1 "$log" | tr -cd '[:print:]')"
    fi
done
wait "$pid"
status=$?
if [ -t 1 ]; then printf '\r%-72s\r' ''; fi
if [ "$status" -ne 0 ]; then
    echo "The installation failed; the end of its log:" >&2
    tail -n 30 "$log" >&2
    exit "$status"
fi
echo "Installed in $seconds s."
