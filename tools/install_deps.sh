#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Installs what packaging/packages.txt lists and the system lacks; with the argument "demo", what it
# lists for the demo. Without anything missing it needs neither root nor the network.
set -euo pipefail
list=$(dirname "$0")/../packaging/packages.txt
last='$'
[[ ${1:-} == demo ]] && last='/^# So much for the demo/'

missing=()
while read -r package; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $status == installed ]] || missing+=("$package")
done < <(sed -n "1,${last}p" "$list" | sed 's/#.*//; s/[[:space:]]*$//; /^$/d')
((${#missing[@]})) || exit 0

echo "missing packages: ${missing[*]}"
as_root=()
if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
        echo "installing them takes root, and there is no sudo. As root, run:" >&2
        echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing[@]}"
