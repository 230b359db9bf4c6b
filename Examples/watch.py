#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watch.py APP USER [OTHER TEXT]: prints every packet that USER is sent; or sends OTHER the text, and ends. See docs/clients.md."""
import base64, json, os, socket, ssl, struct, subprocess, sys, urllib.request
from urllib.parse import urlsplit

api = os.environ.get("API", "http://localhost:8080")
app, user, *message = sys.argv[1:]  # message: another user, and a text for them
url = urlsplit(api)
tls = ssl.create_default_context(cafile=os.environ.get("STRATA_CA")) if url.scheme == "https" else None


def post(path, body=None):
    headers = {"Accept": "application/vnd.layer+json; version=3.0", "Content-Type": "application/json"}
    request = urllib.request.Request(api + path, json.dumps(body).encode() if body else b"", headers)
    return json.load(urllib.request.urlopen(request, context=tls))


# Sign in: a nonce, an identity token that contains it, a session.
nonce = post("/nonces")["nonce"]
command = ["strata", "token", "--app", app, "--user", user, "--nonce", nonce]
token = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
session = post("/sessions", {"app_id": app, "identity_token": token})["session_token"]

# The WebSocket handshake. The subprotocol is the version of the API.
connection = socket.create_connection((url.hostname, url.port or (443 if tls else 80)))
if tls:
    connection = tls.wrap_socket(connection, server_hostname=url.hostname)
connection.sendall(
    f"GET /?session_token={session} HTTP/1.1\r\nHost: {url.netloc}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Protocol: layer-3.0\r\n\r\n".encode())
stream = connection.makefile("rb")
status = stream.readline().decode().strip()
while stream.readline().strip():
    pass
if " 101 " not in status:
    sys.exit(f"The handshake was refused: {status}")


def send_frame(opcode, payload):
    length = len(payload)
    size = bytes([0x80 | length]) if length < 126 else struct.pack(">BQ", 0xFF, length)
    mask = os.urandom(4)
    connection.sendall(bytes([0x80 | opcode]) + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))


def receive_packet():
    while True:
        opcode, length = (byte & mask for byte, mask in zip(stream.read(2), (0x0F, 0x7F)))
        if length > 125:
            length = int.from_bytes(stream.read(2 if length == 126 else 8), "big")
        payload = stream.read(length)
        if opcode == 1:  # text: one packet
            packet = json.loads(payload)
            print(user, json.dumps(packet), flush=True)
            return packet
        if opcode == 9:  # ping: answer with a pong, or the server closes the socket
            send_frame(10, payload)
        if opcode == 8:
            sys.exit(f"closed: {int.from_bytes(payload[:2], 'big')} {payload[2:].decode()}")


def ask(method, **body):
    send_frame(1, json.dumps({"type": "request", "body": {"request_id": method, "method": method, **body}}).encode())
    while True:
        packet = receive_packet()
        if packet["type"] == "response" and packet["body"]["request_id"] == method:
            return packet["body"]["data"] if packet["body"]["success"] else sys.exit("refused")


ask("Counter.read")  # The first request decides: Event.replay brings what was missed, any other request makes the socket live.
if message:
    other, text = message
    conversation = ask("Conversation.create", data={"participants": [f"layer:///identities/{other}"]})
    ask("Message.create", object_id=conversation["id"], data={"parts": [{"mime_type": "text/plain", "body": text}]})
else:
    while True:
        receive_packet()
