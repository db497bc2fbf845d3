# Completion of numatune for fish. numatune itself is asked for what can stand at the cursor.

function __numatune_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l answer ($typed[1] completion fish -- $typed[2..-1] "$word" 2>/dev/null)
    set -l head (string split \t -- $answer[1])
    switch "$head[1]"
        case command
            set -l line (string escape -- $typed[(math $head[2] + 2)..-1]) (string escape -n -- "$word")
            complete -C (string join ' ' -- $line)
            return
        case files
            for found in (__fish_complete_path (string replace -- "$head[2]" '' "$word"))
                printf '%s%s\n' "$head[2]" $found
            end
    end
    printf '%s\n' $answer[2..-1]
end

complete -c numatune -f -a '(__numatune_complete)'
