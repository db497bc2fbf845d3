
# Controllers that a group hands on: those that came with us go again, but where a group below still has settings.
take_back_members() {
    text=''
    for one in $have; do
        case " $was " in *" $one "*) continue ;; esac
        still_used "${path%/*}" "$one" || text="$text -$one"
    done
    for one in $was; do case " $have " in *" $one "*) ;; *) text="$text +$one" ;; esac done
    [ -z "$text" ] || put "${text# }" "$path" || :
}

still_used() {
    set +f
    for below in "$1"/*/; do
        case $2 in
        cpuset) for one_file in cpuset.cpus cpuset.mems; do
            get_quietly "$below$one_file"
            [ -z "$found" ] || { set -f && return 0; }
        done ;;
        memory) for one_file in memory.max memory.high; do
            get_quietly "$below$one_file"
            case $found in max | '') ;; *) set -f && return 0 ;; esac
        done ;;
        esac
    done
    set -f
    return 1
}
