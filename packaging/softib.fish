# SPDX-License-Identifier: BSD-2-Clause
# Completion for softib in fish. softib itself knows what may stand where: src/app/cli/complete.h.

function __softib_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    switch "$lines[-1]"
        case :files
            __fish_complete_path "$current"
        case :directories
            __fish_complete_directories "$current"
        case ':program *'
            # Counted from 0 behind "softib".
            set -l at (math (string replace ':program ' '' -- $lines[-1]) + 2)
            complete -C (string join ' ' -- (string escape -- $words[$at..-1]) "$current")
        case '*'
            if set -q lines[2]
                string join \n -- $lines[1..-2]
            end
    end
end

complete -c softib -f -a '(__softib_complete)'
