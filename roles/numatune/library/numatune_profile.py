#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
"""Make a host as NUMA profiles say, by the numatune that is installed on it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: numatune_profile
short_description: Make a host as numatune profiles say
description:
  - Runs C(numatune … --json) on the target and reports what it says. One task a host, whatever the number of settings.
  - In check mode it runs C(numatune plan), which changes nothing and needs no root. In diff mode it shows the rows
    that change, one line each.
  - Where numatune is not installed yet, check mode says that it would be.
requirements:
  - The Python that ansible-core itself needs on the target. numatune has a Python of its own.
  - Root on the target, except in check mode.
options:
  state:
    description:
      - V(present) applies the profiles; what an earlier apply set and they no longer want is given back.
      - V(absent) takes back every run (C(numatune rollback --all)).
    type: str
    choices: [present, absent]
    default: present
  profiles:
    description:
      - Names (of C(/etc/numatune/profiles) or shipped) or paths on the target; later ones win.
      - Required with O(state=present).
    type: list
    elements: str
    default: []
  vars:
    description: Variables of the profiles.
    type: dict
    default: {}
  only:
    description: Sections of the profiles to apply; empty means all.
    type: list
    elements: str
    default: []
  skip:
    description: Sections of the profiles to leave out.
    type: list
    elements: str
    default: []
  add:
    description: Add the profiles to those that are applied already, instead of taking their place.
    type: bool
    default: false
  keep_released:
    description: Leave what the profiles no longer want as it is, instead of giving it back.
    type: bool
    default: false
  persist:
    description: Whether the settings survive a reboot. Not given, what the last apply chose stays.
    type: bool
  allow_disruption:
    description: Let in what stalls, cuts or kills running work.
    type: bool
    default: false
  allow_unsafe:
    description: Ids of settings to write beyond their guard rail.
    type: list
    elements: str
    default: []
  allow_debugfs:
    description: Write what lies in debugfs, where the kernel checks nothing.
    type: bool
    default: false
  retry:
    description: Try again what an earlier apply learned to be out of reach.
    type: bool
    default: false
  on_error:
    description: After a refused write go on, or take the run back. Not given, the profile says which.
    type: str
    choices: [continue, rollback]
  on_unmet:
    description: >-
      Where the host is not what the profile expects (C(expect:)) change nothing and fail, or go on. Not given, the
      profile says which.
    type: str
    choices: [stop, warn]
  confirm_within:
    description: Take the run back after this time (V(90s), V(10m)) unless C(numatune confirm) comes.
    type: str
  why:
    description: A reason, kept in the host's history.
    type: str
    default: ""
  wait:
    description: Seconds to wait for another run of numatune on the host to end.
    type: int
    default: 60
  unreached:
    description: What becomes of the task when the host cannot be made as wanted (exit code 2 of numatune).
    type: str
    choices: [fail, warn]
    default: fail
  verify:
    description:
      - When to ask for a second opinion (C(numatune verify)). It reads the host by other means than the apply did.
      - V(changed) asks after an apply that changed something.
    type: str
    choices: [never, changed, always]
    default: never
  profile_texts:
    description:
      - Text of profiles by file name, as another task of the play puts them into C(/etc/numatune/profiles).
      - Looked at in check mode only, where these files are not there yet.
    type: dict
    default: {}
  back:
    description: >-
      A command that brings back the numatune of before, where the play has put another one just now. A failure tells
      it.
    type: str
    default: ""
  executable:
    description: The numatune to run, a path or a name to look up.
    type: str
    default: numatune
attributes:
  check_mode: {support: full, description: Shows the plan and changes nothing.}
  diff_mode: {support: full, description: One line a row that changes.}
author: [numatune developers (@numatune)]
"""

EXAMPLES = r"""
- name: Tune an inference host, also after a reboot
  numatune_profile:
    profiles: [llm-inference, site]
    vars: {reserve_cores: 4}
    persist: true

- name: Show in the job's log what this host cannot do, and go on
  numatune_profile:
    profiles: [llm-inference]
    unreached: warn

- name: Give everything back
  numatune_profile:
    state: absent
"""

RETURN = r"""
rows:
  description: One row a setting, as C(docs/plan-json.md) of numatune describes them.
  returned: when numatune gave a plan or a report, also on failure
  type: list
  elements: dict
  sample: [{id: "sysctl:vm.swappiness", status: ok, action: update, wanted: "1", before: "60", changed: true}]
run_id:
  description: The number that C(numatune rollback --run) takes; null when nothing was written.
  returned: always
  type: int
reboot_required:
  description: Whether something is wanted on the kernel command line that is not there yet.
  returned: always
  type: bool
restart_needed:
  description: Units and processes that keep the old state until somebody restarts them.
  returned: always
  type: list
  elements: str
unreached:
  description: Ids of the rows that could not be made as wanted.
  returned: always
  type: list
  elements: str
verified:
  description: Whether the second opinion agreed; null when none was asked for.
  returned: always
  type: bool
complete:
  description: With O(state=absent), whether nothing is left to be taken back.
  returned: with state absent
  type: bool
installed:
  description: Whether numatune is on the host.
  returned: always
  type: bool
"""

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

from ansible.module_utils.basic import AnsibleModule

Row = dict[str, Any]
Result = dict[str, Any]

STATE = Path("/var/lib/numatune")
PROFILES = Path("/etc/numatune/profiles")
FOLDERS = ["/opt/numatune/current/bin", "/usr/local/bin"]
ABSENT = "(absent)"
DIFFERENCES = 2
# As in numatune's own words: statuses that make the exit code 2. `reboot` does, but not for an apply.
COUNTED = {"drifted", "unsupported", "denied", "clamped", "failed", "unmet"}

ARGUMENTS = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "profiles": {"type": "list", "elements": "str", "default": []},
    "vars": {"type": "dict", "default": {}},
    "only": {"type": "list", "elements": "str", "default": []},
    "skip": {"type": "list", "elements": "str", "default": []},
    "add": {"type": "bool", "default": False},
    "keep_released": {"type": "bool", "default": False},
    "persist": {"type": "bool"},
    "allow_disruption": {"type": "bool", "default": False},
    "allow_unsafe": {"type": "list", "elements": "str", "default": []},
    "allow_debugfs": {"type": "bool", "default": False},
    "retry": {"type": "bool", "default": False},
    "on_error": {"type": "str", "choices": ["continue", "rollback"]},
    "on_unmet": {"type": "str", "choices": ["stop", "warn"]},
    "confirm_within": {"type": "str"},
    "why": {"type": "str", "default": ""},
    "wait": {"type": "int", "default": 60},
    "unreached": {"type": "str", "choices": ["fail", "warn"], "default": "fail"},
    "verify": {"type": "str", "choices": ["never", "changed", "always"], "default": "never"},
    "profile_texts": {"type": "dict", "default": {}},
    "back": {"type": "str", "default": ""},
    "executable": {"type": "str", "default": "numatune"},
}


def main() -> None:
    """Read the arguments, ask numatune, report."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    if module.params["state"] == "present" and not module.params["profiles"]:
        module.fail_json(msg="state is present but profiles is empty: name one, numatune profiles list shows them")
    program = find_program(module)
    if program is None:
        not_installed(module)
    elif module.params["state"] == "absent":
        take_back(module, program)
    elif module.check_mode:
        plan(module, program)
    else:
        apply(module, program)


def find_program(module: AnsibleModule) -> str | None:
    """Path of numatune on this host; None: it is not there."""
    wanted = module.params["executable"]
    if "/" in wanted:
        return wanted if os.access(wanted, os.X_OK) else None
    found: str | None = module.get_bin_path(wanted, opt_dirs=FOLDERS)
    return found


def not_installed(module: AnsibleModule) -> None:
    """End without numatune: fine where nothing was applied or nothing may change, else a failure."""
    result = result_of([], installed=False)
    if module.params["state"] == "absent":
        left = state_tells()
        result["complete"] = not left
        if left:
            told = f"{STATE} tells of {left}, but numatune is not there to take it back: install it first"
            if not module.check_mode:
                unreached(module, told, result)
            module.warn(told)
        module.exit_json(changed=False, **result)
    if not module.check_mode:
        module.fail_json(msg=f"no {module.params['executable']} on this host: install numatune first", **result)
    names = ", ".join(module.params["profiles"])
    module.exit_json(
        changed=True,
        msg=f"numatune is not installed here; it would be, and then apply {names}",
        diff={"before": f"numatune: {ABSENT}\n", "after": f"numatune: would be installed, then apply {names}\n"},
        **result,
    )


def state_tells() -> str:
    """What numatune's state tells of that may wait to be taken back; empty: nothing.

    A rollback that spared a row leaves no applied set, and the journals with the originals.
    """
    if (STATE / "applied.json").exists():
        return "an applied profile"
    journals = sorted(path.name for path in (STATE / "runs").glob("*.jsonl"))
    return f"runs with the originals (runs/{journals[-1]})" if journals else ""


def plan(module: AnsibleModule, program: str) -> None:
    """Check mode: what an apply would do."""
    texts = module.params["profile_texts"]
    folder = profiles_to_be(texts) if texts else ""
    try:
        _, told = ask(module, [program, "plan", *words(planned(module.params, folder))], folder)
    finally:
        if folder:
            shutil.rmtree(Path(folder).parent, ignore_errors=True)
    rows = told["settings"]
    stay = [row for row in rows if counts(row) and row["action"] == "none"]
    if stay:
        module.warn(f"out of reach, an apply would say so: {listed(stay)}")
    to_do = [row for row in rows if row["action"] != "none"]
    module.exit_json(
        changed=bool(to_do),
        diff=diff(to_do, lambda row: row["current"], lambda row: None if row["action"] == "delete" else row["wanted"]),
        **result_of(rows, unreached=stay),
    )


def apply(module: AnsibleModule, program: str) -> None:
    """Make it so, and ask for a second opinion where one is wanted."""
    params = module.params
    argv = [program, "apply", *words(params), "--yes", "--wait", str(params["wait"])]
    argv += ["--on-error", params["on_error"]] if params["on_error"] else []
    argv += ["--on-unmet", params["on_unmet"]] if params["on_unmet"] else []
    argv += ["--confirm-within", params["confirm_within"]] if params["confirm_within"] else []
    argv += ["--why", params["why"]] if params["why"] else []
    code, told = ask(module, argv)
    rows = told["settings"]
    moved = [row for row in rows if row.get("changed")]
    left = [row for row in rows if counts(row)] if code == DIFFERENCES else []
    result = result_of(rows, told["run"], unreached=left)
    result["changed"] = bool(moved) and told["taken_back_by"] is None
    result["diff"] = diff(moved, lambda row: row["before"], lambda row: row["current"])
    if told["taken_back_by"] is not None:
        refused = listed([row for row in rows if row["status"] == "failed"])
        fail(module, f"a write was refused and all of the run was taken back: {refused}", **result)
    if params["verify"] == "always" or (params["verify"] == "changed" and result["changed"]):
        second_opinion(module, program, result)
    if code == DIFFERENCES:
        unreached(module, f"the host is not as wanted: {listed(left)}", result)
    module.exit_json(**result)


def second_opinion(module: AnsibleModule, program: str, result: Result) -> None:
    """Fail where `numatune verify` sees a difference that the apply did not tell of."""
    _, told = ask(module, [program, "verify", *sections(module.params)])
    known = set(result["unreached"])
    wrong = [row for row in told["settings"] if counts(row) and row["id"] not in known]
    result["verified"] = not wrong
    if wrong:
        fail(module, f"applied, but the second opinion differs: {listed(wrong)}", **result)


def take_back(module: AnsibleModule, program: str) -> None:
    """Roll back every run."""
    argv = [program, "rollback", "--all"]
    argv += ["--check"] if module.check_mode else ["--yes", "--wait", str(module.params["wait"])]
    code, told = ask(module, argv)
    rows = told["settings"]
    moved = rows if module.check_mode else [row for row in rows if row.get("changed")]
    before, after = ("current", "wanted") if module.check_mode else ("before", "current")
    result = result_of(rows, told["run"], unreached=told["spared"])
    result["changed"] = bool(told["takes_back"]) if module.check_mode else told["run"] is not None
    result["complete"] = code != DIFFERENCES
    result["diff"] = diff(moved, lambda row: row[before], lambda row: row[after])
    if code == DIFFERENCES and not module.check_mode:
        spared = "; ".join(f"{one['id']}: {one['reason']}" for one in told["spared"])
        unreached(module, f"not everything could be given back: {spared or listed(rows)}", result)
    module.exit_json(**result)


def words(params: dict[str, Any]) -> list[str]:
    """What `numatune plan` and `numatune apply` are asked alike."""
    made = list(params["profiles"])
    for name, value in sorted(params["vars"].items()):
        made += ["--var", f"{name}={spelled(value)}"]
    made += sections(params)
    for setting in params["allow_unsafe"]:
        made += ["--allow-unsafe", setting]
    for option in ("allow_disruption", "allow_debugfs", "retry", "add", "keep_released"):
        made += ["--" + option.replace("_", "-")] if params[option] else []
    if params["persist"] is not None:
        made.append("--persist" if params["persist"] else "--no-persist")
    return made


def sections(params: dict[str, Any]) -> list[str]:
    """The part of the profiles that is meant; no word is all of them."""
    return [word for option in ("only", "skip") if params[option] for word in (f"--{option}", ",".join(params[option]))]


def spelled(value: object) -> str:
    """A value of Ansible's as a profile's variable spells it."""
    return value if isinstance(value, str) else json.dumps(value)


def profiles_to_be(texts: dict[str, str]) -> str:
    """A folder that holds what /etc/numatune/profiles will hold once these texts are there.

    It lies in a copy of /etc/numatune, so that what a profile extends by a path, `../x.yaml` too, is found there.
    """
    top = Path(tempfile.mkdtemp(prefix="numatune-profiles-"))
    for place, folders, names in os.walk(PROFILES.parent):
        copy = top / Path(place).relative_to(PROFILES.parent)
        copy.mkdir(exist_ok=True)
        for name in folders:
            if (Path(place) / name).is_symlink():
                (copy / name).symlink_to((Path(place) / name).resolve())
        for name in names:
            if name.endswith((".yaml", ".yml")) and (Path(place) / name).is_file():
                shutil.copyfile(Path(place) / name, copy / name)
    folder = top / PROFILES.name
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / Path(name).name).write_text(text, encoding="utf-8")
    return str(folder)


def planned(params: dict[str, Any], folder: str) -> dict[str, Any]:
    """The parameters with profiles that are named by a path below the profiles' folder found in its copy."""
    if not folder:
        return params
    below = f"{PROFILES}/"
    named = [os.path.normpath(name) if "/" in name else name for name in params["profiles"]]
    found = [f"{folder}/{path[len(below) :]}" if path.startswith(below) else path for path in named]
    return {**params, "profiles": found}


def ask(module: AnsibleModule, argv: list[str], profiles_dir: str = "") -> tuple[int, dict[str, Any]]:
    """Run numatune; its exit code (0 or 2) and what it says. Anything else ends the task with numatune's own words."""
    environment = {"NUMATUNE_PROFILES_DIR": profiles_dir} if profiles_dir else {}
    code, out, err = module.run_command([*argv, "--json"], environ_update=environment)
    try:
        told: dict[str, Any] = json.loads(out)
    except ValueError:
        found = f"{' '.join(argv[:2])} ended with {code} and no JSON: {err or out}"
        told = {"error": {"problems": [{"where": "", "found": found, "accepted": "", "hint": ""}]}}
    if "error" in told:
        problems = told["error"]["problems"]
        fail(module, "; ".join(sentence(problem) for problem in problems), rc=code, problems=problems)
    for line in err.splitlines():
        module.warn(line)
    return code, told


def sentence(problem: dict[str, str]) -> str:
    """One problem on one line."""
    where = f"{problem['where']}: " if problem["where"] else ""
    accepted = f"; accepted: {problem['accepted']}" if problem["accepted"] else ""
    hint = f" ({problem['hint']})" if problem["hint"] else ""
    return f"{where}{problem['found']}{accepted}{hint}"


def counts(row: Row) -> bool:
    """Whether a row makes numatune's exit code 2."""
    if row["held"] or row["optional"]:
        return False
    return row["status"] in COUNTED or (row["status"] == "unchangeable" and row["optional"] is False)


def listed(rows: list[Row]) -> str:
    """Rows in a message."""
    return "; ".join(
        f"{row['id']} is {brief(row['current'])}, wanted {brief(row['wanted'])} "
        f"({row['status']}{': ' + row['reason'] if row['reason'] else ''})"
        for row in rows
    )


def brief(value: str | None) -> str:
    """A value in a sentence; of a file's text the first line."""
    first, *more = (ABSENT if value is None else value).splitlines() or [""]
    return f"{first} …" if more else first


def whole(value: str | None) -> str:
    """A value in a diff; a file's text on lines of its own."""
    lines = (ABSENT if value is None else value).splitlines()
    return f" {lines[0]}" if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)


def diff(rows: list[Row], before: Callable[[Row], str | None], after: Callable[[Row], str | None]) -> dict[str, str]:
    """Ansible's diff, one line a row. What is None is absent."""

    def text(value: Callable[[Row], str | None]) -> str:
        return "".join(f"{row['id']}:{whole(value(row))}\n" for row in rows)

    return {"before": text(before), "after": text(after)}


def result_of(
    rows: list[Row], run: int | None = None, *, unreached: Sequence[Row] = (), installed: bool = True
) -> Result:
    """What every answer holds."""
    restart = sorted({one for row in rows if row.get("changed", True) for one in row["restart_needed"]})
    return {
        "rows": rows,
        "run_id": run,
        "reboot_required": any(row["status"] == "reboot" for row in rows),
        "restart_needed": restart,
        "unreached": [row["id"] for row in unreached],
        "verified": None,
        "installed": installed,
    }


def unreached(module: AnsibleModule, message: str, result: Result) -> None:
    """End a task whose host is not as wanted, as O(unreached) says."""
    if module.params["unreached"] == "fail":
        fail(module, message, **result)
    module.warn(message)
    module.exit_json(**result)


def fail(module: AnsibleModule, message: str, **result: Any) -> None:
    """End a task as failed, with the way back from a numatune that the play has just put."""
    back = module.params["back"]
    told = f"; this play has switched to another version of numatune, the one before comes back with: {back}"
    module.fail_json(msg=message + (told if back else ""), **result)


if __name__ == "__main__":
    main()
