
# === One setting after the other ====================================================================================
# A row names a setting, then says what holds for it, then what is wanted where. Each pass goes over all rows; what it
# does with one is $mode: plan, save, save_beside, write, read_back; ours, away, give_back, given_back.

section() { section=$1; }

# row ID [optional|strict]: optional ones never count, strict ones count also where the kernel owns them.
row() {
    id=$1 counts=${2:-yes} key=$1
    while :; do case $key in */*) key=${key%%/*},${key#*/} ;; *) break ;; esac done
    kind='' same=text want='' have='' there=no reach='' path='' store=$live
    maker='' mover='' guard='' disrupts='' effective='' absent='it is not there' by_partner='' everything='' note=''
}

needs() { maker=$1; }           # the row that makes the place of this one
moved_by() { mover=" $* "; }    # rows whose write moves this one besides
disrupts() { disrupts=$1; }     # always, or used: where running work stands on it
in_force() { effective=$1; }    # the file that tells what is really in force
where_absent() { absent=$1; }   # why it may not be there
by_partner() { by_partner=yes; } # another row's write brings it about
from_all() { everything=$1; }   # what it has where nothing is set
notes() { note=$1; }            # what its change does besides
guarded() {
    guard=$1
    shift
    guard1=${1:-} guard2=${2:-} guard3=${3:-}
}

# Whether this pass has anything to do with it: what is not due is not even looked at.
due() {
    if [ -n "$only" ]; then case ",$only," in *",$section,"*) ;; *) return 1 ;; esac fi
    case $mode in
    save_beside) [ -n "$mover" ] ;;
    write) [ -e "$work/$key.due" ] || [ -n "$mover" ] ;;
    ours) has_original ;;
    away | give_back | given_back) [ -e "$work/$key.ours" ] ;;
    esac
}

# Where `kind`, `have` and `there` are known: what this pass does with it.
turn() {
    case $mode in
    plan)
        judge
        tell "$act"
        ;;
    save)
        judge
        if [ "$act" = yes ]; then mark "$work/$key.due" && save; fi
        ;;
    save_beside) for_mover ;;
    write)
        judge
        if [ "$act" = yes ]; then carry_out; fi
        ;;
    read_back) read_back ;;
    ours) ours ;;
    away) give_back_place ;;
    give_back) give_back ;;
    given_back) given_back ;;
    esac
}

# STATUS REASON WANT: what this host has none of.
nothing() {
    kind=nothing reach=$1:$2 want=$3
    due || return 0
    turn
}

# --- judging --------------------------------------------------------------------------------------------------------

# Sets status, reason, and whether a write is due.
judge() {
    status=ok reason='' act=no
    if [ "$kind" = watch ]; then
        return
    elif [ -n "$reach" ] && { [ "$there" = no ] || ! holds; }; then
        status=${reach%%:*} reason=${reach#*:}
    elif [ "$there" = no ]; then
        judge_absent
    elif ! holds; then
        status=drifted
        allow
    elif [ -n "$effective" ] && other_in_force; then
        status=clamped
    fi
    case $kind in cgroup | folder | tmpfs | module | file | unit_property)
        if [ "$act" = yes ]; then coming="$coming$id "; elif [ "$status" != ok ]; then stuck="$stuck$id=$status "; fi ;;
    esac
}

judge_absent() {
    status=unsupported reason=$absent
    if [ -n "$maker" ]; then
        case $stuck in *" $maker="*)
            status=${stuck##*" $maker="}
            status=${status%% *} reason="waits for $maker"
            return
            ;;
        esac
        case $coming in *" $maker "*) status=drifted reason='' ;; esac
    fi
    case $kind in cgroup | folder | tmpfs | owned_file) status=drifted reason='' ;; esac
    [ "$status" = unsupported ] || allow
}

# A write is due, but where that needs a leave which was not given.
allow() {
    act=no
    if [ -n "$guard" ] && ! leave && "guard_$guard" && [ -n "$figure" ]; then
        reason="$figure; --allow-unsafe $id writes it all the same"
    elif [ "$disruption" = no ] && [ -n "$disrupts" ] && disturbs; then
        reason="would disrupt running work; --allow-disruption does it all the same"
    else
        act=yes
    fi
}

leave() {
    case "$path" in /sys/kernel/debug/*) [ "$debugfs" = no ] || return 0 ;; esac
    case " $unsafe " in *" $id "*) return 0 ;; esac
    return 1
}

disturbs() { [ "$disrupts" = always ] || "used_$kind"; }

other_in_force() {
    get_quietly "$effective"
    [ -n "$found" ] || return 1
    show "$same" "$found"
    found=$shown
    show "$same" "$want"
    [ "$shown" != "$found" ] || return 1
    reason="asked $shown, in force $found"
}

# --- telling --------------------------------------------------------------------------------------------------------

# One line of plan. ACT
tell() {
    if [ "$kind" = watch ]; then return; fi
    if [ "$1" = yes ]; then
        does_count && differ=$((differ + 1))
        say '~' "$(brief "$have") -> $(brief "$want")${note:+ ($note)}"
    elif [ "$status" != ok ]; then
        told_status
    elif [ "$verbose" = yes ]; then
        say '=' "$(brief "$have")"
    fi
}

told_status() {
    does_count && differ=$((differ + 1))
    say '!' "$status: $(brief "$have"), wanted $(brief "$want")${reason:+: $reason}"
}

does_count() {
    case $counts:$status in
    optional:* | *:not-applicable | *:ok) return 1 ;;
    *:unchangeable) [ "$counts" = strict ] ;;
    *:reboot) [ "$command" = plan ] ;;
    esac
}

say() { printf '  %s %s: %s\n' "$1" "$id" "$2"; }

brief() {
    case $1 in
    *"$nl"*) printf '%s' 'a file' ;;
    '') printf '%s' none ;;
    *)
        show "$same" "$1"
        printf '%s' "$shown"
        ;;
    esac
}

# --- keeping the original, writing, reading back -------------------------------------------------------------------

has_original() { [ -e "$store/$key.was" ] || [ -e "$store/$key.none" ]; }

save() {
    if has_original; then return; fi
    if [ "$there" = no ]; then mark "$store/$key.none"; else keep "$store/$key.was"; fi
}

mark() { printf '' >"$1" || unkept "$1"; }

# Whole or not at all: half of an original, or none of it, must not be taken for the original by the next run.
keep() {
    case $kind in
    owned_file) printf '%s' "${have%.}" >"$1.new" ;;
    *) printf '%s\n' "$have" >"$1.new" ;;
    esac || unkept "$1"
    mv -f "$1.new" "$1" || unkept "$1"
}

unkept() { die "cannot write to ${1%/*}; rollback gives back what was written before"; }

load() {
    if [ "$kind" = owned_file ]; then
        was=$(cat "$1" && echo .)
    else
        was=''
        IFS= read -r was <"$1" || :
    fi
}

# What another row's write moves is kept with it.
for_mover() {
    [ -n "$mover" ] && [ "$there" = yes ] || return 0
    # shellcheck disable=SC2086  # a list of rows
    for one in $mover; do
        while :; do case $one in */*) one=${one%%/*},${one#*/} ;; *) break ;; esac done
        if [ -e "$live/$one.was" ] || [ -e "$live/$one.none" ]; then save; fi
    done
}

carry_out() {
    keep "$work/$key.wrote"
    [ -z "$by_partner" ] || return 0
    refusal=''
    "write_$kind" "$want" || printf '%s\n' "${refusal:-refused}" >"$work/$key.refused"
    held_now
}

# What the kernel made of it is ours, also where this run is killed before it reads everything back.
held_now() {
    case $kind in
    file | interrupt) get "$path" ;;
    pool) get_pool ;;
    *) return 0 ;;
    esac
    keep "$store/$key.is"
}

# Everything again after all writes, because one setting moves another.
read_back() {
    judge
    before=$have
    if [ -e "$work/$key.wrote" ]; then
        load "$work/$key.wrote"
        before=$was
    fi
    if has_original; then keep "$store/$key.is"; fi
    if [ "$kind" = watch ]; then return; fi
    if [ -e "$work/$key.refused" ] && [ "$status" != ok ]; then
        IFS= read -r reason <"$work/$key.refused" || :
        status=failed
        if [ "$kind" = interrupt ]; then
            case $reason in *'not permitted' | *'I/O error' | *'nput/output error')
                status=unchangeable reason='the kernel manages this interrupt itself' ;;
            esac
        fi
    elif [ -e "$work/$key.wrote" ] && [ "$status" = drifted ]; then
        status=clamped reason='the kernel holds another value'
    fi
    if [ "$before" != "$have" ]; then
        changed=$((changed + 1))
        [ "$status" != ok ] || say '*' "$(brief "$before") -> $(brief "$have")"
    fi
    if [ "$status" != ok ]; then told_status; elif [ "$verbose" = yes ]; then say '=' "$(brief "$have")"; fi
}
