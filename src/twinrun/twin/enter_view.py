"""Started in front of a twin's interpreter: makes a mount namespace in which the twin sees its own view of the user's
folders, and becomes the interpreter. The process stays the same. Imports as little as can be: every twin waits for it."""

import ctypes
import marshal
import os
import signal
import sys

# The layers, the newest first and the folder itself last; the upper folder; the work folder.
Root = tuple[list[str], str, str]
# With what stays as it is although it lies below a root, and whether this is an ordinary user.
Job = tuple[list[Root], list[str], bool]
NEW_USER, NEW_MOUNTS = 0x10000000, 0x00020000
_BIND, _RECURSIVE, _SLAVE = 0x1000, 0x4000, 0x80000
FAILED = 125  # the exit code where there can be no view


def enter(job: Job) -> None:
    roots, keep, as_user = job
    here = os.getcwd()  # noqa: PTH109
    _unshare(as_user=as_user)
    _mount(None, "/", None, _RECURSIVE | _SLAVE)  # what is mounted here from now on is seen nowhere else
    kept = [(os.open(path, os.O_PATH), path) for path in keep]
    for layers, upper, work in roots:
        # Descriptors stand for the paths: a path may hold the commas and colons that separate them here.
        below = ":".join(_opened(path) for path in layers)
        options = f"lowerdir={below},upperdir={_opened(upper)},workdir={_opened(work)}"
        how = "userxattr" if as_user else "redirect_dir=off,metacopy=off"
        _mount("overlay", layers[-1], "overlay", 0, f"{options},{how}")
    for descriptor, path in kept:
        _mount(f"/proc/self/fd/{descriptor}", path, None, _BIND | _RECURSIVE)
    os.chdir(here)  # the same path, now in the view


def _unshare(*, as_user: bool) -> None:
    """A user may make mounts only in a user namespace, in which uid and gid stay what they are."""
    uid, gid = os.getuid(), os.getgid()
    _call(_libc.unshare(NEW_MOUNTS | (NEW_USER if as_user else 0)), "unshare")
    if as_user:
        for name, text in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w") as file:  # noqa: PTH123
                file.write(text)


def _opened(path: str) -> str:
    return f"/proc/self/fd/{os.open(path, os.O_PATH | os.O_DIRECTORY)}"


def _mount(what: str | None, where: str, kind: str | None, flags: int, options: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (what, where, kind, options)]
    _call(_libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]), f"mount {where}")


def _call(outcome: int, what: str) -> None:
    if outcome:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)} ({what})")


def _can_be_used(root: str) -> None:
    """Some kernels mount what they cannot use."""
    first, second = (f"{root}/.twinrun-view-{name}" for name in "ab")
    try:
        os.mkdir(first)  # noqa: PTH102
    except PermissionError:  # nor may the program
        return
    os.rename(first, second)  # noqa: PTH104
    os.rmdir(second)  # noqa: PTH106


def main(job: Job, command: list[str]) -> None:
    try:
        enter(job)
        if not command:
            for layers, _, _ in job[0]:
                _can_be_used(layers[-1])
            sys.exit(0)
    except (OSError, AttributeError) as problem:
        sys.stderr.write(f"twinrun: no view of the working folder: {problem}\n")
        sys.exit(FAILED)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # ignored by every Python, and by what it turns into
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)


if __name__ == "__main__":
    _libc = ctypes.CDLL(None, use_errno=True)
    main(marshal.loads(bytes.fromhex(sys.argv[1])), sys.argv[2:])
