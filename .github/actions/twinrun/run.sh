#!/usr/bin/env bash
# Runs twinrun once, keeps its result as JSON, and renders it as annotations, job summary and SARIF.
set -uo pipefail
result=$(mktemp)
# All lines of an input are read, up to its end, which `read` reports as a failure.
read -r -d '' -a command <<<"${TWINRUN_ACTION_COMMAND:-check}" || true
read -r -d '' -a arguments <<<"${TWINRUN_ACTION_ARGUMENTS:-}" || true
# Options stand right after the verb: `command` may name the program too, which takes whatever follows it.
case ${command[0]-} in baseline | env) words=2 ;; *) words=1 ;; esac
twinrun "${command[@]:0:words}" --output-format json --output-file "$result" \
  "${command[@]:words}" ${arguments[@]+"${arguments[@]}"}
code=$?
if [ -s "$result" ]; then
  twinrun report --output-format github "$result"
  if [ -n "${TWINRUN_ACTION_SARIF:-}" ]; then
    twinrun report --output-format sarif --output-file "$TWINRUN_ACTION_SARIF" "$result"
  fi
fi
case $code in 0) verdict=repeats ;; 1) verdict=diverges ;; *) verdict=undecided ;; esac
{
  echo "verdict=$verdict"
  echo "exit-code=$code"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [ "$code" -eq 2 ] && [ "${TWINRUN_ACTION_STRICT:-true}" = "false" ]; then
  exit 0
fi
exit "$code"
