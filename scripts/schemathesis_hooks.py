# SPDX-License-Identifier: Apache-2.0
"""Puts objects that exist into the requests that schemathesis makes up, so that more is looked at than 404s.

Most of the time a path parameter becomes the id of something real, made beforehand or at that moment: what is to be deleted is always fresh, so that the
others stay. What schemathesis made up stays now and then, and always where it is no proper value: such requests are to be refused as they are.
"""
import json
import os
import random
import urllib.error
import urllib.request
import uuid

import schemathesis

BASE = os.environ["STRATA_API"]
SEED = json.loads(os.environ["STRATA_SEED"])
DICE = random.Random(20180504)
ACCEPT = "application/vnd.layer+json; version=3.0"


def call(method, path, body=None, user="ana", headers=None):
    """One request of ours; gives the answer's JSON, or nothing if it was refused or has none."""
    data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    request = urllib.request.Request(path if path.startswith("http") else BASE + path, data=data, method=method)
    for name, value in {"Accept": ACCEPT, "Content-Type": "application/json", "Authorization": f'Layer session-token="{SEED[user]}"', **(headers or {})}.items():
        request.add_header(name, value)
    for _ in range(3):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text = answer.read()
                return json.loads(text) if text else {}
        except urllib.error.HTTPError as refusal:
            if refusal.code < 500:
                return None
        except ValueError:
            return None
        except OSError:
            pass
    return None


def last(identifier):
    return identifier.rsplit("/", 1)[-1]


def conversation(by="ana", **more):
    made = call("POST", "/conversations", {"participants": ["layer:///identities/ana", "layer:///identities/ben"], "distinct": False, **more}, by)
    return last(made["id"])


def message(in_conversation, by="ana", **more):
    """Its UUID and those of its parts; nothing if the conversation is gone."""
    parts = [{"mime_type": "text/plain", "body": "one"}, {"mime_type": "text/plain", "body": "dHdv", "encoding": "base64"}]
    made = call("POST", f"/conversations/{in_conversation}/messages", {"parts": parts, **more}, by)
    return made and (last(made["id"]), [last(part["id"]) for part in made["parts"]])


def content(upload):
    """An announced upload: the UUID and the URL's token; with its bytes if `upload`. Nothing where there is no rich content."""
    made = call("POST", "/content", headers={"Upload-Content-Type": "text/plain", "Upload-Content-Length": "4"})
    if not made:
        return None
    url = BASE + "/content/uploads/" + last(made["upload_url"])
    if upload:
        call("PUT", url, b"four", headers={"Upload-Content-Type": "text/plain", "Upload-Content-Length": "4"})
    return last(made["id"]), last(made["upload_url"])


def download():
    made = content(upload=True)
    fresh = made and call("GET", f"/content/{made[0]}")
    return fresh and last(fresh["download_url"])


class Objects:
    """What there is, made when the first request needs it."""

    def __init__(self):
        self.full = conversation(metadata={"title": "Weekend trip", "trip": {"city": "Porto"}})
        self.left = conversation(by="ben")
        self.conversations = [self.full, self.full, conversation(), self.left]
        self.messages = [message(self.full), message(self.full, by="ben"), message(self.left, by="ben")]
        patch = [{"operation": "remove", "property": "participants", "id": "layer:///identities/ana"}]
        call("PATCH", f"/conversations/{self.left}", patch, "ben", {"Content-Type": "application/vnd.layer-patch+json"})
        call("PUT", "/following/users/cleo")
        call("POST", "/push_tokens", {"token": "t", "type": "gcm", "device_id": "device"})
        self.announcements = [last(item["id"]) for item in call("GET", "/announcements") or []]

    def fresh_message(self):
        """For one request. Schemathesis remembers ids it was shown, and may have deleted the conversation they usually are in."""
        made = message(self.full)
        while made is None:
            self.full = conversation()
            self.conversations.append(self.full)
            made = message(self.full)
        return made


OBJECTS = None


def objects():
    global OBJECTS
    if OBJECTS is None:
        OBJECTS = Objects()
    return OBJECTS


def is_proper(value):
    """Whether what was made up could be the id of something."""
    try:
        uuid.UUID(str(value))
        return True
    except ValueError:
        return False


def substitute(case, parameters):
    there, method, path = objects(), case.method.upper(), case.path
    is_deletion = method == "DELETE"
    if "conversation_id" in parameters and is_proper(parameters["conversation_id"]):
        # What schemathesis patches may lose its participants.
        spoils = is_deletion or method == "PATCH" or path == "/conversations/{conversation_id}" and method == "POST"
        parameters["conversation_id"] = DICE.choice([conversation(), there.left]) if spoils else DICE.choice(there.conversations)
    if "message_id" in parameters and is_proper(parameters["message_id"]):
        changes_parts = "/parts" in path and method != "GET"
        chosen, parts = there.fresh_message() if is_deletion or changes_parts and DICE.random() < 0.7 else DICE.choice(there.messages)
        parameters["message_id"] = chosen
        if "part" in parameters and (is_proper(parameters["part"]) or str(parameters["part"]).isdigit()):
            parameters["part"] = DICE.choice([parts[0], parts[1], "0", "1", parameters["part"]])
    if "announcement_id" in parameters and is_proper(parameters["announcement_id"]) and there.announcements:
        parameters["announcement_id"] = there.announcements.pop() if is_deletion and len(there.announcements) > 1 else DICE.choice(there.announcements)
    if "content_id" in parameters and is_proper(parameters["content_id"]) and (made := content(upload=DICE.random() < 0.7)):
        parameters["content_id"] = made[0]
    if path == "/content/uploads/{token}" and (made := content(upload=False)):
        parameters["token"] = made[1]
        if DICE.random() < 0.5:
            case.body = b"four"
    if path == "/content/downloads/{token}" and (token := download()):
        parameters["token"] = token
    if "user_id" in parameters:
        parameters["user_id"] = DICE.choice(["ana", "ben", "cleo", "nobody-yet"])
    if "device_id" in parameters:
        parameters["device_id"] = "device"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Everything random in here comes from one seed."""
    if case.path_parameters and DICE.random() < 0.8:
        substitute(case, case.path_parameters)
    if not isinstance(case.body, dict) or case.method.upper() != "POST":
        return
    if case.path == "/sessions" and case.headers.get("Accept") == ACCEPT and SEED["tokens"] and DICE.random() < 0.5:
        case.body = {"app_id": SEED["app"], "identity_token": SEED["tokens"].pop()}
    if case.path.endswith("/messages") and isinstance(case.body.get("parts"), list) and DICE.random() < 0.3:
        if made := content(upload=DICE.random() < 0.8):
            case.body["parts"] = [{"mime_type": "text/plain", "content": {"id": f"layer:///content/{made[0]}", "size": 4}}]
