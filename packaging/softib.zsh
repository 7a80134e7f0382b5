#compdef softib
# SPDX-License-Identifier: BSD-2-Clause
# Completion for softib in zsh. softib itself knows what may stand where: src/app/cli/complete.h.

_softib() {
    local -a lines values meanings
    local kind line
    lines=("${(@f)$("${words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    kind=${lines[-1]}
    lines[-1]=()
    case $kind in
        :files) _files ;;
        :directories) _files -/ ;;
        :program*)
            shift $((${kind#:program } + 1)) words
            ((CURRENT -= ${kind#:program } + 1))
            _normal
            ;;
        *)
            for line in $lines; do
                values+=("${line%%$'\t'*}")
                meanings+=("${line/$'\t'/ -- }")
            done
            compadd -l -d meanings -a values
            ;;
    esac
}

_softib "$@"
