
# === The kernel command line: looked at, never written ==============================================================

# present|absent PARAMETER
cmdline() {
    kind=cmdline want=$2 have=$1 there=yes same=text
    due || return 0
    told_at_boot "$2"
    if [ "$said" = "$1" ]; then have=$want; else have=$said reach='reboot:needs the kernel command line and a reboot'; fi
    turn
}

told_at_boot() {
    said=absent
    get_quietly /proc/cmdline
    for one in $found; do
        [ "$one" != -- ] || break
        name=$(printf '%s' "${one%%=*}" | tr - _)
        [ "$name" = "$(printf '%s' "${1%%=*}" | tr - _)" ] || continue
        case $1 in *=*) ;; *) said=present ;; esac
        case ",${one#*=}," in *",${1#*=},"*) said=present ;; esac
    done
}
