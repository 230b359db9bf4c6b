#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the Server API of the system at STRATA_API as client libraries do that were written before Strata.

The Python library LayerClient runs for real, from PyPI, with another host. The libraries for Ruby, Node, PHP and Go are played: their requests, with the headers and
bodies that they are known to send. The command `strata` is taken from .build/debug unless PATH has one, and STRATA_HOME says which system it is about. Exits with
1, and prints what was not as it has to be.
"""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse
import uuid

import requests
from LayerClient import LayerClient

ROOT = pathlib.Path(__file__).resolve().parent.parent
API = os.environ["STRATA_API"]
FAULTS = []


def check(is_so, what):
    if not is_so:
        FAULTS.append(what)


def new_app():
    environment = os.environ | {"PATH": f"{os.environ['PATH']}:{ROOT}/.build/debug"}
    created = subprocess.run(["strata", "app", "create", "--name", "Libraries", "--json"], env=environment, check=True, capture_output=True)
    app = json.loads(created.stdout)
    return app["app"].split("/")[-1], app["serverToken"]


class Python(LayerClient.PlatformClient):
    """The library, at another host than the one that is built into it."""

    def _get_layer_uri(self, *suffixes):
        path = urllib.parse.urlsplit(super()._get_layer_uri(*suffixes)).path
        return API + path


def python(app, token):
    """All that the library LayerClient offers."""
    client = Python(app, token)
    client.replace_identity(LayerClient.Sender(id="ana", display_name="Ana", metadata={"role": "guest"}))
    client.replace_identity(LayerClient.Sender(id="ben", display_name="Ben"))
    identity = client.get_identity("ana")
    check((identity.display_name, identity.metadata) == ("Ana", {"role": "guest"}), f"the identity is {identity.display_name} {identity.metadata}")

    conversation = client.create_conversation(["ana", "ben"], distinct=True)
    again = client.create_conversation(["ana", "ben"], distinct=True)
    check(again.id == conversation.id, "the same participants got another conversation")
    check(sorted(conversation.participants) == ["ana", "ben"], f"participants {conversation.participants}")
    check(isinstance(conversation.created_at, datetime.datetime), f"created at {conversation.created_at}")
    client.update_conversation(conversation, metadata={"status": "open"})
    client.update_conversation(conversation.uuid(), custom_operations=[{"operation": "add", "property": "participants", "value": "cleo"}])
    read = client.get_conversation(conversation.uuid())
    check(read.metadata == {"status": "open"} and sorted(read.participants) == ["ana", "ben", "cleo"], f"{read.metadata} {read.participants}")

    notification = LayerClient.PushNotification("Hello", sound="ping", recipients={"ben": LayerClient.PushNotification("Hello Ben")})
    parts = [LayerClient.MessagePart("hello"), LayerClient.MessagePart("aGk=", mime="application/x", encoding="base64")]
    sent = client.send_message(conversation, LayerClient.Sender(id="ana"), parts, notification)
    check(sent.sender.id == "ana" and sent.parts[0].body == "hello", f"sent {sent.sender} {sent.parts}")
    named = client.send_message(conversation, LayerClient.Sender(name="Concierge", display_name="x"), [LayerClient.MessagePart("welcome")])
    check(named.sender.name == "Concierge", f"sent by {named.sender}")
    listed = client.get_messages(conversation.uuid(), page_size=1)
    check([one.id for one in listed] == [named.id], f"messages {listed}")
    check([one.id for one in client.get_messages(conversation.uuid(), from_id=named.id)] == [sent.id], "the second page")
    client.send_message_receipt("ben", sent.uuid(), LayerClient.LayerMessageReceipt.READ)
    status = client.get_messages(conversation.uuid())[1].recipient_status
    check(status.get("ben") == "read", f"status {status}")
    check([one.id for one in client.get_conversations("ben", sort_by="last_message")] == [conversation.id], "the list of Ben")

    content = client.prepare_rich_content(conversation, "image/png", "3000")
    check(requests.put(local(content.upload_url), data=b"x" * 3000, timeout=30).status_code == 200, "the upload")
    part = LayerClient.MessagePart(None, mime="image/png", content={"id": content.id, "size": content.size})
    rich = client.send_message(conversation, LayerClient.Sender(id="ana"), [part])
    check(rich.parts[0].mime_type == "image/png", f"rich content {rich.parts}")

    announcement = client.send_announcement(LayerClient.Sender(name="Support"), ["ana", "ben"], [LayerClient.MessagePart("news")])
    check(announcement.sender.name == "Support" and announcement.recipients == ["ana", "ben"], f"announcement {announcement.recipients}")
    client.update_user_external_badge_count("ana", 3)
    client.delete_conversation(conversation.uuid())
    client.delete_conversation(conversation.uuid())
    try:
        client.get_conversation(conversation.uuid())
        check(False, "a deleted conversation was found")
    except LayerClient.LayerPlatformException as error:
        check((error.http_code, error.code, error.error_id) == (410, 103, "object_deleted"), f"deleted: {error.http_code} {error.error_id}")
    try:
        client.send_message(again, LayerClient.Sender(id="ana"), [LayerClient.MessagePart("late")])
        check(False, "a message was sent to a deleted conversation")
    except LayerClient.LayerPlatformException as error:
        check(error.http_code == 410, f"sent to a deleted conversation: {error.http_code}")


def local(url):
    """A URL of the system, at the address where this program reaches it."""
    parts = urllib.parse.urlsplit(url)
    return API + urllib.parse.urlunsplit(("", "", parts.path, parts.query, ""))


class Trace:
    """Requests of a library that is not here."""

    def __init__(self, app, token, version, **headers):
        self.base = f"{API}/apps/{app}"
        self.headers = {"Authorization": f"Bearer {token}", "Accept": f"application/vnd.layer+json; version={version}",
                        "Content-Type": "application/json"} | headers

    def __call__(self, method, path, body=None, status=None, **headers):
        url = local(path) if "://" in path else self.base + path
        data = json.dumps(body) if body is not None else None
        answer = requests.request(method, url, data=data, headers=self.headers | headers, timeout=30)
        if status:
            check(answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text}, not {status}")
        return answer


def ruby(app, token):
    """1.0: a random If-None-Match and a body of {} with every request; URLs of objects are used as they come."""
    call = Trace(app, token, "1.0")
    patch = {"Content-Type": "application/vnd.layer-patch+json"}

    def ask(method, path, body=None, status=None, **headers):
        return call(method, path, {} if body is None else body, status, **({"If-None-Match": str(uuid.uuid4())} | headers))

    conversation = ask("POST", "/conversations", {"participants": ["r1", "r2"], "distinct": False, "metadata": {"a": "1"}}, 201).json()
    ask("GET", conversation["url"], status=200)
    ask("PATCH", conversation["url"], [{"operation": "set", "property": "metadata.a", "value": "2"}], 204, **patch)
    ask("PATCH", conversation["url"], [{"operation": "remove", "property": "participants", "value": "r2"}], 204, **patch)
    body = {"sender": {"name": "Bot"}, "parts": [{"body": "hello", "mime_type": "text/plain"}]}
    message = ask("POST", conversation["messages_url"], body, 201).json()
    check(message["sender"] == {"name": "Bot"}, f"Ruby: sender {message['sender']}")
    identifier = message["id"].split("/")[-1]
    check(ask("GET", message["url"], status=200).json()["parts"][0]["id"].endswith("/parts/0"), "Ruby: part ids")
    ask("DELETE", f"/conversations/{conversation['id'].split('/')[-1]}/messages/{identifier}", status=204)
    upload = {"Upload-Content-Type": "image/png", "Upload-Content-Length": "4"}
    content = ask("POST", conversation["url"] + "/content", status=201, **upload)
    check(content.headers.get("Location") == content.json()["upload_url"], "Ruby: Location")
    put = requests.put(local(content.json()["upload_url"]), data=b"png!", timeout=30,
                       headers={"Authorization": f"Bearer {token}", "Accept": call.headers["Accept"], "If-None-Match": str(uuid.uuid4())})
    check(put.status_code == 200, f"Ruby: upload {put.status_code}")
    ask("PUT", "/users/r1/badge", {"external_unread_count": 10}, 204)
    check(ask("GET", "/users/r1/badge", status=200).json()["external_unread_count"] == 10, "Ruby: badge")
    ask("POST", "/users/anyone/blocks", {"user_id": "r1"}, 204)
    check(ask("GET", "/users/anyone/blocks", status=200).json() == [{"user_id": "r1"}], "Ruby: blocks")
    ask("DELETE", "/users/anyone/blocks/r1", status=204)
    ask("DELETE", conversation["url"], status=204)
    ask("GET", conversation["url"], status=410)
    distinct = {"participants": ["r1", "r2"], "metadata": {"a": "1"}}
    ask("POST", "/conversations", distinct, 201)
    ask("POST", "/conversations", distinct | {"metadata": {"a": "2"}}, 409)


def node(app, token):
    """1.0: user ids escaped as in a query, If-None-Match only where something is created once, the badge by PATCH."""
    call = Trace(app, token, "1.0")
    patch = {"Content-Type": "application/vnd.layer-patch+json"}
    user = urllib.parse.quote("team/n 1@x", safe="!'()*-._~")
    call("POST", f"/users/{user}/identity", {"display_name": "Node"}, 201)
    check(call("GET", f"/users/{user}/identity", status=200).json()["user_id"] == "team/n 1@x", "Node: user id")
    identifier = str(uuid.uuid4())
    once = {"If-None-Match": identifier}
    body = {"participants": ["team/n 1@x", "n2"], "distinct": False}
    conversation = call("POST", "/conversations", body, 201, **once).json()
    check(conversation["id"].endswith(identifier), "Node: the id of what is created once")
    call("POST", "/conversations", body, 201, **once)
    path = f"/conversations/{identifier}"
    call("PATCH", path, [{"operation": "set", "property": "participants", "value": ["n2", "n3"]}], 204, **patch)
    check(sorted(call("GET", path, status=200).json()["participants"]) == ["n2", "n3"], "Node: participants were not set")
    message = {"sender": {"user_id": "n2"}, "parts": [{"body": "hello", "mime_type": "text/plain"}], "notification": {"text": "hello", "sound": "x.aiff"}}
    call("POST", path + "/messages", message, 201)
    call("POST", "/announcements", {"recipients": ["n2"], "sender": {"name": "Node"}, "parts": message["parts"]}, 202)
    badge = call("PATCH", f"/users/{user}/badge", [{"operation": "set", "property": "external_unread_count", "value": 7}], 200, **patch)
    check(badge.json().get("external_unread_count") == 7, f"Node: badge {badge.text}")
    call("PATCH", f"/users/{user}", [{"operation": "add", "property": "blocks", "value": "n2"}], 202, **patch)
    call("PATCH", path, [{"operation": "delete", "property": "metadata.nothing"}], 204, **patch)
    call("DELETE", path, status=204)


def php(app, token):
    """1.0: a patch is a POST that says so, an upload is a POST, and an empty object is written as []."""
    call = Trace(app, token, "1.0")
    conversation = call("POST", "/conversations", {"participants": ["p1", "p2"], "distinct": False}, 201).json()
    override = {"X-HTTP-Method-Override": "PATCH", "Content-Type": "application/vnd.layer-patch+json"}
    call("POST", conversation["url"], [{"operation": "set", "property": "metadata.a", "value": "1"}], 204, **override)
    check(call("GET", conversation["url"], status=200).json()["metadata"] == {"a": "1"}, "PHP: the patch")
    for method, path in [("POST", "/conversations"), ("POST", "/announcements"), ("POST", "/notifications"), ("POST", "/users/p1/identity"),
                         ("PUT", "/users/p1/identity"), ("PUT", "/users/p9/badge")]:
        call(method, path, [], 422)
    call("POST", conversation["messages_url"], [], 400)
    call("GET", conversation["messages_url"] + "/wrong", status=400)
    call("POST", "/users/wrong/messages/wrong/receipts", {"type": "read"}, 400)
    call("DELETE", "/users/wrong/messages/wrong", status=400)
    call("DELETE", "/conversations/wrong/messages/wrong", status=404)
    upload = {"Upload-Content-Type": "image/png", "Upload-Content-Length": "4"}
    content = call("POST", conversation["url"] + "/content", [], 201, **upload).json()
    sent = requests.post(local(content["upload_url"]), data=b"png!", timeout=30)
    check(sent.status_code == 200, f"PHP: upload {sent.status_code}")


def vendor(app, token):
    """3.0, the integration kit for Node: plain ids and ids as values, parts by their ids, mark_all_read."""
    call = Trace(app, token, "3.0")
    patch = {"Content-Type": "application/vnd.layer-patch+json"}
    call("POST", "/users/v1/identity", {"display_name": "V"}, 201)
    conversation = call("POST", "/conversations", {"participants": ["v1", "layer:///identities/v2"], "distinct": False}, 201).json()
    call("PATCH", conversation["url"], [{"operation": "add", "property": "participants", "value": "layer:///identities/v3"}], 204, **patch)
    check(len(call("GET", conversation["url"], status=200).json()["participants"]) == 3, "kit: participants")
    body = {"sender_id": "layer:///identities/v1", "parts": [{"mime_type": "text/plain", "body": "hello"}]}
    message = call("POST", conversation["messages_url"], body, 201).json()
    parts = message["url"] + "/parts"
    part = call("GET", parts, status=200).json()[0]
    call("PUT", f"{parts}/{part['id'].split('/')[-1]}", {"mime_type": "text/plain", "body": "better"}, 200)
    identifier = conversation["id"].split("/")[-1]
    call("POST", f"/users/v2/conversations/{identifier}/mark_all_read", {"position": None}, 202)
    status = call("GET", message["url"], status=200).json()["recipient_status"]
    check(status.get("layer:///identities/v2") == "read", f"kit: {status}")


def go(app, token):
    """3.0: patches name users by id, members that say nothing are sent empty, messages come twelve at a time, a delay has both of its members."""
    call = Trace(app, token, "3.0")
    patch = {"Content-Type": "application/vnd.layer-patch+json"}
    call("POST", "/users/g1/identity", {"display_name": "G", "metadata": None}, 201)
    conversation = call("POST", "/conversations", {"participants": ["layer:///identities/g1"], "distinct": False, "metadata": None}, 201).json()
    call("PATCH", conversation["url"], [{"operation": "add", "property": "participants", "id": "layer:///identities/g2"}], 204, **patch)
    body = {"sender_id": "layer:///identities/g1", "parts": [{"mime_type": "text/plain", "body": "hello"}]}
    check(call("POST", conversation["messages_url"], [body] * 12, 202).text == "", "Go: a batch was answered with a body")
    check(len(call("GET", conversation["messages_url"] + "?page_size=100", status=200).json()) == 12, "Go: a batch is not complete")
    delayed = body | {"schedule": {"delay_in_seconds": 1.0, "typing_indicator_in_seconds": 0}}
    call("POST", conversation["messages_url"], delayed, 202)
    end = time.monotonic() + 30
    while len(call("GET", conversation["messages_url"], status=200).json()) < 13 and time.monotonic() < end:
        time.sleep(0.1)
    check(len(call("GET", conversation["messages_url"], status=200).json()) == 13, "Go: a delayed message did not come")
    call("DELETE", "/users/g1/identity", status=204)
    call("DELETE", "/users/g1/identity", status=404)


def main():
    app, token = new_app()
    for play in (python, ruby, node, php, vendor, go):
        before = len(FAULTS)
        try:
            play(app, token)
        except Exception as error:  # A library that ends with an error of its own is a fault, too, and the others are still tried.
            FAULTS.append(f"{play.__name__} ended with {type(error).__name__}: {error}")
        print(f"{play.__name__}: {'works' if len(FAULTS) == before else 'does not work'}")
    if FAULTS:
        sys.exit("\n".join(FAULTS))


main()
