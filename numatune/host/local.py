"""This machine, or the tree of another live one below a folder: system calls, with an errno for an answer."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from numatune.host import beside
from numatune.host.paths import is_sound, natural, parts, resolve
from numatune.host.protocol import Ran, Read, Stat

LARGEST = 64 << 20
"""Bytes that `read` takes; the largest kernel files that we read, /proc/interrupts of a big host, are a few MiB."""

_CHUNK = 1 << 16
_ASK_SECONDS = 10
_RUN_SECONDS = 90
_COMMAND_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LocalHost:
    """A live host. `root`: "/" or a folder that is a live host's tree (a privileged container's /host).

    Below another root no link leads out of it: absolute targets start at that root, and every folder on the way is
    opened without following what somebody put there meanwhile.
    """

    def __init__(self, root: str = "/") -> None:
        self._root = os.path.realpath(root)

    @property
    def root(self) -> str:
        """The folder, or "/"."""
        return self._root

    @property
    def live(self) -> bool:
        """A kernel runs behind it."""
        return True

    def read(self, path: str) -> Read:
        """The whole file, up to its first NUL. EINVAL for ``..``, EXDEV when a link leads out, EFBIG above LARGEST."""
        try:
            fd = self._open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                data = _all(fd)
            finally:
                os.close(fd)
        except OSError as error:
            return Read(None, error.errno or errno.EIO)
        end = data.find(b"\0")
        return Read((data if end < 0 else data[:end]).decode("utf-8", "surrogateescape"))

    def names(self, folder: str) -> tuple[str, ...]:
        """Names in a folder, sorted, numbers by value."""
        try:
            with self._opened(folder, os.O_RDONLY | os.O_DIRECTORY) as fd:
                return tuple(sorted(os.listdir(fd), key=natural))  # noqa: PTH208  # Path lists no file descriptor
        except OSError:
            return ()

    def real(self, path: str) -> str | None:
        """The path without links, below the root."""
        if not is_sound(path):
            return None
        if self._root == "/":
            try:
                return os.path.realpath(path, strict=True)
            except OSError:
                return None
        found = resolve(path, self._link)
        return found if found is not None and os.path.lexists(self._root + found) else None

    def stat(self, path: str) -> Stat | None:
        """Mode, inode and owner; `read_only` from statvfs, which knows of read-only bind mounts too."""
        try:
            with self._opened(path, os.O_PATH) as fd:
                found = os.fstat(fd)
                flags = os.fstatvfs(fd).f_flag
        except OSError:
            return None
        return Stat(found.st_mode, found.st_ino, found.st_uid, bool(flags & os.ST_RDONLY))

    def ask(self, argv: tuple[str, ...]) -> Ran:
        """Run a command that changes nothing, 10 s at most."""
        return self._command(argv, _ASK_SECONDS)

    def write(self, path: str, text: str) -> int:
        """One os.write of the whole text; what is not there is not made, what is there is not cut short first."""
        data = text.encode("utf-8", "surrogateescape")
        try:
            with self._opened(path, os.O_WRONLY | os.O_NONBLOCK) as fd:
                return 0 if os.write(fd, data) == len(data) else errno.EIO
        except OSError as error:
            return error.errno or errno.EIO

    def make(self, folder: str) -> int:
        """Make one folder, mode 0755."""
        try:
            with self._parent(folder) as (fd, name):
                os.mkdir(name, 0o755, dir_fd=fd)
                os.chmod(name, 0o755, dir_fd=fd)  # noqa: S103  # as documented, whatever the caller's umask
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def drop(self, path: str) -> int:
        """Remove an empty folder, or unlink a file or a link, with what a killed `replace` of it has left."""
        try:
            with self._parent(path) as (fd, name):
                beside.clear(fd, name)
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    os.rmdir(name, dir_fd=fd)
                else:
                    os.unlink(name, dir_fd=fd)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def replace(self, path: str, text: str, mode: int) -> int:
        """Put a whole file in place, so that a reader sees the old one or the new one, after a power cut too."""
        try:
            self._make_folders(path)
            with self._parent(path) as (fd, name):
                beside.put(fd, name, text.encode("utf-8", "surrogateescape"), mode)
        except OSError as error:
            return error.errno or errno.EIO
        return 0

    def mount(self, folder: str, kind: str, options: str) -> int:
        """Mount on a folder that is root's, to which no link leads."""
        from numatune.host import mounting  # noqa: PLC0415  # ctypes, for the few who mount

        if refused := self._led_elsewhere(folder):
            return refused
        try:
            with self._opened(folder, os.O_PATH | os.O_DIRECTORY) as fd:
                return mounting.mount(fd, kind, options) if os.fstat(fd).st_uid == 0 else errno.EPERM
        except OSError as error:
            return error.errno or errno.EIO

    def unmount(self, folder: str) -> int:
        """Take away what is mounted there."""
        from numatune.host import mounting  # noqa: PLC0415  # as above

        return self._led_elsewhere(folder) or mounting.unmount(self._root.rstrip("/") + folder)

    def reconfigure(self, folder: str, option: str, value: str) -> int:
        """Set one option of the file system that a folder is of."""
        from numatune.host import mounting  # noqa: PLC0415  # as above

        try:
            with self._opened(folder, os.O_RDONLY | os.O_DIRECTORY) as fd:
                return mounting.reconfigure(fd, option, value)
        except OSError as error:
            return error.errno or errno.EIO

    def run(self, argv: tuple[str, ...]) -> Ran:
        """Run a command that may change the host, 90 s at most."""
        return self._command(argv, _RUN_SECONDS)

    def _led_elsewhere(self, folder: str) -> int:
        """ELOOP where a link is on the way to a folder, ENOENT where there is none."""
        real = self.real(folder)
        return errno.ENOENT if real is None else 0 if real == folder else errno.ELOOP

    def _open(self, path: str, flags: int) -> int:
        """A file descriptor of what a path leads to, but of nothing outside the root. Raises OSError."""
        if not is_sound(path):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        if self._root == "/":
            return os.open(path, flags | os.O_CLOEXEC | os.O_NOCTTY)
        where = resolve(path, self._link)
        if where is None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
        return _walk(self._root, where, flags)

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        """The same, closed in the end."""
        fd = self._open(path, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder of a path, and the name in it. Raises OSError."""
        pieces = parts(path)
        if not pieces:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        with self._opened("/" + "/".join(pieces[:-1]), os.O_RDONLY | os.O_DIRECTORY) as fd:
            yield fd, pieces[-1]

    def _make_folders(self, path: str) -> None:
        """Make what is missing above a path, each flushed into the one above. Raises OSError."""
        pieces = parts(path)
        if not pieces:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), path)
        for end in range(1, len(pieces)):
            folder = "/" + "/".join(pieces[:end])
            if self.stat(folder) is not None:
                continue
            failed = self.make(folder)
            if failed and failed != errno.EEXIST:
                raise OSError(failed, os.strerror(failed), folder)
            with self._parent(folder) as (fd, _):
                os.fsync(fd)

    def _link(self, path: str) -> str | None:
        try:
            return os.readlink(self._root + path)  # noqa: PTH115  # hot, and pathlib costs a start-up
        except OSError:
            return None

    def _command(self, argv: tuple[str, ...], seconds: int) -> Ran:
        """Run below the root: a host's tree brings its own systemctl. Its whole process group ends with the limit."""
        import signal  # noqa: PLC0415  # most commands of numatune start no process
        import subprocess  # noqa: PLC0415  # as above

        env = {"PATH": _COMMAND_PATH, "LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}
        if self._root != "/":
            argv = ("chroot", self._root, *argv)
            env["SYSTEMD_IGNORE_CHROOT"] = "1"
        try:
            process = subprocess.Popen(  # noqa: S603  # an argv list, never a shell
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=env,
                cwd="/",
                start_new_session=True,
            )
        except FileNotFoundError:
            return Ran(127, err=f"{argv[0]}: not found")
        except OSError as error:
            return Ran(126, err=f"{argv[0]}: {error.strerror}")
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return Ran(124, out, f"{err}{argv[0]}: no answer within {seconds} s")
        return Ran(process.returncode, out, err)


def _all(fd: int) -> bytes:
    """A file to its end. Raises OSError, EFBIG above LARGEST."""
    chunks = []
    size = 0
    while chunk := os.read(fd, _CHUNK):
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return b"".join(chunks)


def _walk(root: str, path: str, flags: int) -> int:
    """Open a path without links below `root`, folder by folder, following nothing. Raises OSError."""
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    pieces = parts(path) or (".",)
    for number, piece in enumerate(pieces, 1):
        how = flags | os.O_NOCTTY if number == len(pieces) else os.O_PATH | os.O_DIRECTORY
        try:
            below = os.open(piece, how | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        finally:
            os.close(fd)
        fd = below
    return fd
