#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs the packages of packaging/packages.txt that are missing. If none is missing, it needs
# neither root nor the network.
#     install_deps.sh                    all
#     install_deps.sh demo               those for the demo
#     install_deps.sh beside COMMAND...  those for the release build, then the others of make test
#                                        while COMMAND runs; the exit status is COMMAND's
set -euo pipefail
list=$(dirname "$0")/../packaging/packages.txt
as_root=()
((EUID == 0)) || as_root=(sudo)

# missing LAST: prints the packages down to the line LAST that are not installed, one a line.
missing() {
    local package unless status
    sed -n "1,$1p" "$list" | sed 's/#.*//; s/ unless / /; s/[[:space:]]*$//; /^$/d' |
        while read -r package unless; do
            [[ -n $unless ]] && command -v "$unless" >/dev/null && continue
            status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
            [[ $status == installed ]] || echo "$package"
        done
}

# install LAST: installs the packages that `missing LAST` prints.
install() {
    local packages
    mapfile -t packages < <(missing "$1")
    ((${#packages[@]})) || return 0
    echo "missing packages: ${packages[*]}"
    if ((${#as_root[@]})) && ! command -v sudo >/dev/null; then
        echo "installing them takes root, and there is no sudo. As root, run:" >&2
        echo "  apt-get install --no-install-recommends ${packages[*]}" >&2
        return 1
    fi
    "${as_root[@]}" apt-get update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends "${packages[@]}"
}

# install_beside COMMAND...: does what the head of this file says of "beside". If sudo would ask for
# a password, all packages are installed before COMMAND runs.
install_beside() {
    local all='/^# So much for make test;/'
    install '/^# So much for the release build/'
    if [[ -z $(missing "$all") ]] || ! { ((EUID == 0)) || sudo -n true 2>/dev/null; }; then
        install "$all"
        exec "$@"
    fi
    local log installer status=0
    log=$(mktemp)
    echo "installing more packages, for the tests, beside the build"
    (install "$all") >"$log" 2>&1 </dev/null &
    installer=$!
    "$@" || status=$?
    # The installer is not ended half-way, because apt would have to repair that.
    if ! wait "$installer"; then
        cat "$log" >&2
        ((status)) || status=1
    fi
    rm -f "$log"
    return "$status"
}

case ${1:-} in
    "") install '$' ;;
    demo) install '/^# So much for the demo/' ;;
    beside) install_beside "${@:2}" ;;
    *)
        echo "install_deps.sh: what is '$1'? It takes nothing, demo, or beside COMMAND..." >&2
        exit 2
        ;;
esac
