#!/bin/sh
# Checks one example that repeats and one that does not, and writes a report. Exits 0 when both verdicts are right.
# `make demo` sets TWINRUN to the twinrun of the project's own virtual environment.
set -u
cd "$(dirname "$0")/.." || exit 2
twinrun=${TWINRUN:-twinrun}
out=build/demo
rm -rf "$out" && mkdir -p "$out" || exit 2
failed=0

try() {  # expected-exit-code, name, options...
    expected=$1 name=$2
    shift 2
    printf '\n$ twinrun check examples/%s.py\n' "$name"
    "$twinrun" check --dir "$out/$name" "$@" "examples/$name.py"
    code=$?
    if [ "$code" -ne "$expected" ]; then
        printf 'demo: expected exit code %s, got %s\n' "$expected" "$code" >&2
        failed=1
    fi
}

try 0 repeats
try 1 follows_the_advice --budget 60s --html "$out/report.html"

if [ ! -s "$out/report.html" ]; then
    echo "demo: no report was written" >&2
    failed=1
fi
if [ "$failed" -eq 0 ]; then
    printf '\nBoth verdicts are as expected. The report: %s\n' "$out/report.html"
fi
exit "$failed"
