
# === Control groups =================================================================================================

cgroup() {
    kind=cgroup path=$1 want=here
    due || return 0
    if [ -d "$path" ]; then there=yes have=here; fi
    turn
}

write_cgroup() { refusal=$(mkdir "$path" 2>&1); }
remove_cgroup() { rmdir "$path" 2>/dev/null; }
used_cgroup() { is_populated "$path"; }
