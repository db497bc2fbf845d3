
# === Giving back ====================================================================================================

# What still holds our value is marked; what somebody has set since is left alone.
ours() {
    if [ -e "$store/$key.none" ]; then
        [ "$there" = yes ] || return 0
        if [ "$kind" = owned_file ] && [ -e "$store/$key.is" ]; then
            load "$store/$key.is"
            equal "$was" "$have" || { spared && return; }
        fi
        mark "$work/$key.ours"
        return
    fi
    if [ "$there" = no ]; then
        spared 'it is gone'
        return
    fi
    load "$store/$key.was"
    if ! equal "$was" "$have"; then
        if [ -e "$store/$key.is" ]; then
            load "$store/$key.is"
            equal "$was" "$have" || { spared && return; }
        elif [ "$kind" != watch ] && ! holds; then
            spared
            return
        fi
    fi
    mark "$work/$key.ours"
}

spared() {
    differ=$((differ + 1))
    say '!' "left as it is, $(brief "$have"): ${1:-somebody set it since}"
}

give_back_place() {
    case $kind in cgroup | folder | tmpfs) ;; *) return 0 ;; esac
    if [ "$there" = yes ]; then "remove_$kind" || :; fi
}

give_back() {
    if [ -e "$store/$key.none" ]; then
        if [ "$kind" = owned_file ]; then remove_owned_file || :; fi
        return
    fi
    load "$store/$key.was"
    if equal "$was" "$have"; then return; fi
    back_texts
}

# An original is written as it was read, but where the kernel shows it in another way than it takes it.
back_texts() {
    case $same in
    choice)
        show choice "$was"
        was=$shown
        ;;
    members)
        take_back_members
        return
        ;;
    esac
    [ -n "$was" ] || [ -z "$everything" ] || "write_$kind" "$everything" || :
    "write_$kind" "$was" || :
}

given_back() {
    if [ -e "$store/$key.none" ]; then
        case $kind in
        cgroup | folder | tmpfs | owned_file)
            [ "$there" = no ] || { differ=$((differ + 1)) && say '!' 'could not be taken away'; }
            ;;
        esac
        return
    fi
    load "$store/$key.was"
    if equal "$was" "$have"; then
        changed=$((changed + 1))
        say '*' "$(brief "$have")"
    else
        differ=$((differ + 1))
        say '!' "could not be given back: $(brief "$have"), it was $(brief "$was")"
    fi
}
