# Completion of numatune for bash. numatune itself is asked for what can stand at the cursor.

_numatune() {
    local line=${COMP_LINE:0:COMP_POINT} kind begin word stays value IFS=$'\n'
    local -a answer found
    COMPREPLY=()
    mapfile -t answer < <("${1/#\~\//$HOME/}" completion --line "$line" bash 2>/dev/null)
    kind=${answer[0]%%$'\t'*}
    begin=${answer[0]#*$'\t'}
    word=${begin#*$'\t'}
    begin=${begin%%$'\t'*}
    if [[ $kind == command ]]; then
        _numatune_command "$begin" "$word"
        return
    fi
    # bash begins a new word at each of : and =, and replaces that alone
    stays=
    [[ $COMP_WORDBREAKS == *:* && $word == *:* ]] && stays=${word%"${word##*:}"}
    [[ $COMP_WORDBREAKS == *=* && ${word#"$stays"} == *=* ]] && stays=${word%"${word##*=}"}
    for value in "${answer[@]:1}"; do
        value=${value%%$'\t'*}
        [[ $value == "$word"* ]] && COMPREPLY+=("${value#"$stays"}")
    done
    if [[ $kind == files ]]; then
        mapfile -t found < <(compgen -f -- "${word#"$begin"}")
        for value in "${found[@]}"; do
            value=$begin$value
            COMPREPLY+=("${value#"$stays"}")
        done
        [[ ${#found[@]} -gt 0 ]] && compopt -o filenames 2>/dev/null
    fi
}

# Somebody else's command line begins at that word after numatune, of which bash may have made several.
_numatune_command() {
    local at=$(($1 + 1)) other
    for other in "${!COMP_WORDS[@]}"; do
        [[ ${COMP_WORDS[other]} == -- ]] && at=$((other + 1)) && break
    done
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$at"
    elif ((COMP_CWORD == at)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$2")
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$2")
    fi
}

complete -F _numatune numatune
