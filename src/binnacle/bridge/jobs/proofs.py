"""The secret that a host and its clients share, and the proofs made with it.

The folder of the bridge is in the repository, so a clone may contain one with jobs, a host and answers. None of them
counts without a proof: a keyed digest that only a process of the same person can make. Each host has a key, in a
private file in the data that belongs to the path of the workspace, never in the repository. A host makes the key when
it starts and removes it when it ends, so proofs for one host are void for the next.

A proof is HMAC-SHA256, in hexadecimal, over parts that are joined by zero bytes (`editors/vscode/src/proofs.ts` makes
the same):

    host.json, host.lock   host, bridgeId, kind, pid, processStart, namespace, workspace
    <job>/proof            command, name of the job, SHA-256 of command.json
    <job>/done             response or error, name of the job, SHA-256 of the file, SHA-256 of data.json

It does not keep out a program of the same person, which can read the key.
"""

import hmac
import os
from contextlib import suppress
from hashlib import sha256
from typing import Literal

from binnacle.bridge.jobs.protocol import HostInfo
from binnacle.config.directories import data_dir
from binnacle.config.private_files import make_private_folder
from binnacle.config.project_record import is_plain_name

KEY_BYTES = 32

Kind = Literal["response", "error"]


def keys_folder(workspace: str) -> str:
    """Where the keys of a workspace's hosts are."""
    return os.path.join(data_dir(workspace), "bridge")


def make_key(workspace: str, bridge_id: str, key: bytes | None = None) -> bytes:
    """Makes the key of a host, or restores a lost one, and removes those of earlier hosts.

    Raises:
        OSError: it cannot be written.
    """
    folder = keys_folder(workspace)
    make_private_folder(folder)
    key = key or os.urandom(KEY_BYTES)
    path = _key_file(workspace, bridge_id)
    with suppress(FileNotFoundError):
        os.unlink(path)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(key.hex().encode())
    return key


def read_key(workspace: str, bridge_id: str) -> bytes | None:
    """The key of a host; None if it has none, or one that others may read or change."""
    if not is_plain_name(bridge_id):
        return None
    try:
        handle = os.open(_key_file(workspace, bridge_id), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            return None
        written = file.read(4 * KEY_BYTES)
    with suppress(ValueError):
        key = bytes.fromhex(written.decode("ascii"))
        return key if len(key) == KEY_BYTES else None
    return None


def remove_key(workspace: str, bridge_id: str) -> None:
    """Removes the key of a host, which makes all its proofs void."""
    with suppress(OSError):
        os.unlink(_key_file(workspace, bridge_id))


def remove_other_keys(workspace: str, bridge_id: str) -> None:
    """Removes the keys of dead hosts. Only the host with the lock may do this."""
    folder = keys_folder(workspace)
    with suppress(OSError):
        for name in os.listdir(folder):
            if name != bridge_id:
                os.unlink(os.path.join(folder, name))


def prove_host(key: bytes, host: HostInfo) -> str:
    words = (host.bridge_id, host.kind, str(host.pid), str(host.process_start), host.namespace, host.workspace)
    return _prove(key, "host", *words)


def is_proven(workspace: str, host: HostInfo) -> bool:
    """Whether the proof of a host is valid for what it says."""
    key = read_key(workspace, host.bridge_id)
    return key is not None and is_proof(host.proof, prove_host(key, host))


def prove_command(key: bytes, job_id: str, content: bytes) -> str:
    return _prove(key, "command", job_id, sha256(content).hexdigest())


def prove_answer(key: bytes, kind: Kind, job_id: str, content: bytes, data: bytes = b"") -> str:
    """The proof of an answer or an error, with the separate file of a large answer."""
    return _prove(key, kind, job_id, sha256(content).hexdigest(), sha256(data).hexdigest())


def is_proof(given: str | bytes | None, wanted: str) -> bool:
    """Whether a proof is right, compared in constant time."""
    found = given.encode("utf-8", "replace") if isinstance(given, str) else given or b""
    return hmac.compare_digest(found.strip(), wanted.encode())


def _prove(key: bytes, *words: str) -> str:
    return hmac.digest(key, b"\0".join(map(os.fsencode, words)), "sha256").hex()


def _key_file(workspace: str, bridge_id: str) -> str:
    return os.path.join(keys_folder(workspace), bridge_id)
