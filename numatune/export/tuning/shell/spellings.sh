
# === Spellings ======================================================================================================
# Text is not compared as text: a kernel shows a value in another way than it takes it. $same names the spelling.

# The short spelling of TEXT, in $shown. SAME TEXT. No remount takes a policy off again: local is the way back to default.
show() {
    spelling=$1
    if [ "$spelling" = exact ]; then
        shown=$2
        return
    fi
    # shellcheck disable=SC2086  # blanks and tabs become one blank
    set -- $2
    shown=$*
    case $spelling in
    choice) case $shown in *\[*\]*) shown=${shown#*\[} && shown=${shown%%\]*} ;; esac ;;
    yes_no) case $shown in Y | y | true) shown=1 ;; N | n | false) shown=0 ;; esac ;;
    list) with_commas ;;
    mask) without_zeros ;;
    policy) case $mode:$shown in ours:default | give_back:default | given_back:default) shown=local ;; esac ;;
    size*) in_pages "${spelling#size}" ;;
    esac
}

with_commas() {
    while :; do case $shown in *' '*) shown=${shown%% *},${shown#* } ;; *) break ;; esac done
}

without_zeros() {
    while :; do case $shown in *,*) shown=${shown%%,*}${shown#*,} ;; 0?*) shown=${shown#0} ;; *) break ;; esac done
}

# Bytes, rounded down to pages of $1 bytes; a limit beyond every machine is none.
in_pages() {
    case $shown in
    max | infinity | -1 | '') shown=max ;;
    ????????????????????*) shown=max ;;
    *[!0-9]*) ;;
    *) if [ "$shown" -ge 4611686018427387904 ]; then shown=max; else shown=$((shown / $1 * $1)); fi ;;
    esac
}

equal() {
    show "$same" "$1"
    first=$shown
    show "$same" "$2"
    [ "$first" = "$shown" ]
}

# Whether $have is as $want asks.
holds() {
    case $same in
    least) reaches "$have" "$want" ;;
    most) reaches "$want" "$have" ;;
    members) all_members ;;
    off_at_boot) case $have in enabled | enabled-runtime) return 1 ;; esac ;;
    masked) case $have in masked | masked-runtime) ;; *) return 1 ;; esac ;;
    *) equal "$want" "$have" ;;
    esac
}

# Whether A is B or more. Some limits of a kernel are beyond a shell's numbers: long ones are compared in two parts.
reaches() {
    case $1:$2 in
    :* | *: | *[!0-9:]*) [ "$1" -ge "$2" ] 2>/dev/null ;;
    ???????????????????*:* | *:???????????????????*) reaches_in_parts "$1" "$2" ;;
    *) [ "$1" -ge "$2" ] ;;
    esac
}

reaches_in_parts() {
    rest1=$1 rest2=$2
    while [ -n "$rest1" ] && [ -n "$rest2" ]; do rest1=${rest1#?} rest2=${rest2#?}; done
    head1=${1%?????????} head2=${2%?????????}
    if [ -n "$rest1$rest2" ]; then
        [ -n "$rest1" ]
    elif [ "$head1" = "$head2" ]; then
        [ "${1#"$head1"}" -ge "${2#"$head2"}" ]
    else
        [ "$head1" -ge "$head2" ]
    fi
}

all_members() {
    for one in $want; do case " $have " in *" $one "*) ;; *) return 1 ;; esac done
}
