
# === Modules of the kernel ==========================================================================================

# WANT NAME: loaded or absent. What is built in counts as loaded, and never goes.
module() {
    kind=module want=$1 name=$2 path=/sys/module/$2
    due || return 0
    if is_builtin "$2" || [ -e "$path" ]; then have=loaded; else have=absent; fi
    if [ -d /sys/module ]; then there=yes; else there=no; fi
    if [ "$want:$have" = absent:loaded ]; then
        [ -e "$path/initstate" ] || reach='unchangeable:it is built into this kernel'
    elif [ "$want" != "$have" ]; then
        comes "$2" || reach='unsupported:this kernel has no such module, or loads none'
    fi
    turn
}

is_builtin() {
    get /proc/sys/kernel/osrelease
    list=/lib/modules/$have/modules.builtin
    [ -e "$list" ] && grep -q "/$(printf '%s' "$1" | sed 's/[-_]/[-_]/g')[.]ko" "$list"
}

comes() { [ -e /proc/modules ] && modprobe --dry-run -- "$1" >/dev/null 2>&1; }

write_module() {
    case $1 in
    loaded) refusal=$(modprobe -- "$name" 2>&1) ;;
    absent) refusal=$(rmmod -- "$name" 2>&1) ;;
    esac
}
