"""Names of the files that keep irqbalance off what numatune placed. Whoever looks at its unit leaves these out."""

from __future__ import annotations

UNIT = "irqbalance.service"
DROP_IN = f"/etc/systemd/system/{UNIT}.d/50-numatune.conf"
ENVIRONMENT = "/etc/numatune/irqbalance.env"
POLICY = "/etc/numatune/irqbalance-policy"
