"""What people and programs write where something else belongs: scalars, expressions, texts of kernel files."""

from __future__ import annotations

from random import Random

NUMBERS = (
    *("0", "1", "-1", "-0", "007", "0x10", "0o17", "0b1", "1_000", "1e3", "1e400", ".5", "1.5", "1.", "+3", "--3"),
    *("2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616"),
    *("9" * 19, "9" * 20, "9" * 5000, "-" + "9" * 40, ".inf", "-.inf", ".nan", "1:30", "12:30:45", "65535", "65536"),
)
TEXTS = (
    *(
        "",
        "~",
        "null",
        "true",
        "off",
        "no",
        "y",
        "50%",
        "150 %",
        "-5%",
        "180G",
        "0G",
        "99999999T",
        "1.5G",
        "2 MB",
        "max",
    ),
    *(">= 5", "<= x", ">=", ">= -1", ">= 99999999999999999999", "= 3", "> 3", "0-3", "3-1", "0-", "0,,1", "0-65535"),
    *("0-65536", "all", "local", "0-7:1/2", "0-7:9/2", "0-7:0/0", "\u0663", "\u00b2", "\u2167", "a\nb", "a\tb", " "),
    *(
        "\u202eabc",
        "\ufeff",
        "a" * 300,
        "a" * 5000,
        "../../etc/passwd",
        "/etc/shadow",
        "-rf",
        "; reboot",
        "$(id)",
        "`id`",
    ),
    *("2026-11-30", "!!int 3", "*x", "&x", "<<", "{a: b}", "[a", "'", '"', "\\", "#", "%", "@", "\U0001f600", "\ud800"),
)
EXPRESSIONS = (
    *("{{ range(10**9) | list }}", "{{ 'a' * 10**10 }}", "{{ 9 ** 9 ** 9 }}", "{{ [0] * 10**9 }}", "{{ 1 / 0 }}"),
    *("{{ 'x' | center(10**9) }}", "{{ '%1000000000d' % 1 }}", "{{ '{:>1000000000}'.format(1) }}", "{{ 2**63 }}"),
    *(
        "{{ vars.a }}",
        "{{ vars.b }}",
        "{{ vars }}",
        "{{ vars['a'] }}",
        "{{ none }}",
        "{{ true }}",
        "{{ 2.0 }}",
        "{{ [] }}",
    ),
    *("{{ cpus.online }}", "{{ cpus.first(3) }}", "{{ cpus.first(-1) }}", "{{ cpus.first(10**18) }}", "{{ cpus }}"),
    *(
        "{{ cpus.online - cpus.online }}",
        "{{ nodes.first_cores(2) }}",
        "{{ nodes.first_cores(10**30) }}",
        "{{ nodes[9] }}",
    ),
    *(
        "{{ nodes[0].memory // KiB }}",
        "{{ memory.total }}",
        "{{ memory.total * 2 // KiB }}",
        "{{ memory.smallest_node }}",
    ),
    *("{{ memory.total // 5 // KiB }}", "{{ [0, 1] | set }}", "{{ '0-65535' | set | list }}", "{{ '0-65535' | set }}"),
    *("{{ nodes.cpu | list | map('string') | join(',') }}", "{{ nodes.cpu | sum }}", "{{ cpus.online | last }}"),
    *("{{ cpus.__class__ }}", "{{ ''.__class__.__mro__ }}", "{{ cpus.online.bits }}", "{{ self }}", "{{ x.y.z }}"),
    *("{{ ((((((((((1)))))))))) }}", "{{ " + "(" * 600 + "1" + ")" * 600 + " }}", "{{ " + "-" * 900 + "1 }}"),
    *(
        "{{ " + "not " * 400 + "1 }}",
        "{{ 1" + "+1" * 900 + " }}",
        "{{ [" * 200 + "1" + "]" * 200 + " }}",
        "{{ a.b.c() }}",
    ),
    *(
        "{% for i in range(9) %}x{% endfor %}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{# no end",
        "{{ x",
        "}}",
    ),
    *("{{ [1, 2] | map('float') | list }}", "{{ 1.5 | round(400) }}", "{{ 'x' | int }}", "{{ '9' * 300 | int }}"),
    *(
        "{{ devices.count('nic') }}",
        "{{ devices.count('x') }}",
        "{{ devices['eth0'].node }}",
        "{{ devices.nodes('nic') }}",
    ),
    *("{{ 1 if vars.a else 2 }}", "{{ {'a': 1} }}", "{{ {'a': 1}.a }}", "{{ (1, 2) }}", "{{ [[1]] }}", "{{ 'a' 'b' }}"),
    *(
        "{{ 'a' ~ 'b' ~ 10**60 }}",
        "{{ 0.1 + 0.2 }}",
        "{{ 10**18 * 10.0 }}",
        "{{ -1 % 0 }}",
        "{{ 7 // 0.0 }}",
        "{{ 1e308 * 10 }}",
    ),
    *(
        "{{ [1, 'a'] | max }}",
        "{{ [1, 'a'] | sort }}",
        "{{ [none] | sum }}",
        "{{ cpus.online | unique | list | length }}",
    ),
    *(
        "{{ cpus.online | selectattr('x') | list }}",
        "{{ [1] | map(attribute='__class__') | list }}",
        "{{ 'a'[10**9] }}",
    ),
    *(
        "{{ 'abc'[::-1] }}",
        "{{ [3][0:10**12] }}",
        "{{ nodes['cpu'] }}",
        "{{ nodes.cpu.first }}",
        "{{ GiB * GiB * GiB }}",
    ),
    *(
        "{{ loop }}",
        "{{ range(3) }}",
        "{{ dict(a=1) }}",
        "{{ lipsum(5) }}",
        "{{ cycler }}",
        "{{ namespace() }}",
        "{{ nope | d(3) }}",
    ),
)
"""Some cost too much, some never end, some only look like it; some are as they should be."""

KERNEL_TEXTS = (
    *("", "\n", " \n", "garbage\n", "-1\n", "-9\n", "0-\n", "3-1\n", "1 2 3\n", "0,,1\n", "0x10\n", "=\n", ":\n::\n"),
    *("99999999999999999999\n", "7" * 5000, "\0\0", "\u0663\n", "0-65535\n", "0-65536\n", "65535\n", "4294967295\n"),
    *(
        "-2147483648\n",
        "1e9\n",
        "kB\n",
        "MemTotal: kB\n",
        "MemTotal: -5 kB\n",
        "Node 0 MemTotal: 99999999999999999999 kB\n",
    ),
    *(
        "always madvise never\n",
        "[always] [never]\n",
        "[]\n",
        "max\n",
        "0::/\n",
        "root\n",
        "invalid\n",
        "ffffffff,,f\n",
        "ff,zz\n",
    ),
    *(
        "0-3\n0-3\n",
        "0,2,4,6\n",
        "1\n",
        "0\n",
        "2\n",
        "256\n",
        "1.5\n",
        "\ufeff0-3\n",
        "0\r\n",
        "\t7\t\n",
        "(null)\n",
        "N/A\n",
    ),
)
BYTES = (b"\xff\xfe\xfd", b"0-3\xff\n", b"\x80" * 100, b"\0" * 4096, b"0" * 300_000, b"1\n" * 100_000, b"\xed\xa0\x80")
TARGETS = ("nowhere", "/", ".", "..", "../../../../../../..", "self", "/sys", "/proc/1", "/etc/passwd", "a" * 300, "")


def scalar(random: Random) -> str:
    """As it would be written in a profile, without the quotes."""
    return random.choice(random.choice((NUMBERS, TEXTS, EXPRESSIONS, EXPRESSIONS)))


def number(random: Random) -> int:
    """Small, at an edge, or huge, of either sign."""
    edge = 1 << random.choice((0, 3, 7, 8, 15, 16, 31, 32, 33, 62, 63, 64, 200))
    return random.choice((random.randint(-3, 12), edge, edge - 1, -edge, random.randrange(1 << 20)))
