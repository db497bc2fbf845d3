"""A real cron runs the drift check: what moves is found by the next run, clean is silent, none piles up."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from lab.machine import Machine

pytestmark = pytest.mark.lab

PROFILE = "name: cron\nsysctl: {vm.swappiness: 10, vm.stat_interval: 10}\n"
PAGE = "/root/metrics/numatune.prom"
# No MTA is in the guest: without this cron would drop what a job prints, and say so in the journal.
SENDMAIL = "#!/bin/sh\ncat > /root/mail/$$.part && mv /root/mail/$$.part /root/mail/$$.whole\n"
# cron sends what a job has said when the job has ended. All mails, a NUL after each.
MAILED = """
for try in $(seq 300); do grep -qs 'MM sysctl' /root/mail/*.whole && break; sleep 0.2; done
for mail in /root/mail/*.whole; do cat $mail; printf '\\0'; done
"""
SLOW = """\
#!/bin/sh
cat > /dev/null
echo begun >> /root/slow
for try in $(seq 6000); do test -e /root/go && exit; sleep 0.1; done
"""
# One more run of cron, soon: the clock is put ahead to ten seconds before a full minute. Back when $1 has a line more.
NEXT = """
next() {
    touch $1; before=$(wc -l < $1)
    systemctl stop cron
    date -s @$(( ($(date +%s) / 60 + 1) * 60 + 50 )) > /dev/null
    systemctl start cron
    for try in $(seq 600); do
        test $(wc -l < $1) -gt $before && return
        sleep 0.2
    done
    echo "no run of cron came to $1"; journalctl --no-pager -n 20 -u cron
    exit 1
}
"""


@pytest.fixture(scope="module")
def host(single: Machine) -> Iterator[Machine]:
    """The profile is applied; mail goes to a file; no job yet."""
    single.ssh.put({"/root/cron.yaml": PROFILE, "/usr/sbin/sendmail": SENDMAIL, "/root/slow.sh": SLOW})
    single.run("chmod 755 /usr/sbin/sendmail /root/slow.sh; mkdir /root/metrics /root/mail")
    single.run("numatune apply /root/cron.yaml --yes")
    yield single
    single.run("rm -f /etc/cron.d/numatune; systemctl restart cron")


def job(options: str) -> str:
    """A script that makes this the one job, besides one that shows that a job's words come as mail."""
    check = f"* * * * * root /usr/local/bin/numatune check {options}; echo $? >> /root/codes"
    return f"cat > /etc/cron.d/numatune <<'END'\n* * * * * root echo control\n{check}\nEND\n"


def ran(host: Machine, options: str, before: str = "") -> tuple[str, str]:
    """The exit code of the next run, and the textfile after it."""
    told = host.run(
        f"{NEXT}{job(options)}{before}\nnext /root/codes\ntail -n 1 /root/codes\ncat {PAGE} 2>/dev/null; true"
    )
    code, _, page = told.out.partition("\n")
    return code, page


def value(page: str, name: str) -> float:
    found = re.search(rf"^{name}(?:\{{.*\}})? (\S+)$", page, re.MULTILINE)
    assert found, f"no {name} in {page}"
    return float(found[1])


def test_each_run_tells_what_there_is_and_no_more(host: Machine) -> None:
    began = float(host.run("date +%s").out)
    assert ran(host, "") == ("0", "")

    code, page = ran(host, f"--textfile {PAGE}")
    times = [value(page, f"numatune_check_last_{what}_timestamp_seconds") for what in ("run", "success")]
    assert code == "0"
    assert [value(page, f"numatune_{name}") for name in ("check_success", "drift_differences")] == [1, 0]
    assert began < times[0] == times[1]

    code, page = ran(host, f"--textfile {PAGE}", before="sysctl -qw vm.swappiness=60")
    assert (code, value(page, "numatune_drift_differences")) == ("2", 1)
    assert value(page, "numatune_check_last_success_timestamp_seconds") > times[1]

    code, page = ran(host, f"--repair --textfile {PAGE}")
    assert (code, value(page, "numatune_drift_differences"), value(page, "numatune_check_repairs_total")) == ("0", 0, 1)
    assert host.ssh.get("/proc/sys/vm/swappiness").strip() == "10"

    code, _ = ran(host, "", before="sysctl -qw vm.swappiness=60")
    assert code == "2"
    mails = [mail.partition("\n\n")[2] for mail in host.run(MAILED).out.split("\0")[:-1]]
    (told,) = (mail for mail in mails if mail != "control\n")
    assert mails.count("control\n") >= 4
    assert told.startswith("MM sysctl:vm.swappiness  10 -> 60; apply would set 10")


def test_runs_do_not_pile_up(host: Machine) -> None:
    host.run(f"sysctl -qw vm.swappiness=60\n{NEXT}{job('--notify /root/slow.sh')}next /root/slow")
    told = host.batch(
        {
            "second": f"{NEXT}\nnext /root/codes\ntail -n 1 /root/codes",
            "third": f"{NEXT}\nnext /root/codes\ntail -n 1 /root/codes",
            "running": "pgrep -fc '[p]ython3 /usr/local/bin/numatune check'",
            "begun": "wc -l < /root/slow",
            "ended": """rm /etc/cron.d/numatune; before=$(wc -l < /root/codes); touch /root/go
                for try in $(seq 300); do test $(wc -l < /root/codes) -gt $before && exit; sleep 0.2; done; exit 1""",
            "first": "tail -n 1 /root/codes",
            "left": "pgrep -fc '[p]ython3 /usr/local/bin/numatune check'; true",
        }
    )
    assert {name: answer.out.strip() for name, answer in told.items()} == {
        "second": "0",
        "third": "0",
        "running": "1",
        "begun": "1",
        "ended": "",
        "first": "2",
        "left": "0",
    }
