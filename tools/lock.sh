#!/bin/sh
# Writes requirements.lock (app, tests, starter) and requirements-dev.lock (the same and the linters):
# every version with its hashes, for Linux, macOS and Windows, Python 3.11 and newer, no index named.
set -eu
cd "$(dirname "$0")/.."
compile() {
    output=$1
    shift
    ${UV:-uv} pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --extra starter --group build --group test "$@" pyproject.toml --output-file "$output"
}
compile requirements.lock
compile requirements-dev.lock --group lint --group maintain
