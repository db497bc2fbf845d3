
# === The runs =======================================================================================================

# MODE ROWS...: goes over these rows once.
pass() {
    mode=$1 coming=' ' stuck=' ' asked_unit=''
    shift
    for some_rows in "$@"; do "$some_rows"; done
}

plan() {
    pass plan stop_units write_files set_values
    echo "differ: $differ"
}

# Units stop before anything else is looked at, because some put old values back as they stop.
apply() {
    { rm -rf "$work" && mkdir -p "$live" "$kept" "$work"; } || die 'no room for the originals; nothing was touched'
    remember
    pass save stop_units
    onto_the_disk
    pass write stop_units
    pass save write_files set_values
    pass save_beside write_files set_values
    onto_the_disk
    pass write write_files set_values
    pass read_back stop_units write_files set_values
    rm -rf "$work"
    echo "changed: $changed, differ: $differ"
}

# Where a write is due: originals must outlive a power cut, and a busy host takes long to sync.
onto_the_disk() { [ -z "$(ls -A "$work")" ] || sync; }

# What another exported set has changed is taken back first, by the script that knows how.
take_other_back() {
    [ -e "$kept/set" ] || return 0
    get "$kept/set"
    [ "$have" != "$set_id" ] || return 0
    sh "$kept/script" rollback || die "the exported set before could not be taken back whole: sh $kept/script rollback. \
What it leaves as it is can stay so: rm -r $kept $live forgets that set"
}

# Whose originals these are, and who knows the way back.
remember() {
    get "$kept/set"
    [ "$have" != "$set_id" ] || return 0
    [ "$there" = no ] || die 'another exported set was applied just now; nothing was touched' 75
    { cat "$0" >"$kept/script" && echo "$set_id" >"$kept/set.new" && mv -f "$kept/set.new" "$kept/set"; } ||
        die "cannot write to $kept; nothing was touched"
}

rollback() {
    [ -e "$kept/set" ] || {
        echo 'nothing to take back'
        return
    }
    get "$kept/set"
    [ "$have" = "$set_id" ] || die "another exported set is applied here: sh $kept/script rollback"
    rm -rf "$work"
    mkdir -p "$live" "$work"
    pass ours stop_units write_files set_values
    pass away take_places_away
    pass give_back set_values write_files
    for aspect_now in masked enabled active; do pass give_back stop_units; done
    pass given_back stop_units write_files set_values
    rm -rf "$work"
    [ "$differ" -gt 0 ] || rm -rf "$live" "$kept"
    echo "given back: $changed, differ: $differ"
}

# One run at a time, of this script and of numatune itself.
lock() {
    if ! { mkdir -p /run/numatune && (umask 077 && : >>/run/numatune/lock); }; then die 'the lock cannot be opened'; fi
    exec 9<>/run/numatune/lock
    command -v flock >/dev/null || return 0
    until flock -n 9; do # BusyBox's cannot wait for so long and no longer
        [ "$patience" -gt 0 ] || die 'another run holds the lock' 75
        patience=$((patience - 1))
        sleep 1
    done
}

main() {
    asked "$@"
    if [ "$(id -u)" = 0 ]; then root=yes; fi
    [ "$command" = rollback ] || check_host
    if [ "$command" != plan ]; then
        [ "$root" = yes ] || die "$command needs root"
        [ "$command" = rollback ] || take_other_back
        lock
    fi
    case $command in
    plan) plan ;;
    apply | reapply) apply ;;
    rollback) rollback ;;
    esac
    [ "$differ" -eq 0 ] || exit "$differences"
}

main "$@"
