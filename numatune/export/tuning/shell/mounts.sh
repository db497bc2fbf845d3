
# === File systems in memory =========================================================================================

folder() {
    kind=folder path=$1 want=here store=$kept
    due || return 0
    if [ -d "$path" ]; then there=yes have=here; fi
    turn
}

write_folder() { refusal=$(mkdir "$path" 2>&1); }
remove_folder() { rmdir "$path" 2>/dev/null; }

# FOLDER OPTIONS: a tmpfs of ours there. Over a folder with anything in it nothing is mounted.
tmpfs() {
    kind=tmpfs path=$1 options=$2 want=here
    due || return 0
    mounted "$path"
    if [ "$type" = tmpfs ]; then there=yes have=here; fi
    if [ "$there" = no ] && [ -d "$path" ] && [ -n "$(ls -A "$path")" ]; then
        reach='drifted:files in it would be hidden'
    fi
    turn
}

write_tmpfs() { refusal=$(mounting -t tmpfs -o "$options" numatune "$path"); }
remove_tmpfs() { [ -z "$(ls -A "$path")" ] && umount "$path" 2>/dev/null; }

# Of several mounts on one folder the last is seen: its type and options (proc(5), mountinfo). Some policies have a blank.
mounted() {
    type='' shown_options=''
    while read -r _ _ _ _ point rest; do
        [ "$point" = "$1" ] || continue
        rest=${rest#*' - '}
        type=${rest%% *}
        rest=${rest#* }
        shown_options=${rest#* }
    done </proc/self/mountinfo
}

# SAME WANT FOLDER NAME UNSET: one option of what is mounted there.
mount_option() {
    kind=mount_option same=$1 want=$2 path=$3 option=$4
    due || return 0
    mounted "$path"
    if [ "$type" = tmpfs ]; then
        there=yes have=$5
        option_shown "$4"
    fi
    turn
}

# A list of nodes has commas of its own.
option_shown() {
    case ",$shown_options" in *",$1="*) ;; *) return 0 ;; esac
    rest=",$shown_options"
    rest=${rest#*",$1="}
    have=${rest%%,*}
    rest=${rest#"$have"}
    while :; do
        case $rest in ,[0-9]*) rest=${rest#,} && have=$have,${rest%%,*} && rest=${rest#"${rest%%,*}"} ;; *) break ;; esac
    done
    case $1:$have in size:*k) have=$((${have%k} * 1024)) ;; esac
}

write_mount_option() {
    [ "$option:$1" = mpol:default ] && set -- local # a remount takes no policy off again
    [ "$1" = '' ] || refusal=$(mounting -o "remount,$option=$1" "$path")
}

# The old system call takes the commas of a list of nodes as they are.
mounting() { LIBMOUNT_FORCE_MOUNT2=always mount "$@" 2>&1; }
