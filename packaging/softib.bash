# SPDX-License-Identifier: BSD-2-Clause
# Completion for softib in bash.

_softib_fabrics() {
    softib list --json 2>/dev/null | sed -n 's/^ *"name": "\(.*\)",$/\1/p'
}

_softib_hosts() {
    softib status --json ${1:+-f "$1"} 2>/dev/null |
        sed -n '/"switches"/q; s/^      "name": "\(.*\)",$/\1/p'
}

_softib_switches() {
    softib route show ${1:+-f "$1"} 2>/dev/null | awk 'NR > 1 { print $1 }'
}

_softib() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} fabric= words= i
    local shape="--config --from --topology --hosts --hcas --radix --levels --dimensions
        --hosts-per-switch --groups --switches-per-group --generation --device-pattern
        --host-pattern --arena --data-path --link-scale --link-layer --roce-address-base
        --roce-addresses --trunk --trunk-key --site --sm --sm-args
        --engine --partitions --lid-file --lmc --qos --max-op-vls
        --vlarb-high --vlarb-low --high-limit --sl2vl --addresses"
    COMPREPLY=()

    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            # What follows is a command line of its own.
            if declare -F _command_offset >/dev/null && ((COMP_CWORD > i)); then
                _command_offset $((i + 1))
            fi
            return
        fi
        [[ ${COMP_WORDS[i]} == -f || ${COMP_WORDS[i]} == --fabric ]] && fabric=${COMP_WORDS[i + 1]}
    done

    if [[ $command == routes && $prev == dump ]]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        return
    fi
    case $prev in
        -f | --fabric) words=$(_softib_fabrics) ;;
        --topology) words="single-switch fat-tree torus dragonfly" ;;
        --sm) words="softib opensm none" ;;
        --link-layer) words="infiniband ethernet" ;;
        --mpi) words="openmpi mpich" ;;
        --generation) words="EDR HDR NDR XDR" ;;
        -c | --config | --from | --partitions | --lid-file | --trunk-key | --dot | --svg | --ibnetdiscover | --ibsim)
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
    esac
    if [[ -z $words ]]; then
        if ((COMP_CWORD == 1)); then
            words="up down list status addr topo exec run env mpirun route routes link fault capture switch sm help --help --version"
        else
            case $command in
                up) words="$shape --foreground --json" ;;
                down) words="--all $(_softib_fabrics)" ;;
                list) words="--json" ;;
                status) words="-f -v --json" ;;
                addr) words="-f --json" ;;
                topo) words="-f --dot --svg --ibnetdiscover --ibsim --json $shape" ;;
                exec) words="-f --ns --rsockets --enforce-memlock -- $(_softib_hosts "$fabric")" ;;
                env) words="-f --rsockets --enforce-memlock $(_softib_hosts "$fabric")" ;;
                run) words="$shape --ns --enforce-memlock --" ;;
                mpirun)
                    mapfile -t COMPREPLY < <(compgen -W "-f -n --mpi --" -- "$cur"; compgen -f -- "$cur")
                    return
                    ;;
                route) words="-f show set clear $(_softib_switches "$fabric")" ;;
                routes) words="-f check dump --all --json" ;;
                link) words="-f up down $(_softib_switches "$fabric")" ;;
                fault) words="-f --drop --corrupt --delay --rate --clear --json" ;;
                capture) words="-f -w --write -s --snaplen -c --count" ;;
                switch) words="-f kill revive $(_softib_switches "$fabric")" ;;
                sm) words="-f status resweep handover --json" ;;
                help) words="up down list status addr topo exec run env mpirun route routes link fault capture switch sm" ;;
            esac
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _softib softib
