
# === Units of systemd ===============================================================================================

asked_unit='' told=''

# UNIT PROPERTY: sets loaded, active, group, value and known; 1 where systemd cannot be asked. One question a unit.
ask_unit() {
    loaded='' active='' group='' value='' known=no
    if [ ! -d /run/systemd/system ]; then
        reach='denied:systemd cannot be asked here'
        return 1
    fi
    if [ "$asked_unit" != "$1" ]; then
        asked_unit='' told=$(systemctl show -p LoadState,ActiveState,ControlGroup,UnitFileState \
            -p AllowedCPUs,AllowedMemoryNodes,MemoryMax -- "$1" 2>&1) || return 1
        asked_unit=$1
    fi
    while IFS= read -r line; do
        case $line in
        LoadState=*) loaded=${line#*=} ;;
        ActiveState=*) active=${line#*=} ;;
        ControlGroup=*) group=${line#*=} ;;
        esac
        case $line in "$2="*) value=${line#*=} known=yes ;; esac
    done <<END
$told
END
}

tell_unit() {
    asked_unit=''
    if refusal=$(systemctl --no-ask-password "$@" 2>&1); then return 0; fi
    refusal=${refusal%%"$nl"*}
    return 1
}
