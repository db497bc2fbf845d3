
# === Guard rails: what could take the host down is not written without a leave; $figure says why ====================

guard_refused() { figure=$guard1; }

# No more than is free: FILE with MemFree, bytes of one, FOLDER of the pool. Nor fewer than are in use.
guard_fits_free() {
    figure=''
    mem_free "$guard1" || return 0
    more=$(((want - ${have:-0}) * guard2))
    if [ "$more" -gt "$free" ]; then
        figure="needs $more bytes more, $free are free"
    elif [ "$more" -lt 0 ] && [ -n "$guard3" ]; then
        get_quietly "$guard3/nr_hugepages"
        in_use=$found
        get_quietly "$guard3/free_hugepages"
        in_use=$((in_use - found))
        [ "$want" -ge "$in_use" ] || figure="$want is below the $in_use in use"
    fi
}

mem_free() {
    free=''
    [ -r "$1" ] || return 1
    while read -r one two three four _; do
        case $one:$three in
        MemFree:*) free=$((two * 1024)) ;;
        Node:MemFree:) free=$((four * 1024)) ;;
        esac
    done <"$1"
    [ -n "$free" ]
}

# A limit, in bytes, is not set below what is used: the kernel would kill to get there.
guard_not_below() {
    figure=''
    get_quietly "$guard1"
    case $want:$found in *[!0-9:]* | :* | *:) return 0 ;; esac
    [ "$want" -ge "$found" ] || figure="$want is below the $found bytes in use"
}

# A group that holds processes itself hands no controllers on.
guard_unpopulated() {
    figure=''
    [ -e "$guard1/cgroup.type" ] || return 0
    get_quietly "$guard1/cgroup.procs"
    [ -z "$found" ] || figure="$guard1 holds processes itself"
}

guard_zero() {
    figure=''
    get_quietly "$guard1"
    [ "${found:-0}" = 0 ] || figure="$found $guard2"
}

# As much as FILE says, times bytes, must be free.
guard_room_for() {
    figure=''
    get_quietly "$guard1"
    needed=$((${found:-0} * guard2))
    mem_free "$guard3" || return 0
    [ "$needed" -le "$free" ] || figure="needs $needed bytes more, $free are free"
}
