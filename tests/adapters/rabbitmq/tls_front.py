"""TLS in front of a server that speaks none, with certificates made for the occasion."""

import contextlib
import selectors
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs

_PIECE_BYTES = 65_536
_TIMEOUT_SECONDS = 5.0


@attrs.frozen
class Certificates:
    """Files of a certificate that has signed itself."""

    certificate: Path
    key: Path

    @classmethod
    def made(cls, folder: Path, name: str, *, host: str) -> "Certificates":
        made = cls(folder / f"{name}.pem", folder / f"{name}.key")
        request = f"req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={host}"
        files = ["-out", str(made.certificate), "-keyout", str(made.key)]
        subprocess.run(
            ["openssl", *request.split(), "-addext", f"subjectAltName=DNS:{host}", *files],
            check=True,
            capture_output=True,
        )
        return made


@contextmanager
def tls_front(
    server: tuple[str, int], certificates: Certificates, *, clients: Path | None = None
) -> Iterator[int]:
    """Run it and return its port.

    Args:
        server: Host and port of the server.
        certificates: What it shows.
        clients: Certificates that clients have to show one of.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.certificate, certificates.key)
    if clients is not None:
        context.load_verify_locations(clients)
        context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, server, context), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, server: tuple[str, int], context: ssl.SSLContext) -> None:
    with contextlib.suppress(OSError):  # closed at the end of the test
        while True:
            client, _ = listener.accept()
            threading.Thread(target=_serve, args=(client, server, context), daemon=True).start()


def _serve(client: socket.socket, server: tuple[str, int], context: ssl.SSLContext) -> None:
    client.settimeout(_TIMEOUT_SECONDS)
    with (
        contextlib.suppress(OSError),
        context.wrap_socket(client, server_side=True) as encrypted,
        socket.create_connection(server, timeout=_TIMEOUT_SECONDS) as plain,
    ):
        encrypted.settimeout(None)
        _pass_on(encrypted, plain)


def _pass_on(encrypted: ssl.SSLSocket, plain: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        selector.register(encrypted, selectors.EVENT_READ, plain)
        selector.register(plain, selectors.EVENT_READ, encrypted)
        while True:
            for key, _ in selector.select():
                source, target = key.fileobj, key.data
                assert isinstance(source, socket.socket)
                while True:
                    piece = source.recv(_PIECE_BYTES)
                    if not piece:
                        return
                    target.sendall(piece)
                    if not (isinstance(source, ssl.SSLSocket) and source.pending()):
                        break
