"""Which engine a command starts, by its words alone. Imports nothing: it stands before every start."""

from __future__ import annotations

from numatune.compat import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAMS = {
    "vllm": "vllm",
    "sglang": "sglang",
    "trtllm-serve": "trtllm",
    "trtllm-llmapi-launch": "trtllm",
    "trtllm-bench": "trtllm",
    "torchrun": "torchrun",
    "deepspeed": "deepspeed",
}
_MODULES = {
    "vllm": "vllm",
    "sglang": "sglang",
    "tensorrt_llm": "trtllm",
    "lightllm": "lightllm",
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "deepspeed": "deepspeed",
}
ENGINES = ("vllm", "sglang", "trtllm", "lightllm", "torchrun", "deepspeed")


def engine(command: Sequence[str]) -> str:
    """``vllm serve ...``, ``python -m sglang.launch_server ...``; "" for what is none."""
    name = command[0].rpartition("/")[2]
    if name in _PROGRAMS:
        return _PROGRAMS[name]
    if not name.startswith("python"):
        return ""
    words = iter(command[1:])
    for word in words:
        if word == "-m":
            return _of_module(next(words, ""))
        if not word.startswith("-"):
            return _PROGRAMS.get(word.rpartition("/")[2], "")
    return ""


def _of_module(module: str) -> str:
    known = (name for name in _MODULES if module == name or module.startswith(f"{name}."))
    return next((_MODULES[name] for name in known), "")


def places_its_own(command: Sequence[str]) -> bool:
    """Whether numatune stands before the workers of this command again: ``torchrun ... numatune run -- ...``."""
    names = [word.rpartition("/")[2] for word in command]
    return any(name == "numatune" and names[place + 1 : place + 2] == ["run"] for place, name in enumerate(names))
