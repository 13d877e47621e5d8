#!/usr/bin/env python3
"""tls_front - speak TLS before a server that does not, on 127.0.0.1

usage: tls_front.py PORT SERVER.pem CLIENT.crt

Prints the port it listens on; wants clients to show CLIENT.crt, and passes
what they say on to PORT.  It ends when it is killed.
"""
import socket
import ssl
import sys
import threading

inside = int(sys.argv[1])
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2])
context.load_verify_locations(sys.argv[3])
context.verify_mode = ssl.CERT_REQUIRED


def copy(source, target):
    try:
        while True:
            data = source.recv(65536)
            if not data:
                break
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(raw):
    try:
        client = context.wrap_socket(raw, server_side=True)
    except (OSError, ssl.SSLError):
        return raw.close()
    server = socket.create_connection(("127.0.0.1", inside))
    threading.Thread(target=copy, args=(server, client), daemon=True).start()
    copy(client, server)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],),
                     daemon=True).start()
