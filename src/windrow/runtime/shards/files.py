"""Files that appear under their names only when they are whole, on any file system.

A `Draft` is written beside its place and renamed when it is complete; `sync` then forces it to the
disk. On other file systems than the local one, closing a file makes it durable.
"""

from __future__ import annotations

import errno
import itertools
import mmap
import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
from pyarrow import fs

from windrow.core.errors import FullDiskError, StateError

DRAFT = ".draft"
SPOOL_PIECE = 8 << 20
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_numbers = itertools.count()


class Draft(Protocol):
    """A file that is being written."""

    def write(self, raw: Any) -> None:
        """Append bytes, or anything that has them."""

    def publish(self) -> None:
        """Let the file appear under its name, in place of any older one."""

    def claim(self) -> bool:
        """Let the file appear under its name if there is none; return whether it does."""

    def sync(self) -> None:
        """Force what the published file holds to the disk; `Files.sync` does so with its name."""

    def abandon(self) -> None:
        """Forget the file, published or not yet; the name is left as it is."""


class SharedDraft(Draft, Protocol):
    """A file that a process which is forked off may write, and its parent publishes."""

    def fileno(self) -> int:
        """Return the open file on the local disk that takes what is written."""


class Files(Protocol):
    """A folder on some file system; paths are below it, with slashes."""

    where: str
    compression: str | None

    def make(self, folder: str) -> None:
        """Make a folder, and all above it, durably."""

    def draft(self, path: str) -> Draft:
        """Begin a file that is to be at `path`; its folder is made if it is not there."""

    def shared_draft(self, path: str) -> SharedDraft:
        """Begin a file that is to be at `path`, and that a forked process may write."""

    def read(self, path: str) -> pa.Buffer:
        """Return a whole file."""

    def tail(self, path: str, length: int) -> bytes:
        """Return the last bytes of a file, all of them if it is shorter."""

    def sizes(self, folder: str) -> dict[str, int]:
        """Return names and sizes of the files in a folder; none if there is no such folder."""

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if it is not there."""

    def sync(self, folder: str) -> None:
        """Force the names in a folder to the disk, or what a file holds."""

    def is_a_file(self) -> bool:
        """Return whether a file stands where the folder should be."""


def open_files(where: str) -> Files:
    """Return the folder that a path or a URI names.

    Rows are written as they are to a local disk: lz4 took longer than it saved (39 MB a million
    rows: 0.14 s to compress against 0.04 s to write). Far away, fewer bytes are worth it.
    """
    if "://" not in where:
        return LocalFiles(str(Path(where).absolute()))
    try:
        system, path = fs.FileSystem.from_uri(where)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise StateError(
            f"the checkpoint {where} cannot be opened",
            detail=str(error),
            hint="Give a path, or a URI that pyarrow.fs opens: file://, hdfs://, s3://, gs://.",
        ) from error
    return LocalFiles(path) if isinstance(system, fs.LocalFileSystem) else FarFiles(path, system)


@contextmanager
def clear_errors(doing: str, path: str) -> Iterator[None]:
    """Turn errors of the file system into ones that name the next step."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        full = error.errno in FULL
        raise (FullDiskError if full else StateError)(
            f"{'the disk is full' if full else 'the file system failed'} while {doing} {path}",
            detail=f"{error.strerror or error}. The version before this one is as it was.",
            hint="Make room, then start the query again: it goes on where it was."
            if full
            else "Look after the file system, then start the query again.",
        ) from error


def _draft_name(path: str) -> str:
    folder, _, name = path.rpartition("/")
    me = f"{socket.gethostname()}-{os.getpid()}-{next(_numbers)}"
    return f"{folder}/.{name}.{me}{DRAFT}"


def is_left_over(name: str) -> bool:
    """Return whether a name is that of a draft whose writer, on this host, is no more."""
    if not name.endswith(DRAFT):
        return False
    place, _, writer = name[: -len(DRAFT)].rpartition("-")[0].rpartition("-")
    if not place.endswith(f".{socket.gethostname()}"):
        return False
    try:
        os.kill(int(writer), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


@dataclass(slots=True)
class LocalFiles:
    """A folder on the local file system: atomic renames, `fsync` of files and of their folder."""

    where: str
    compression: str | None = None

    def make(self, folder: str) -> None:
        """Make a folder, and all above it."""
        with clear_errors("making", folder):
            Path(f"{self.where}/{folder}").mkdir(parents=True, exist_ok=True)
        parts = folder.split("/")[:-1]
        for depth in range(len(parts) + 1):
            self.sync("/".join(parts[:depth]))

    def draft(self, path: str) -> Draft:
        """Begin a file that is to be at `path`."""
        return LocalDraft(f"{self.where}/{path}")

    def shared_draft(self, path: str) -> SharedDraft:
        """Begin a file that is to be at `path`: a child has the same file open."""
        return LocalDraft(f"{self.where}/{path}")

    def read(self, path: str) -> pa.Buffer:
        """Return a whole file, mapped. What is written to the buffer is nobody else's."""
        with clear_errors("reading", path), Path(f"{self.where}/{path}").open("rb") as source:
            if source.seek(0, os.SEEK_END) == 0:
                return pa.py_buffer(b"")
            return pa.py_buffer(mmap.mmap(source.fileno(), 0, access=mmap.ACCESS_COPY))

    def tail(self, path: str, length: int) -> bytes:
        """Return the last bytes of a file, all of them if it is shorter."""
        with clear_errors("reading", path), Path(f"{self.where}/{path}").open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - length))
            return file.read()

    def sizes(self, folder: str) -> dict[str, int]:
        """Return names and sizes of the files in a folder."""
        found = {}
        try:
            with os.scandir(f"{self.where}/{folder}") as entries:
                for entry in entries:
                    if entry.is_file():
                        found[entry.name] = entry.stat().st_size
        except FileNotFoundError:
            pass
        return found

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        try:
            with os.scandir(f"{self.where}/{folder}") as entries:
                return sorted(entry.name for entry in entries if entry.is_dir())
        except FileNotFoundError:
            return []

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""
        return Path(f"{self.where}/{path}").exists()

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if it is not there."""
        Path(f"{self.where}/{path}").unlink(missing_ok=True)

    def sync(self, folder: str) -> None:
        """Force the names in a folder to the disk, or what a file holds."""
        with clear_errors("writing", folder):
            opened = os.open(f"{self.where}/{folder}", os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)

    def is_a_file(self) -> bool:
        """Return whether a file stands where the folder should be."""
        return Path(self.where).exists() and not Path(self.where).is_dir()


@dataclass(slots=True)
class LocalDraft:
    """A file beside its place. It stays open until it is synced."""

    path: str
    _beside: str = field(init=False)
    _file: int | None = field(init=False)

    def __post_init__(self) -> None:
        self._beside = _draft_name(self.path)
        with clear_errors("writing", self.path):
            try:
                self._file = self._open()
            except FileNotFoundError:
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
                self._file = self._open()

    def _open(self) -> int:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC
        return os.open(self._beside, flags, 0o666)  # less what the user's umask forbids

    def fileno(self) -> int:
        """Return the open file."""
        assert self._file is not None, "the draft is closed"
        return self._file

    def write(self, raw: Any) -> None:
        """Append bytes."""
        assert self._file is not None, "the draft is closed"
        rest = memoryview(raw).cast("B")
        with clear_errors("writing", self.path):
            while rest:
                rest = rest[os.write(self._file, rest) :]

    def publish(self) -> None:
        """Rename the file to its place."""
        with clear_errors("writing", self.path):
            Path(self._beside).replace(self.path)

    def claim(self) -> bool:
        """Let the file appear under its name if there is none."""
        try:
            os.link(self._beside, self.path)
        except FileExistsError:
            return False
        finally:
            Path(self._beside).unlink()
        return True

    def sync(self) -> None:
        """Force the file to the disk."""
        assert self._file is not None, "the draft is closed"
        with clear_errors("writing", self.path):
            os.fsync(self._file)
        self._close()

    def abandon(self) -> None:
        """Remove the file, if it was not published."""
        self._close()
        Path(self._beside).unlink(missing_ok=True)

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


@dataclass(slots=True)
class FarFiles:
    """A folder on any other file system of Arrow: written beside its place, then moved."""

    where: str
    system: fs.FileSystem
    compression: str | None = "zstd"

    def make(self, folder: str) -> None:
        """Make a folder, and all above it."""
        with clear_errors("making", folder):
            self.system.create_dir(f"{self.where}/{folder}", recursive=True)

    def draft(self, path: str) -> Draft:
        """Begin a file that is to be at `path`."""
        return FarDraft(f"{self.where}/{path}", self.system)

    def shared_draft(self, path: str) -> SharedDraft:
        """Begin a file that is to be at `path`: written to the local disk, then copied there."""
        return SpooledDraft(f"{self.where}/{path}", self.system)

    def read(self, path: str) -> pa.Buffer:
        """Return a whole file."""
        with (
            clear_errors("reading", path),
            self.system.open_input_stream(f"{self.where}/{path}", compression=None) as source,
        ):
            return pa.py_buffer(source.read())

    def tail(self, path: str, length: int) -> bytes:
        """Return the last bytes of a file, all of them if it is shorter."""
        with (
            clear_errors("reading", path),
            self.system.open_input_file(f"{self.where}/{path}") as source,
        ):
            source.seek(max(0, source.size() - length))
            return bytes(source.read())

    def _infos(self, folder: str) -> list[fs.FileInfo]:
        selector = fs.FileSelector(f"{self.where}/{folder}", allow_not_found=True)
        with clear_errors("listing", folder):
            return list(self.system.get_file_info(selector))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return names and sizes of the files in a folder."""
        return {i.base_name: i.size for i in self._infos(folder) if i.type == fs.FileType.File}

    def folders(self, folder: str) -> list[str]:
        """Return the names of the folders in a folder."""
        infos = self._infos(folder)
        return sorted(i.base_name for i in infos if i.type == fs.FileType.Directory)

    def exists(self, path: str) -> bool:
        """Return whether there is such a file."""
        with clear_errors("looking for", path):
            return bool(self.system.get_file_info(f"{self.where}/{path}").is_file)

    def remove(self, path: str) -> None:
        """Remove a file; nothing happens if it is not there."""
        if self.exists(path):
            self.system.delete_file(f"{self.where}/{path}")

    def sync(self, folder: str) -> None:
        """Return at once: a file that was moved is there."""

    def is_a_file(self) -> bool:
        """Return whether a file stands where the folder should be."""
        with clear_errors("looking for", self.where):
            return bool(self.system.get_file_info(self.where).is_file)


@dataclass(slots=True)
class FarDraft:
    """A file beside its place, moved there when it is closed."""

    path: str
    system: fs.FileSystem
    _beside: str = field(init=False)
    _sink: Any = field(init=False)

    def __post_init__(self) -> None:
        self._beside = _draft_name(self.path)
        with clear_errors("writing", self.path):
            try:
                self._sink = self._open()
            except FileNotFoundError:
                self.system.create_dir(self.path.rpartition("/")[0], recursive=True)
                self._sink = self._open()

    def _open(self) -> Any:
        return self.system.open_output_stream(self._beside, compression=None)

    def write(self, raw: Any) -> None:
        """Append bytes."""
        with clear_errors("writing", self.path):
            self._sink.write(raw)

    def publish(self) -> None:
        """Close the file and move it to its place. Some systems move onto no existing file."""
        with clear_errors("writing", self.path):
            self._sink.close()
            try:
                self.system.move(self._beside, self.path)
            except OSError:
                self.system.delete_file(self.path)
                self.system.move(self._beside, self.path)

    def claim(self) -> bool:
        """Let the file appear under its name if there is none.

        HDFS moves onto no existing file; on object stores two at once may both do so.
        """
        if self.system.get_file_info(self.path).is_file:
            self.abandon()
            return False
        self._sink.close()
        try:
            self.system.move(self._beside, self.path)
        except OSError:
            if not self.system.get_file_info(self.path).is_file:
                raise
            self.abandon()
            return False
        return True

    def sync(self) -> None:
        """Return at once: a closed file is durable."""

    def abandon(self) -> None:
        """Remove the file, if it was not published."""
        self._sink.close()
        if self.system.get_file_info(self._beside).is_file:
            self.system.delete_file(self._beside)


@dataclass(slots=True)
class SpooledDraft:
    """A file in the local folder for temporary files, copied to its place when it is published.

    A process that is forked off can write to it; it cannot use the threads of a far file system.
    """

    path: str
    system: fs.FileSystem
    _file: IO[bytes] = field(init=False)

    def __post_init__(self) -> None:
        with clear_errors("writing", self.path):
            self._file = tempfile.TemporaryFile(prefix="windrow-")  # noqa: SIM115 - kept open

    def fileno(self) -> int:
        """Return the open file."""
        return self._file.fileno()

    def write(self, raw: Any) -> None:
        """Append bytes."""
        with clear_errors("writing", self.path):
            rest = memoryview(raw).cast("B")
            while rest:
                rest = rest[os.write(self._file.fileno(), rest) :]

    def publish(self) -> None:
        """Copy the file to its place, in pieces."""
        target = FarDraft(self.path, self.system)
        try:
            self._file.seek(0)
            while piece := self._file.read(SPOOL_PIECE):
                target.write(piece)
        except BaseException:
            target.abandon()
            raise
        target.publish()
        self._file.close()

    def claim(self) -> bool:
        """Raise: what is claimed is small, and need not be spooled."""
        raise AssertionError("a spooled draft is published")

    def sync(self) -> None:
        """Return at once: a closed file is durable."""

    def abandon(self) -> None:
        """Forget the file."""
        self._file.close()
