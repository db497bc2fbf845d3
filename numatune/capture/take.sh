# Reads the files that the globs name and writes them to standard output, framed. Writes nothing anywhere else, installs
# nothing, needs a POSIX shell with cat and ls. Before this text stand assignments of mark, root, asks and properties and
# the functions globs and units, which print one a line; behind it stands the call of main. Nobody on the host can know
# the mark, so no file can forge a frame.
#
#   \nMARK separator\n...     the text that stands before, between and after the files of a batch
#   \nMARK list\n...          ls -ldn of a batch
#   \nMARK links\n...         of links: f, d or - for what they lead to, and the path
#   \nMARK files\n...         paths, one a line;  \nMARK data\n...  their contents with separators
#   \nMARK again\n            the batch had an unreadable file: its data is void, and each file follows by itself:
#   \nMARK file PATH\n...     and  \nMARK code N\nWORDS  how reading it ended
#   \nMARK ask UNIT\n...      and  \nMARK code N\nWORDS  what systemctl said
#   \nMARK end\n              nothing was cut off

frame() { printf '\n%s %s\n' "$mark" "$1"; }

# A file's content to standard output, then its frame of code and words.
one() {
    frame "$1"
    shift
    { words=$("$@" 2>&1 >&3 </dev/null); code=$?; } 3>&1
    frame "code $code"
    printf '%s' "$words"
}

# One list and one cat for many files: a process for each would take minutes on a large host.
batch() {
    [ $# -gt 0 ] || return 0
    frame list
    ls -ldn -- "$@" 2>/dev/null </dev/null
    frame links
    for path do
        [ -h "$path" ] || continue
        if [ -f "$path" ]; then kind=f; elif [ -d "$path" ]; then kind=d; else kind=-; fi
        printf '%s %s\n' "$kind" "$path"
    done
    for path do
        shift
        [ ! -f "$path" ] || set -- "$@" "$path"
    done
    [ $# -gt 0 ] || return 0
    frame files
    printf '%s\n' "$@"
    frame data
    for path do
        shift
        set -- "$@" "$path" "$separator"
    done
    if cat -- "$separator" "$@" 2>/dev/null </dev/null; then return 0; fi
    frame again
    for path do
        [ "$path" = "$separator" ] || one "file $path" cat -- "$path"
    done
}

files() {
    set --
    while IFS= read -r glob; do
        for path in $glob; do
            path=${path%/}
            [ -e "$path" ] || [ -h "$path" ] || continue
            case $path in *"$newline"*) continue ;; esac
            set -- "$@" "$path"
            if [ $# -ge 128 ]; then
                batch "$@"
                set --
            fi
        done
    done
    batch "$@"
}

# Every slice that is loaded besides the units that are named. Only where systemd is process 1.
ask() {
    [ "$asks" = yes ] && [ -d run/systemd/system ] && command -v systemctl >/dev/null || return 0
    while IFS= read -r unit; do
        one "ask $unit" systemctl show $properties -- "$unit"
    done
    systemctl list-units --type=slice --all --plain --no-legend --no-pager </dev/null 2>/dev/null |
        while read -r unit rest; do
            one "ask $unit" systemctl show $properties -- "$unit"
        done
}

main() {
    LC_ALL=C
    export LC_ALL
    PATH=${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
    export PATH
    separator=/proc/version
    newline='
'
    cd -- "$root" || exit 1
    frame separator
    cat "$separator" </dev/null || exit 1
    IFS=$newline
    globs | files
    IFS=' '
    units | ask
    frame end
}
