
# WANT UNIT ASPECT [PROGRAM]: ASPECT is active, enabled or masked.
unit_state() {
    kind=unit_state same=text want=$1 unit=$2 aspect=$3 store=$kept
    due || return 0
    [ "$mode" != give_back ] || [ "$aspect" = "$aspect_now" ] || return 0
    if ask_unit "$unit" UnitFileState; then
        there=yes
        case $aspect in
        active)
            have=active
            case $active in inactive | failed | '') have=inactive && runs_without_unit "${4:-}" ;; esac
            ;;
        enabled) same=off_at_boot have=$value ;;
        masked) same=masked have=$value ;;
        esac
    elif [ "$aspect" = active ] && [ ! -d /run/systemd/system ]; then
        reach='' there=yes have=inactive
        runs_without_unit "${4:-}"
    fi
    turn
}

# A program that no unit started is told, and left alone.
runs_without_unit() {
    [ -n "$1" ] || return 0
    set +f
    for one in /proc/[0-9]*/comm; do
        get_quietly "$one"
        if [ "$found" = "$1" ]; then
            have=active reach="drifted:$1 runs outside of the unit, which stops units and not processes ($one)"
        fi
    done
    set -f
}

write_unit_state() {
    case $aspect:$1 in
    active:active) tell_unit start -- "$unit" ;;
    active:*) tell_unit stop -- "$unit" ;;
    enabled:enabled) tell_unit enable -- "$unit" ;;
    enabled:enabled-runtime) tell_unit enable --runtime -- "$unit" ;;
    enabled:*) if [ "$have" = enabled-runtime ]; then tell_unit disable --runtime -- "$unit"; else tell_unit disable -- "$unit"; fi ;;
    masked:masked) tell_unit mask -- "$unit" ;;
    masked:masked-runtime) tell_unit mask --runtime -- "$unit" ;;
    masked:*) tell_unit unmask -- "$unit" ;;
    esac
}

used_unit_state() { [ "$aspect" = active ] && [ "$have" = active ]; }
