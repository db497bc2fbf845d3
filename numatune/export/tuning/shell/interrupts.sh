
# === Interrupts =====================================================================================================
# By device and index, as /sys/kernel/irq/NUMBER/hwirq has it: a number is another one after each boot.

# ADDRESS: the numbers that the device's interrupts have at this moment, by index.
device() {
    numbers=' ' place=0
    set +f
    # shellcheck disable=SC2046  # one number a word
    set -- $(cd "/sys/bus/pci/devices/$1/msi_irqs" 2>/dev/null && printf '%s\n' * | sort -n)
    set -f
    for number in "$@"; do
        index=$place
        if [ -e /sys/kernel/irq ]; then
            get_quietly "/sys/kernel/irq/$number/hwirq"
            case $found in '' | *[!0-9]*) continue ;; esac
            index=$((found & 2047))
        fi
        numbers="$numbers$index:$number "
        place=$((place + 1))
    done
}

# INDEX WANT. One that the kernel manages itself cannot be written: since Linux 6.12 its mode says so.
interrupt() {
    kind=interrupt same=list want=$2 absent='the device has no such interrupt'
    due || return 0
    case $numbers in *" $1:"*)
        number=${numbers#*" $1:"}
        path=/proc/irq/${number%% *}/smp_affinity_list
        get "$path"
        if [ "$there" = yes ] && ! holds; then
            reach "$path"
            case $reach in denied:*mode*) reach='unchangeable:the kernel manages this interrupt itself' ;; esac
        fi
        ;;
    esac
    turn
}

write_interrupt() { put "$1" "$path"; }
