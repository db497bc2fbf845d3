
# === Hugepages ======================================================================================================

# NODE KB WANT: the pages of that size that the node keeps, without those that go with their last user.
pool() {
    kind=pool want=$3
    due || return 0
    folder=/sys/devices/system/node/node$1/hugepages/hugepages-$2kB
    node=$1 path=$folder/nr_hugepages
    get_pool
    if [ "$there" = yes ] && ! holds; then reach "$path"; fi
    turn
}

get_pool() {
    get "$path"
    [ "$there" = yes ] || return 0
    get_quietly "$folder/surplus_hugepages"
    have=$((have - ${found:-0}))
}

# The kernel takes as many as it finds; where disruption is allowed the node is compacted for the rest.
write_pool() {
    put "$1" "$path" || return 1
    get_quietly "$path"
    if [ "$found" != "$1" ] && [ "$disruption" = yes ]; then
        put 1 "/sys/devices/system/node/node$node/compact" || :
        put "$1" "$path"
    fi
}
