#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bot that answers in conversations: python3 Examples/bot.py APP TOKEN

It registers a webhook for new messages, checks the signature of what it is sent, and answers each message of a user under the name "Echo". APP is the id of the app
and TOKEN the token of its server, both as `strata app create` prints them. The environment may hold API (http://localhost:8080), PORT (8090), at which the bot
listens, and TARGET (http://127.0.0.1:PORT/), the URL at which Strata reaches it.
"""
import hashlib
import hmac
import http.server
import json
import os
import secrets
import sys
import urllib.parse
import urllib.request

NAME = "Echo"
SECRET = secrets.token_hex(32)


class Strata:
    """The Server API of one app."""

    def __init__(self, api, app, token):
        self.base = f"{api}/apps/{app.split('/')[-1]}"
        self.token = token

    def call(self, method, path, body=None, kind="layer", version="1.0", headers=None):
        every = {"Authorization": f"Bearer {self.token}", "Accept": f"application/vnd.{kind}+json; version={version}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.base + path, data, every | (headers or {}), method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or "null")

    def listen(self, target):
        """Registers the bot, in place of one that was registered for the same URL before."""
        for hook in self.call("GET", "/webhooks", kind="layer.webhooks", version="3.0"):
            if hook["target_url"] == target:
                self.call("DELETE", "/webhooks/" + hook["id"].split("/")[-1], kind="layer.webhooks", version="3.0")
        hook = {"version": "3.0", "target_url": target, "events": ["Message.created"], "secret": SECRET}
        self.call("POST", "/webhooks", hook, kind="layer.webhooks", version="3.0")

    def say(self, conversation, text, answers):
        """Sends a message under the bot's name. An event may come twice: the id of the message is made from that of the event, and then nothing is sent twice."""
        name = hashlib.sha256(f"echo {answers}".encode()).hexdigest()
        own = f"{name[:8]}-{name[8:12]}-8{name[13:16]}-8{name[17:20]}-{name[20:32]}"
        message = {"sender": {"name": NAME}, "parts": [{"mime_type": "text/plain", "body": text}]}
        self.call("POST", f"/conversations/{conversation}/messages", message, headers={"If-None-Match": own})


class Receiver(http.server.BaseHTTPRequestHandler):
    """What Strata calls: with GET once, to see that the bot wants its events, and with POST for each event."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        self.answer(200, query.get("verification_challenge", [""])[0].encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signature = hmac.new(SECRET.encode(), body, hashlib.sha1).hexdigest()
        if not hmac.compare_digest(signature, self.headers.get("layer-webhook-signature", "")):
            return self.answer(403)
        try:
            self.server.bot(json.loads(body))
        except OSError as error:
            # Strata sends the event again.
            print(f"could not answer: {error}", flush=True)
            return self.answer(503)
        self.answer(200)

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(app, token):
    port = int(os.environ.get("PORT", "8090"))
    strata = Strata(os.environ.get("API", "http://localhost:8080"), app, token)

    def bot(event):
        message = event["message"]
        text = next((part.get("body") for part in message["parts"] if part["mime_type"] == "text/plain"), None)
        # Messages without a user as sender were sent under a name, by this bot or another one.
        if text is None or message["sender"]["user_id"] is None:
            return
        strata.say(message["conversation"]["id"].split("/")[-1], f"You said: {text}", event["event"]["id"])
        print(f"answered {message['sender']['user_id']}", flush=True)

    with http.server.ThreadingHTTPServer(("", port), Receiver) as server:
        server.bot = bot
        strata.listen(os.environ.get("TARGET", f"http://127.0.0.1:{port}/"))
        print(f"{NAME} listens", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        pass
