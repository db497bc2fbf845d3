
# === Files of the kernel ============================================================================================

# The first line of a file, in $have, and whether the file is there. Of a sysctl a kernel tells the whole value to the
# first read only, and some shells read letter by letter.
get() {
    have='' there=no
    [ -e "$1" ] || return 0
    there=yes
    case $1 in
    /proc/sys/*) have=$(cat "$1" 2>/dev/null) ;;
    *) { IFS= read -r have <"$1"; } 2>/dev/null || : ;;
    esac
}

# TEXT FILE: one write, and nothing else; $refusal is what the system said against it.
put() {
    if refusal=$({ if [ -n "$1" ]; then printf '%s' "$1"; else echo; fi | cat >"$2"; } 2>&1); then return 0; fi
    refusal=${refusal##*: }
    return 1
}

# Why root could not write there, in $reach: no mode lets it, or the mount is read-only.
reach() {
    case $(ls -ld "$1") in
    ??w*) [ "$root" = no ] || [ -w "$1" ] || reach='denied:it is on a read-only mount' ;;
    *) reach='denied:its mode lets nobody write it' ;;
    esac
}

# SAME WANT FILE...: the first of the files that is there.
file() {
    kind=file same=$1 want=$2
    due || return 0
    shift 2
    path=$1
    for one in "$@"; do if [ -e "$one" ]; then path=$one && break; fi done
    get "$path"
    if [ "$there" = yes ] && ! holds; then reach "$path"; fi
    turn
}

# SAME FILE...: nothing is wanted of it; it is kept because another row's write moves it.
watch() {
    kind=watch same=$1
    due || return 0
    shift
    path=$1
    for one in "$@"; do if [ -e "$one" ]; then path=$one && break; fi done
    get "$path"
    turn
}

write_watch() { put "$1" "$path"; }

write_file() {
    text=$1
    if [ "$same" = members ] && [ "$mode" = write ]; then
        text=''
        for one in $want; do case " $have " in *" $one "*) ;; *) text="$text +$one" ;; esac done
        text=${text# }
    fi
    put "$text" "$path"
}

# Running work stands on a file of a group that holds processes.
used_file() { is_populated "${path%/*}"; }

is_populated() {
    if [ -e "$1/cgroup.events" ]; then
        while IFS= read -r line; do [ "$line" != 'populated 1' ] || return 0; done <"$1/cgroup.events"
        return 1
    fi
    get_quietly "$1/cgroup.procs"
    [ -n "$found" ]
}

get_quietly() {
    found=''
    [ ! -e "$1" ] || { IFS= read -r found <"$1"; } 2>/dev/null || :
}
