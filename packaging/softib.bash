# SPDX-License-Identifier: BSD-2-Clause
# Completion for softib in bash. softib itself knows what may stand where: src/app/cli/complete.h.

_softib() {
    # Bash cuts words at ':' and '=', softib does not: they are put together again, and `first` has
    # the place in COMP_WORDS at which each of them begins.
    local -a words=() first=() lines=()
    local i word joined=
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ -n $joined || $word == [:=]* ]] && ((${#words[@]} > 0)); then
            words[-1]+=$word
        else
            words+=("$word")
            first+=("$i")
        fi
        joined=
        [[ $word == *[:=] ]] && joined=yes
    done
    mapfile -t lines < <("$1" __complete "${words[@]}" 2>/dev/null)
    ((${#lines[@]} > 0)) || return
    local kind=${lines[-1]} cur=${COMP_WORDS[COMP_CWORD]} before=${words[-1]}
    unset 'lines[-1]'
    COMPREPLY=()
    case $kind in
        :files | :directories)
            [[ $cur == = ]] && cur=
            compopt -o filenames 2>/dev/null
            [[ $kind == :files ]] && mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            [[ $kind == :files ]] || mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            ;;
        :program*)
            i=${first[${kind#:program }]:-$COMP_CWORD}
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$i"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$i"
            elif ((i == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            ;;
        *)
            # Only what stands behind the last cut is replaced.
            before=${before%"${before##*[:=]}"}
            for word in "${lines[@]}"; do
                word=${word%%$'\t'*}
                COMPREPLY+=("${word#"$before"}")
            done
            ;;
    esac
}

complete -F _softib softib
