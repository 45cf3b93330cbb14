"""How much context this machine can hold, and how many threads it should use.

Theory: a full-attention model keeps, per token and layer, one key and one value of every KV head in 16 bits, and without flash
attention one float per query head and token of a chunk for the attention scores. That is an estimate (sliding windows, latent
attention and recurrent layers need less), used only to refuse a context that cannot fit before the system starts to kill processes.
"""

from __future__ import annotations

import os
from pathlib import Path

SPARE = 0.9
"""Share of the available memory a context may take."""


def bytes_per_token(
    *, n_layer: int, n_head: int, n_head_kv: int, key_length: int, value_length: int, n_ubatch: int, flash_attn: bool
) -> int:
    """Bytes one more token of context costs."""
    kept = n_layer * max(1, n_head_kv) * (key_length + value_length) * 2
    scores = 0 if flash_attn else n_ubatch * n_head * 4
    return max(1, kept + scores)


def available_memory() -> int | None:
    """Bytes that can be allocated without swapping, or None where the system does not say."""
    found = [amount for amount in (_meminfo(), _cgroup()) if amount is not None]
    if found:
        return max(0, min(found))
    try:
        return int(os.sysconf("SC_AVPHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return None


def _meminfo() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _cgroup() -> int | None:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        return int(limit) - int(used)
    except (OSError, ValueError):
        return None


def default_threads() -> int:
    """One thread per physical core this process may use (a second thread on a core slows matrix products down)."""
    try:
        usable = os.sched_getaffinity(0)
    except AttributeError:
        return max(1, os.cpu_count() or 1)
    cores = set()
    for cpu in usable:
        try:
            cores.add(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list").read_text(encoding="ascii").strip())
        except OSError:
            cores.add(str(cpu))
    return max(1, len(cores))
