
# SAME WANT UNIT PROPERTY [twice]: given at run time; kept by systemd for a unit that does not run.
unit_property() {
    kind=unit_property same=$1 want=$2 unit=$3 property=$4 twice=${5:-}
    due || return 0
    if ask_unit "$unit" "$property"; then
        there=yes have=$value
        if [ "$loaded" = not-found ]; then there=no reach='unsupported:the unit is not installed'; fi
        if [ "$known" = no ]; then there=no reach="unsupported:this version of systemd has no $property="; fi
    fi
    idle_group=${effective%/*}
    [ -z "$effective" ] || effective=${group:+$cgroups$group/${effective##*/}}
    turn
}

# cpuset.mems moves the pages of running tasks, but not with the write that switches cpuset on: so it is given twice.
write_unit_property() {
    if [ -n "$twice" ] && [ -z "$have" ] && [ -n "$1" ] && [ "$1" != "$everything" ]; then
        set_property "$1" && set_property "$everything" || return 1
    fi
    set_property "$1" || return 1
    case $1 in '' | infinity) drop_idle_group ;; esac
}

set_property() { tell_unit set-property --runtime -- "$unit" "$property=$1"; }

# A slice that gets a property while it does not run is given a group by systemd, which keeps it.
drop_idle_group() {
    if [ "$active" = inactive ] && [ -n "$idle_group" ]; then rmdir "$idle_group" 2>/dev/null || :; fi
}

used_unit_property() { [ -n "$group" ] && is_populated "$cgroups$group"; }
