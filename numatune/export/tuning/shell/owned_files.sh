
# === Files that are ours alone ======================================================================================

# FILE MODE [UNIT [FILE]]: what it holds comes on standard input. UNIT reads it, by way of the second file.
owned_file() {
    kind=owned_file same=exact path=$1 mode_bits=$2 restart=${3:-} through=${4:-} store=$kept
    want=$(cat && echo .)
    due || return 0
    if [ -e "$path" ]; then there=yes have=$(cat "$path" && echo .); fi
    turn
}

write_owned_file() {
    note_folders "${path%/*}"
    refusal=$({ mkdir -p "${path%/*}" && printf '%s' "${1%.}" >"$path.new" && chmod "$mode_bits" "$path.new" &&
        mv -f "$path.new" "$path"; } 2>&1) || return 1
    read_by_unit
}

remove_owned_file() {
    rm -f "$path" || return 1
    drop_folders
    read_by_unit
}

# FOLDER: it and what is missing above it will be made for a file, and go with the last one in them.
note_folders() {
    folder=$1
    while [ -n "$folder" ] && [ ! -e "$folder" ]; do
        echo "$folder" >>"$kept/folders" || unkept "$kept/folders"
        folder=${folder%/*}
    done
}

# What lies in another one comes before it.
drop_folders() {
    [ -e "$kept/folders" ] || return 0
    sort -r "$kept/folders" | while read -r folder; do rmdir "$folder" 2>/dev/null || :; done
}

read_by_unit() {
    [ -n "$restart" ] && [ -d /run/systemd/system ] || return 0
    [ -z "$through" ] || [ -e "$through" ] || return 0
    case $path in /etc/systemd/* | /run/systemd/*) systemctl daemon-reload ;; esac
    tell_unit try-restart "$restart"
}
