
# === What was asked for =============================================================================================

usage() {
    cat <<END
usage: $0 plan | apply | reapply | rollback [OPTION...]

  plan       what would change here; changes nothing, needs no root
  apply      make it so, keeping the originals (apply --dry-run is plan)
  reapply    the same, for a boot or after a device came back
  rollback   give back what was there before

  --allow-disruption   let in what stalls, cuts or kills running work
  --allow-unsafe ID    write this setting beyond its guard rail
  --allow-debugfs      write what lies in debugfs, where the kernel checks nothing
  --only SECTION,...   these sections alone
  --differences-ok     exit 0 also when differences remain (not 2)
  --boot               of reapply: as --differences-ok
  --force              also on a host with other nodes or CPUs than those it was made for
  --wait SECONDS       for another run to end (60)
  -v                   also what is as wanted

Originals are kept in $kept and $live.
Exit codes: 0 done or clean, 1 an error, 2 differences remain, 64 wrong command line, 75 another run holds the lock.
END
}

die() {
    printf '%s\n' "error: $1" >&2
    exit "${2:-1}"
}

wrong() {
    usage >&2
    die "$1" 64
}

asked() {
    [ $# -gt 0 ] || wrong 'no command'
    case $1 in
    plan | apply | reapply | rollback) command=$1 ;;
    -h | --help | help)
        usage
        exit 0
        ;;
    *) wrong "no command $1" ;;
    esac
    shift
    while [ $# -gt 0 ]; do
        case $1 in
        --allow-unsafe | --only | --wait) [ $# -gt 1 ] || wrong "$1 needs a value" ;;
        esac
        case $1 in
        --dry-run) command=plan ;;
        --allow-disruption) disruption=yes ;;
        --allow-debugfs) debugfs=yes ;;
        --allow-unsafe) unsafe="$unsafe $2" && shift ;;
        --only) only=$2 && shift ;;
        --wait)
            case $2 in '' | 0?* | *[!0-9]*) wrong "--wait takes seconds, not $2" ;; esac
            patience=$2 && shift
            ;;
        --differences-ok | --boot) differences=0 ;;
        --force) force=yes ;;
        -v) verbose=yes ;;
        *) wrong "no option $1" ;;
        esac
        shift
    done
    sections_there
    [ "$command" != rollback ] || [ -z "$only" ] || wrong 'rollback takes everything back: no --only'
}

# A section that is not there is a mistake; of reapply, which units call for several, where it has none of them.
sections_there() {
    rest=${only:+$only,} there=no odd=''
    while [ -n "$rest" ]; do
        one=${rest%%,*} rest=${rest#*,}
        case " $sections " in *" $one "*) there=yes ;; *) odd=$one ;; esac
    done
    [ "$command" != reapply ] || [ "$there" = no ] || return 0
    [ -z "$odd" ] || wrong "--only: no section $odd; there are: $sections"
}

# Whether this is the host that it was made for, as far as nodes and CPUs tell.
check_host() {
    get /sys/devices/system/node/online
    [ "$have" = "$made_for_nodes" ] || another_host "nodes ${have:-none}" "nodes ${made_for_nodes:-none}"
    get /sys/devices/system/cpu/online
    [ "$have" = "$made_for_cpus" ] || another_host "CPUs $have" "CPUs $made_for_cpus"
}

another_host() {
    [ "$force" = yes ] && return
    die "this host has $1, and this was made for one with $2. Export it anew for this host, or --force"
}
