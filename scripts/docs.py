#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes docs/index.html and docs/errors.html from openapi.yaml, asyncapi.yaml and protocol.md.

docs.py           writes them
docs.py --check   fails if what is there is something else

The pages need nothing but themselves: no fonts, no other host. The one script is that of the search; without it all else works. The gateway serves these files:
docs/CProtocolDocs embeds them.
"""
import html
import json
import pathlib
import re
import sys

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
COMMON = ("Unauthorized", "NotAcceptable", "Timeout", "TooManyRequests", "Unavailable")
METHODS = ("get", "head", "post", "put", "patch", "delete", "options")


# MARK: Text

def escape(text):
    return html.escape(str(text), quote=True)


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


LINKS = {"openapi.yaml": "openapi.yaml", "asyncapi.yaml": "asyncapi.yaml", "protocol.md": "#sync", "/docs/errors": "errors"}


def inline(text):
    """Code, bold, emphasis and links of Markdown."""
    pieces = re.split(r"(`[^`]+`)", text)
    out = []
    for piece in pieces:
        if piece.startswith("`") and len(piece) > 2:
            content = piece[1:-1]
            code = f"<code>{escape(content)}</code>"
            if content in LINKS:
                code = f'<a href="{LINKS[content]}">{code}</a>'
            elif content in ERROR_IDS:
                code = f'<a href="errors#{content}">{code}</a>'
            out.append(code)
            continue
        piece = escape(piece)
        piece = re.sub(r"\[([^\]]+)\]\(([^)]+)\)", lambda m: f'<a href="{LINKS.get(m[2], m[2])}">{m[1]}</a>', piece)
        piece = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", piece)
        piece = re.sub(r"(?<![*\w])\*([^*\s][^*]*)\*(?![*\w])", r"<em>\1</em>", piece)
        out.append(piece)
    # Code inside a bold passage was split off before the asterisks were seen.
    return re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", "".join(out))


def markdown(text, level=3, prefix="", toc=None):
    """The Markdown that our files use: headings, paragraphs, lists, tables, fenced code. `level` is that of a `##` heading."""
    lines = str(text or "").rstrip().split("\n")
    out, index = [], 0

    def block(start, pattern):
        end = start
        while end < len(lines) and re.match(pattern, lines[end]):
            end += 1
        return end

    while index < len(lines):
        line = lines[index]
        if not line.strip():
            index += 1
        elif line.startswith("```"):
            end = index + 1
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            out.append(f"<pre><code>{escape(chr(10).join(lines[index + 1:end]))}</code></pre>")
            index = end + 1
        elif match := re.match(r"(#{2,4}) (.*)", line):
            depth = level + len(match[1]) - 2
            anchor = f"{prefix}{slug(match[2])}"
            if toc is not None:
                toc.append((anchor, match[2]))
            out.append(heading(depth, anchor, inline(match[2])))
            index += 1
        elif line.startswith("|"):
            end = block(index, r"\|")
            rows = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in lines[index:end]]
            out.append(table([inline(cell) for cell in rows[0]], [[inline(cell) for cell in row] for row in rows[2:]]))
            index = end
        elif match := re.match(r"([-*]|\d+\.) ", line):
            tag = "ul" if match[1] in "-*" else "ol"
            items = []
            while index < len(lines) and (re.match(r"([-*]|\d+\.) ", lines[index]) or re.match(r" {2,}\S", lines[index])):
                if start := re.match(r"([-*]|\d+\.) (.*)", lines[index]):
                    items.append([start[2]])
                else:
                    items[-1].append(lines[index].strip())
                index += 1
            out.append(f"<{tag}>" + "".join(f"<li>{list_item(item)}</li>" for item in items) + f"</{tag}>")
        else:
            end = block(index, r"(?!\||```|#{2,4} |[-*] |\d+\. )\S")
            out.append(f"<p>{inline(' '.join(part.strip() for part in lines[index:end]))}</p>")
            index = end
    return "\n".join(out)


def list_item(lines):
    """An item of a list, which may end with a list of its own."""
    first = next((n for n, line in enumerate(lines) if n and line.startswith("* ")), len(lines))
    inner = []
    for line in lines[first:]:
        if line.startswith("* "):
            inner.append([line[2:]])
        else:
            inner[-1].append(line)
    text = " ".join(inline(line) for line in lines[:first])
    return text + ("<ul>" + "".join(f"<li>{list_item(item)}</li>" for item in inner) + "</ul>" if inner else "")


def heading(level, anchor, content, css=""):
    attribute = f' class="{css}"' if css else ""
    return f'<h{level} id="{anchor}"{attribute}>{content} <a class="anchor" href="#{anchor}" aria-label="Link to this">#</a></h{level}>'


def table(head, rows, css=""):
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    heads = "".join(f"<th>{cell}</th>" for cell in head)
    return f'<div class="scroll"><table class="{css}"><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def code(value):
    """A JSON value, indented, keys and strings told apart. Small objects stay on one line."""
    return f'<pre class="json"><code>{paint(pretty(value))}</code></pre>'


def pretty(value, indent=0):
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or not value or len(flat) + indent <= 96 and not (isinstance(value, dict) and indent == 0 and len(value) > 3):
        return ("{ " + flat[1:-1] + " }") if isinstance(value, dict) and value else flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        inner = ",\n".join(f"{pad}{json.dumps(key, ensure_ascii=False)}: {pretty(item, indent + 2)}" for key, item in value.items())
        return "{\n" + inner + "\n" + " " * indent + "}"
    return "[\n" + ",\n".join(pad + pretty(item, indent + 2) for item in value) + "\n" + " " * indent + "]"


def paint(text):
    def token(match):
        if match[1]:
            css = "key" if match[2] else "str"
            return f'<span class="{css}">{escape(match[1])}</span>{match[2] or ""}'
        return f'<span class="lit">{match[3]}</span>'
    out, last = [], 0
    for match in re.finditer(r'("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null|-?\d+(?:\.\d+)?)\b', text):
        out.append(escape(text[last:match.start()]))
        out.append(token(match))
        last = match.end()
    return "".join(out) + escape(text[last:])


# MARK: Schemas

def local(reference):
    return reference.split("/")[-1]


def schema_type(schema):
    """What kind of value it is, in words, with links to named schemas."""
    if not isinstance(schema, dict) or not schema:
        return "anything"
    if "$ref" in schema:
        name = local(schema["$ref"])
        return f'<a href="#schema-{name}">{name}</a>'
    if "const" in schema:
        return f"<code>{escape(json.dumps(schema['const'], ensure_ascii=False))}</code>"
    if "enum" in schema:
        return " | ".join(f"<code>{escape(value if value is not None else 'null')}</code>" for value in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " or ".join(schema_type(option) for option in schema[word])
    if "allOf" in schema:
        return schema_type(schema["allOf"][0])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        if schema.get("maxItems") == 0:
            return "empty array"
        return f"array of {schema_type(schema.get('items'))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict) and "properties" not in schema:
        return f"object of {schema_type(schema['additionalProperties'])}"
    if kind == "string" and schema.get("format"):
        return f"string, {schema['format']}"
    return kind or "anything"


def limits(schema):
    words = []
    if not isinstance(schema, dict):
        return words
    if "default" in schema:
        words.append(f"default <code>{escape(json.dumps(schema['default']))}</code>")
    for key, text in (("minimum", "at least {}"), ("maximum", "at most {}"), ("minLength", "at least {} long"), ("maxLength", "at most {} long"),
                      ("minItems", "at least {}"), ("maxItems", "at most {}"), ("maxProperties", "at most {} keys")):
        if schema.get(key):
            words.append(text.format(f"{schema[key]:,}"))
    if schema.get("type") == "string" and "pattern" in schema:
        words.append(f"<code>{escape(schema['pattern'])}</code>")
    return words


def property_rows(schema, prefix="", depth=0):
    rows = []
    required = schema.get("required", [])
    for name, member in schema.get("properties", {}).items():
        member = member if isinstance(member, dict) else {}
        marks = ' <span class="required">required</span>' if name in required else ""
        details = inline(member.get("description", "").strip().replace("\n", " ")) if "$ref" not in member else ""
        if words := limits(member):
            details = f'{details} <span class="limits">{", ".join(words)}</span>'
        rows.append([f"<code>{escape(prefix + name)}</code>{marks}", schema_type(member), details])
        if depth < 4 and member.get("type", "object") == "object" and "properties" in member:
            rows += property_rows(member, f"{prefix}{name}.", depth + 1)
    return rows


def render_schema(name, schema, level=4):
    out = [heading(level, f"schema-{name}", escape(name))]
    if schema.get("description"):
        out.append(markdown(schema["description"]))
    out.append(schema_body(schema))
    for example in schema.get("examples", [])[:1]:
        out.append(details("Example", code(example)))
    return f'<section class="schema">{"".join(out)}</section>'


def schema_body(schema):
    if "allOf" in schema:
        base = next((part for part in schema["allOf"] if "$ref" in part), None)
        rest = [row for part in schema["allOf"] if "$ref" not in part for row in property_rows(part)]
        text = f"<p>{schema_type(base)}, with:</p>" if base else ""
        return text + table(["Member", "Type", ""], rest, "members")
    if any("x-code" in option for option in schema.get("oneOf", [])):
        rows = [[f'<a href="errors#{option["const"]}"><code>{option["const"]}</code></a>', str(option["x-code"]), str(option["x-status"]), inline(option["description"])]
                for option in schema["oneOf"]]
        return table(["Id", "Code", "Status", ""], rows, "members")
    if "oneOf" in schema or "anyOf" in schema:
        out = []
        for option in schema.get("oneOf", schema.get("anyOf")):
            if "$ref" in option:
                out.append(f'<p class="option">{schema_type(option)}</p>')
            else:
                out.append(f'<p class="option">{escape(option.get("title", schema_type(option)))}</p>')
                out.append(table(["Member", "Type", ""], property_rows(option), "members") if option.get("properties") else "")
        return "".join(out)
    if "properties" in schema:
        return table(["Member", "Type", ""], property_rows(schema), "members")
    words = limits(schema)
    return f'<p class="option">{schema_type(schema)}{" <span class=limits>" + ", ".join(words) + "</span>" if words else ""}</p>'


def details(title, content, is_open=False):
    return f'<details{" open" if is_open else ""}><summary>{title}</summary>{content}</details>'


def example_of(document, schema, depth=0):
    """An example of a schema, taken from the schemas it refers to; None if there is none."""
    if not isinstance(schema, dict) or depth > 4:
        return None
    if "$ref" in schema:
        return example_of(document, document["components"]["schemas"].get(local(schema["$ref"]), {}), depth + 1)
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("type") == "array":
        item = example_of(document, schema.get("items"), depth + 1)
        return None if item is None else [item]
    return None


# MARK: REST

def resolve(document, node):
    while isinstance(node, dict) and "$ref" in node:
        target = document
        for segment in node["$ref"].removeprefix("#/").split("/"):
            target = target[segment]
        node = target
    return node


def parameter_rows(document, parameters):
    rows = []
    for parameter in (resolve(document, parameter) for parameter in parameters):
        marks = ' <span class="required">required</span>' if parameter.get("required") else ""
        if parameter.get("deprecated"):
            marks += ' <span class="limits">deprecated</span>'
        text = inline(parameter.get("description", "").strip().replace("\n", " "))
        if words := limits(parameter.get("schema")):
            text += f' <span class="limits">{", ".join(words)}</span>'
        rows.append([f"<code>{escape(parameter['name'])}</code>{marks}", parameter["in"], schema_type(parameter["schema"]), text])
    return rows


def body_examples(document, media):
    if "examples" in media:
        return [(entry.get("summary", name), entry["value"]) for name, entry in media["examples"].items()]
    if "example" in media:
        return [("Example", media["example"])]
    value = example_of(document, media.get("schema"))
    return [] if value is None else [("Example", value)]


def curl(document, path, method, operation, shared):
    """The request as a command for a shell in which STRATA and SESSION are set."""
    def sample(parameter):
        values = parameter.get("examples", {})
        first = next(iter(values.values()), {}).get("value") if values else None
        schema = parameter["schema"]
        known = [parameter.get("example"), first, schema.get("const"), *schema.get("enum", []), *schema.get("examples", [])]
        return next((value for value in known if value is not None), parameter["name"].upper())

    parameters = [resolve(document, parameter) for parameter in shared + operation.get("parameters", [])]
    target = path
    for parameter in parameters:
        if parameter["in"] == "path":
            target = target.replace("{" + parameter["name"] + "}", str(sample(parameter)))
    query = "&".join(f"{parameter['name']}={sample(parameter)}" for parameter in parameters
                     if parameter["in"] == "query" and (parameter.get("required") or method == "delete" and parameter["name"] == "mode"))
    lines = ["curl" + {"get": "", "head": " --head"}.get(method, f" -X {method.upper()}") + f' "$STRATA{target}{"?" + query if query else ""}"']
    if any(parameter["name"] == "Accept" for parameter in parameters):
        lines.append("-H 'Accept: application/vnd.layer+json; version=3.0'")
    if {} not in operation.get("security", document["security"]):
        lines.append("-H \"Authorization: Layer session-token=$SESSION\"")
    for parameter in parameters:
        if parameter["in"] == "header" and parameter.get("required") and parameter["name"] != "Accept":
            lines.append(f"-H '{parameter['name']}: {sample(parameter)}'")
    for kind, media in operation.get("requestBody", {}).get("content", {}).items():
        lines.append(f"-H 'Content-Type: {kind}'")
        if kind == "application/octet-stream":
            lines.append("--data-binary @FILE")
        else:
            examples = body_examples(document, media)
            value = examples[0][1] if examples else {}
            lines.append("-d '" + json.dumps(value, ensure_ascii=False).replace("'", "'\\''") + "'")
        break
    return f'<pre class="shell"><code>{escape((" " + chr(92) + chr(10) + "    ").join(lines))}</code></pre>'


def render_operation(document, path, method, operation, shared):
    anchor = operation["operationId"]
    title = f'<span class="method {method}">{method.upper()}</span> <span class="path">{path_html(path)}</span>'
    out = [heading(3, anchor, title, "operation"), f'<p class="summary">{inline(operation["summary"])}</p>']
    if operation.get("description"):
        out.append(markdown(operation["description"], 5))
    security = operation.get("security", document["security"])
    if {} in security:
        out.append(f'<p class="note">{"A session is taken, and not needed." if len(security) > 1 else "No session."}</p>')
    parameters = [parameter for parameter in shared + operation.get("parameters", [])
                  if resolve(document, parameter)["name"] != "Accept"]
    if parameters:
        out.append(table(["Parameter", "In", "Type", ""], parameter_rows(document, parameters), "members"))
    if body := operation.get("requestBody"):
        for kind, media in body["content"].items():
            needed = "" if body.get("required") else ", optional"
            out.append(f'<p class="label">Body <span>{schema_type(media["schema"])} as <code>{kind}</code>{needed}</span></p>')
            out += [details(inline(name), code(value), number == 0) for number, (name, value) in enumerate(body_examples(document, media))]
    if path != "/websocket":
        out.append(details("curl", curl(document, path, method, operation, shared)))
    out.append('<p class="label">Answers</p>')
    rows, samples, common = [], [], []
    for status, response in operation["responses"].items():
        is_shared = "$ref" in response
        if is_shared and local(response["$ref"]) in COMMON:
            common.append(status)
            continue
        response = resolve(document, response)
        media = response.get("content", {}).get("application/json")
        kind = schema_type(media["schema"]) if media else ""
        names = "".join(f"<br><code>{name}</code>" for name in response.get("headers", {}))
        rows.append([f'<span class="status s{status[0]}">{status}</span>', inline(response["description"].strip().replace("\n", " ")), kind + (names if kind else names[4:])])
        if media and not is_shared and status[0] == "2":
            samples += [(f"{status}: {name}" if name != "Example" else f"Answer {status}", value) for name, value in body_examples(document, media)]
    out.append(table(["Status", "", "Body and headers"], rows, "responses"))
    if common:
        out.append(f'<p class="note"><a href="#answers">As any request</a>: {", ".join(common)}</p>')
    out += [details(inline(name), code(value), number == 0) for number, (name, value) in enumerate(samples)]
    return f'<section class="operation">{"".join(out)}</section>'


def common_answers(document):
    """What any request may be answered with; operations only name these."""
    rows, shared = {}, document["components"]["responses"]
    for path in document["paths"].values():
        for method in METHODS:
            for status, response in path.get(method, {}).get("responses", {}).items():
                if local(response.get("$ref", "")) in COMMON:
                    response = shared[local(response["$ref"])]
                    kind = schema_type(response["content"]["application/json"]["schema"])
                    kind += "".join(f"<br><code>{name}</code>" for name in response.get("headers", {}))
                    rows[status] = [f'<span class="status s4">{status}</span>', inline(response["description"]), kind]
    return table(["Status", "", "Body and headers"], [rows[status] for status in sorted(rows)], "responses")


def path_html(path):
    return re.sub(r"\{([^}]+)\}", r"<var>\1</var>", escape(path).replace("/", "/<wbr>"))


def render_rest(document, toc):
    out = [heading(1, "rest", "REST"), markdown(document["info"]["description"], 3, "rest-", toc)]
    out.append("<p>The <code>curl</code> commands below run in a shell with <code>STRATA</code>, the URL of a gateway, and <code>SESSION</code>, the token that "
               '<a href="#createSession"><code>POST /sessions</code></a> answered with; ids and other values are examples.</p>')
    toc.append(("answers", "Answers to any request"))
    out += [heading(3, "answers", "Answers to any request"), common_answers(document)]
    for tag in document["tags"]:
        anchor = "tag-" + slug(tag["name"])
        toc.append((anchor, tag["name"], []))
        out.append(heading(2, anchor, escape(tag["name"])))
        out.append(markdown(tag.get("description"), 4))
        for path, item in document["paths"].items():
            for method in METHODS:
                if method in item and item[method]["tags"][0] == tag["name"]:
                    out.append(render_operation(document, path, method, item[method], item.get("parameters", [])))
                    toc[-1][2].append((item[method]["operationId"], method, path))
    out.append(heading(2, "schemas", "Objects"))
    toc.append(("schemas", "Objects"))
    out += [render_schema(name, schema, 3) for name, schema in document["components"]["schemas"].items()]
    return "\n".join(out)


# MARK: WebSocket

def payload_body(message):
    """The part of a packet's schema that is its own."""
    schema = message["payload"]
    parts = schema.get("allOf", [schema])
    for part in parts:
        body = part.get("properties", {}).get("body")
        if body:
            return body
    return None


def direction(is_by_client):
    """A mark that says who sends a packet."""
    sender, words = ("client", "client → server") if is_by_client else ("server", "server → client")
    return f'<span class="sender {sender}">{words}</span>'


def render_packet(document, name, message, level=4):
    out = [heading(level, f"packet-{name}", f'{inline(message["title"])} {direction(False)}')]
    if message.get("summary"):
        out.append(markdown(message["summary"], 5))
    body = payload_body(message)
    if body and body.get("properties"):
        rows = property_rows(body)
        rows = [row for row in rows if row[0] not in ("<code>operation</code>", "<code>object.type</code>", "<code>object</code>") or row[2]]
        if rows:
            out.append(table(["Member of <code>body</code>", "Type", ""], rows, "members"))
    out += [details("Example" if not example.get("name") else f'Example: {escape(example["name"])}', code(example["payload"]), number == 0)
            for number, example in enumerate(message.get("examples", []))]
    return f'<section class="packet">{"".join(out)}</section>'


def render_socket(document, toc):
    messages = document["components"]["messages"]
    out = [heading(1, "websocket", "WebSocket"), markdown(document["info"]["description"], 3, "ws-", toc)]
    toc.append(("ws-requests", "Requests", []))
    out.append(heading(2, "ws-requests", "Requests"))
    for name, operation in document["operations"].items():
        if operation["action"] != "receive":
            continue
        toc[-1][2].append((f"op-{name}", "", operation["title"]))
        out.append(f'<section class="operation">{heading(3, f"op-{name}", "<code>" + escape(operation["title"]) + "</code>" if "." in operation["title"] else escape(operation["title"]), "operation")}')
        out.append(f'<p class="summary">{inline(operation["summary"])}</p>')
        out.append(markdown(operation.get("description"), 5))
        for reference in operation["messages"]:
            message = messages[local(reference["$ref"])]
            if (body := payload_body(message)) and (rows := [row for row in property_rows(body)]):
                out.append(table(["Member of <code>body</code>", "Type", ""], rows, "members"))
            out += [details(f"Request {direction(True)}", code(example["payload"]), number == 0) for number, example in enumerate(message.get("examples", []))]
        for reference in operation.get("reply", {}).get("messages", []):
            key = local(reference["$ref"])
            is_refusal = key == "FailureResponse"
            out += [details(f'{"Refused" if is_refusal else "Response"} {direction(False)}', code(example["payload"]), number == 0 and not is_refusal)
                    for number, example in enumerate(messages[key].get("examples", []))]
            if not messages[key].get("examples"):
                data = payload_body(messages[key])["properties"]["data"]
                out.append(f'<p class="label">Response <span><code>data</code> is {schema_type(data)}</span></p>')
        out.append("</section>")
    for anchor, title, operation in (("ws-changes", "Changes", "changes"), ("ws-operations", "Operations", "bulk"), ("ws-signals", "Signals", "signals")):
        toc.append((anchor, title, []))
        out.append(heading(2, anchor, title))
        out.append(f'<p>{inline(document["operations"][operation]["summary"])}.</p>')
        if anchor == "ws-changes":
            out.append(table(["Member of <code>body</code>", "Type", ""], property_rows(document["components"]["schemas"]["Change"]["properties"]["body"]), "members"))
        for reference in document["operations"][operation]["messages"]:
            name = local(reference["$ref"])
            toc[-1][2].append((f"packet-{name}", "", messages[name]["title"]))
            out.append(render_packet(document, name, messages[name], 3))
    toc.append(("ws-fan-out", "Who is told what"))
    out.append(heading(2, "ws-fan-out", "Who is told what"))
    out.append("<p>“Own” are all sockets of the user who acts, the one they act on included; packets come in the order in which they stand here. What has no effect is not told.</p>")
    out.append(table(["What happens", "Own sockets", "Other participants"], [[inline(row["action"]), inline(row["own"]), inline(row["others"])] for row in document["x-fan-out"]], "wide"))
    toc.append(("ws-ordering", "Order"))
    out.append(heading(2, "ws-ordering", "Order"))
    out.append("<ul>" + "".join(f"<li>{inline(rule)}</li>" for rule in document["x-ordering"]) + "</ul>")
    toc.append(("ws-closing", "Close codes"))
    out.append(heading(2, "ws-closing", "Close codes"))
    out.append("<p>A close frame also says why in words, of at most 123 bytes. They are for people who look for a mistake; a client goes by the code.</p>")
    out.append(table(["Code", "What happened", "What to do"], [[f'<code>{row["code"]}</code>', inline(row["meaning"]), inline(row.get("action", ""))] for row in document["x-close-codes"]]))
    toc.append(("ws-schemas", "Pieces of packets"))
    out.append(heading(2, "ws-schemas", "Pieces of packets"))
    out += [render_schema(name, schema, 3) for name, schema in document["components"]["schemas"].items()]
    return "\n".join(out)


# MARK: Pages

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1d2330;--soft:#5b6577;--line:#e3e7ee;--panel:#f6f7fa;--accent:#0b62c4;--key:#7a3e9d;--str:#0b6b3a;--lit:#9a4b00;
--get:#0b6b3a;--post:#0b62c4;--put:#8a5a00;--patch:#7a3e9d;--delete:#b3261e;--required:#b3261e}
@media(prefers-color-scheme:dark){:root{--bg:#12151b;--fg:#dfe4ee;--soft:#98a3b7;--line:#2a303c;--panel:#1a1f28;--accent:#79b4ff;--key:#d3a6f5;--str:#86d9a5;--lit:#f0b070;
--get:#86d9a5;--post:#79b4ff;--put:#e8c06a;--patch:#d3a6f5;--delete:#ff8f85;--required:#ff8f85}}
*{box-sizing:border-box}
html{scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:break-word}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
.frame{display:grid;grid-template-columns:19rem minmax(0,1fr);max-width:86rem;margin:0 auto}
nav{position:sticky;top:0;align-self:start;height:100vh;overflow-y:auto;padding:1.75rem 1.25rem 2rem 1.5rem;border-right:1px solid var(--line);font-size:.875rem;line-height:1.45}
nav .brand{font-weight:700;font-size:1.05rem;color:var(--fg);display:block;margin-bottom:.75rem}
nav h2{font-size:.75rem;letter-spacing:.06em;text-transform:uppercase;color:var(--soft);margin:1.5rem 0 .35rem;border:0;padding:0}
nav ul{list-style:none;margin:0;padding:0}nav li{margin:0}nav a{display:block;padding:.16rem 0;color:var(--fg)}
nav details{border:0;margin:0;background:none;padding:0}nav summary{padding:.16rem 0;color:var(--fg);font-weight:400}nav details ul{padding:.1rem 0 .35rem .9rem}
nav details a{color:var(--soft);font-size:.8125rem;padding:.1rem 0}
nav .m{display:inline-block;min-width:3.6em;font:600 .6875rem/1 ui-monospace,Menlo,Consolas,monospace;text-transform:uppercase}
main{padding:2.25rem 3rem 6rem;min-width:0;max-width:62rem}
h1,h2,h3,h4,h5{line-height:1.25;margin:2.2em 0 .6em;font-weight:650;letter-spacing:-.008em}
h1{font-size:2.1rem;margin-top:2.6em;padding-top:.5em}main>h1:first-child,header h1{margin-top:0}h2{font-size:1.5rem;padding-top:.4em;border-top:1px solid var(--line)}h3{font-size:1.125rem}h4,h5{font-size:1rem}
.lead{font-size:1.15rem;color:var(--soft);max-width:44rem}
p,ul,ol{margin:.7em 0;max-width:46rem}li{margin:.3em 0}
.anchor{opacity:0;color:var(--soft);font-weight:400;margin-left:.15em}h1:hover .anchor,h2:hover .anchor,h3:hover .anchor,h4:hover .anchor,h5:hover .anchor,.anchor:focus{opacity:1}
code,pre,var{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
code{font-size:.875em;background:var(--panel);border:1px solid var(--line);border-radius:4px;padding:.08em .3em}
a code{color:inherit}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.9rem 1rem;overflow-x:auto;font-size:.8125rem;line-height:1.55;margin:.8em 0}
pre code{background:none;border:0;padding:0;font-size:inherit}
.key{color:var(--key)}.str{color:var(--str)}.lit{color:var(--lit)}
section.operation,section.packet,section.schema{margin:2rem 0;padding-top:.2rem}
section.operation{border:1px solid var(--line);border-radius:10px;padding:1rem 1.25rem 1.1rem;margin:1.5rem 0}
section.operation h3{margin:0;font-size:1rem}section.packet h3,section.schema h3{margin-bottom:.4em}
.method{font:700 .75rem/1 ui-monospace,Menlo,Consolas,monospace;padding:.3em .55em;border-radius:5px;border:1px solid currentColor;margin-right:.35em;vertical-align:.12em}
.get,.head,.options{color:var(--get)}.post{color:var(--post)}.put{color:var(--put)}.patch{color:var(--patch)}.delete{color:var(--delete)}
.path{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.95rem}.path var{color:var(--soft);font-style:italic}
.summary{font-weight:600;margin:.65em 0 .4em}
.note{color:var(--soft);font-size:.875rem;margin:.4em 0}
.label{font-weight:600;font-size:.875rem;margin:1.1em 0 .3em}.label span{font-weight:400;color:var(--soft)}
.scroll{overflow-x:auto;margin:.7em 0}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.5}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.75rem;padding:.3rem .75rem .3rem 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{vertical-align:top;padding:.42rem .75rem .42rem 0;border-bottom:1px solid var(--line);min-width:5rem}
table.members td:first-child{min-width:9rem}table.members td:last-child{min-width:14rem}table.responses td:nth-child(2){min-width:14rem}
tr:last-child td{border-bottom:0}
.required{color:var(--required);font-size:.6875rem;white-space:nowrap}.limits{color:var(--soft);font-size:.8125rem}
.status{font:600 .8125rem/1 ui-monospace,Menlo,Consolas,monospace}.s2{color:var(--get)}.s3{color:var(--soft)}.s4,.s5{color:var(--delete)}
.option{font-weight:600;font-size:.9rem;margin:1em 0 .2em}
details{margin:.55em 0}summary{cursor:pointer;color:var(--accent);font-size:.875rem;padding:.15rem 0}
details pre{margin-top:.4em}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1rem;margin:1.75rem 0}
.cards a{border:1px solid var(--line);border-radius:10px;padding:1rem 1.15rem;color:var(--fg);display:block}.cards a:hover{border-color:var(--accent);text-decoration:none}
.cards b{display:block;color:var(--accent);margin-bottom:.2rem}.cards span{color:var(--soft);font-size:.9rem}
.menu{display:none}
#search{position:sticky;top:0;z-index:1;background:var(--bg);padding:.6rem 0;margin:0}#search input{width:100%;font:inherit;color:inherit;background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:.5rem .8rem}
#search ul{position:absolute;left:0;right:0;max-width:none;max-height:60vh;overflow-y:auto;list-style:none;margin:.3rem 0 0;padding:.5rem .8rem;background:var(--bg);border:1px solid var(--line);border-radius:8px;box-shadow:0 .5rem 1.5rem #0003}
#search ul[hidden]{display:none}#search a{display:block;padding:.2rem 0}
.sender{font:600 .6875rem/1 ui-monospace,Menlo,Consolas,monospace;padding:.2em .5em;border-radius:5px;border:1px solid currentColor;white-space:nowrap;margin-left:.35em;vertical-align:.1em}
.sender.client{color:var(--post)}.sender.server{color:var(--get)}
.error{border-top:1px solid var(--line);padding:.4rem 0 .6rem}.error h2{border:0;margin:.9em 0 .3em;font-size:1.15rem;padding:0}.error h2 code{font-size:1em}
.error .facts{color:var(--soft);font-size:.875rem;margin:.2em 0}.error:target{background:var(--panel);box-shadow:-1rem 0 0 var(--panel),1rem 0 0 var(--panel)}
main.single{margin:0 auto;padding-top:2.5rem;max-width:52rem}
@media(max-width:60rem){.frame{display:block}nav.side{display:none}.menu{display:block;border-bottom:1px solid var(--line);padding:.6rem 1.15rem;margin:0}
.menu>summary{font-weight:600;font-size:1rem}.menu nav{position:static;height:auto;border:0;padding:.25rem 0 1rem}
main{padding:1.5rem 1.15rem 4rem}h1{font-size:1.7rem}h2{font-size:1.3rem}section.operation{padding:.85rem .9rem;border-radius:8px}.lead{font-size:1.05rem}
td{min-width:4.5rem}table.members td:last-child,table.responses td:nth-child(2){min-width:12rem}}
@media print{nav,.menu,.anchor{display:none}.frame{display:block}main{max-width:none;padding:0}details:not([open])>*{display:block}}
"""


# Finds headings whose title, or whose section's text, holds all the words. It is part of the page; the gateway names its hash in the page's policy.
SEARCH = """
"use strict";
(() => {
  const form = document.getElementById("search"), field = form.elements[0], list = form.querySelector("ul");
  let sections;
  const read = () => {
    const found = [];
    for (const heading of document.querySelectorAll("main [id]:is(h1,h2,h3,h4,h5)")) {
      let text = "";
      const box = heading.closest("section");
      if (box) text = box.textContent;
      else for (let next = heading.nextElementSibling; next && !/^(H[1-5]|SECTION)$/.test(next.tagName); next = next.nextElementSibling) text += " " + next.textContent;
      const title = heading.textContent.replace(/\\s*#\\s*$/, "").trim();
      found.push({ id: heading.id, title, low: title.toLowerCase(), text: text.toLowerCase() });
    }
    return found;
  };
  const show = () => {
    sections ??= read();
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const hits = !words.length ? [] : sections
      .map(s => [words.every(w => s.low.includes(w)) ? 2 : words.every(w => s.low.includes(w) || s.text.includes(w)) ? 1 : 0, s])
      .filter(h => h[0]).sort((a, b) => b[0] - a[0]).slice(0, 40);
    list.replaceChildren(...hits.map(([, s]) => {
      const item = document.createElement("li"), link = document.createElement("a");
      link.href = "#" + s.id;
      link.textContent = s.title;
      item.append(link);
      return item;
    }));
    if (words.length && !hits.length) list.textContent = "Nothing found";
    list.hidden = !words.length;
  };
  const close = () => { field.value = ""; show(); };
  field.addEventListener("input", show);
  form.addEventListener("submit", event => { event.preventDefault(); list.querySelector("a")?.click(); });
  list.addEventListener("click", event => { if (event.target.closest("a")) close(); });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
    if (event.key === "Escape") { close(); field.blur(); }
  });
  form.hidden = false;
})();
"""


def navigation(parts, brand):
    out = [f'<a class="brand" href="#top">{brand}</a>']
    for anchor, title, toc in parts:
        out.append(f'<h2><a href="#{anchor}">{escape(title)}</a></h2><ul>')
        for entry in toc:
            if len(entry) == 2:
                out.append(f'<li><a href="#{entry[0]}">{inline(entry[1])}</a></li>')
                continue
            items = "".join(
                f'<li><a href="#{target}">' + (f'<span class="m {method}">{method}</span> ' if method else "") + f"{path_html(text) if method else escape(text)}</a></li>"
                for target, method, text in entry[2])
            out.append(f'<li><details><summary>{escape(entry[1])}</summary><ul><li><a href="#{entry[0]}">About</a></li>{items}</ul></details></li>')
        out.append("</ul>")
    return "".join(out)


def page(title, body, script=""):
    script = f"<script>{script}</script>\n" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{escape(title)}</title>
<style>{STYLE}</style>
</head>
<body>
{body}
{script}</body>
</html>
"""


def index_page(rest, socket, sync):
    rest_toc, socket_toc, sync_toc = [], [], []
    rest_html = render_rest(rest, rest_toc)
    socket_html = render_socket(socket, socket_toc)
    title, _, text = sync.partition("\n")
    # Links to sections of the same file: here they stand on a page with others.
    text = text.replace("](#", "](#sync-")
    sync_html = heading(1, "sync", inline(title.removeprefix("# "))) + markdown(text, 2, "sync-", sync_toc)
    parts = [("rest", "REST", rest_toc), ("websocket", "WebSocket", socket_toc), ("sync", "Syncing exactly", sync_toc)]
    menu = navigation(parts, "Strata Client API")
    intro = """<header><h1 id="top">Strata Client API</h1>
<p class="lead">Conversations, messages, receipts, typing and presence, over REST and WebSocket. Versions 2.0 and 3.0 of the Layer Client API, as this server speaks them.</p>
<div class="cards">
<a href="#rest"><b>REST</b><span>Sign in, load and change objects, upload content</span></a>
<a href="#websocket"><b>WebSocket</b><span>Send, and be told of every change as it happens</span></a>
<a href="#sync"><b>Syncing exactly</b><span>Positions, replay, and what a client must do</span></a>
<a href="#sync-limits"><b>Limits</b><span>How large and how many, and the error beyond that</span></a>
<a href="errors"><b>Errors</b><span>What each error id means, and what to do about it</span></a>
</div>
<p>For tools: <a href="openapi.yaml">openapi.yaml</a> (OpenAPI 3.1) and <a href="asyncapi.yaml">asyncapi.yaml</a> (AsyncAPI 3.0), which this page is made from.</p></header>"""
    search = """<form id="search" role="search" hidden><input type="search" placeholder="Search: a path, a member, an error ( / )" aria-label="Search this page" autocomplete="off"><ul hidden></ul></form>"""
    body = f"""<details class="menu"><summary>Strata Client API</summary><nav aria-label="Contents">{menu}</nav></details>
<div class="frame"><nav class="side" aria-label="Contents">{menu}</nav><main>{search}
{intro}
{rest_html}
{socket_html}
{sync_html}</main></div>"""
    return page("Strata Client API", body, SEARCH)


def errors_page(rest):
    out = ["""<header><p><a href="./">← Strata Client API</a></p><h1 id="top">Errors</h1>
<p class="lead">What an error object says by its <code>id</code>, and what a client does about it.</p></header>""",
           code(rest["components"]["responses"]["Unprocessable"]["content"]["application/json"]["example"]),
           "<p>Over REST it is the body of the answer, and the status goes with it; on a socket it is <code>data</code> of a response whose <code>success</code> is false. "
           "Go by <code>id</code>: messages are for people, and may change.</p>"]
    options = rest["components"]["schemas"]["ErrorID"]["oneOf"]
    out.append(table(["Id", "Status"], [[f'<a href="#{option["const"]}"><code>{option["const"]}</code></a>', str(option["x-status"])] for option in options]))
    for option in options:
        name = option["const"]
        out.append(f'<section class="error" id="{name}"><h2><code>{name}</code> <a class="anchor" href="#{name}" aria-label="Link to this">#</a></h2>'
                   f'<p class="facts">HTTP status {option["x-status"]} · code {option["x-code"]}</p>'
                   f'<p>{inline(option["description"])}</p><p><strong>What to do.</strong> {inline(option["x-action"])}</p></section>')
    return page("Errors · Strata Client API", f'<main class="single">{"".join(out)}</main>')


ERROR_IDS = set()


def outputs():
    texts = {name: (DOCS / name).read_text() for name in ("openapi.yaml", "asyncapi.yaml", "protocol.md")}
    rest, socket = yaml.safe_load(texts["openapi.yaml"]), yaml.safe_load(texts["asyncapi.yaml"])
    ERROR_IDS.update(option["const"] for option in rest["components"]["schemas"]["ErrorID"]["oneOf"])
    index, errors = index_page(rest, socket, texts["protocol.md"]), errors_page(rest)
    check_links(index, errors)
    return {"index.html": index, "errors.html": errors}


def check_links(index, errors):
    """Every link inside the two pages leads somewhere, and no name is given twice."""
    anchors = {"": re.findall(r' id="([^"]+)"', index), "errors": re.findall(r' id="([^"]+)"', errors)}
    for name, found in anchors.items():
        if twice := {anchor for anchor in found if found.count(anchor) > 1}:
            sys.exit(f"docs.py: {name or 'index'}: more than one of {sorted(twice)}")
    for name, text in (("", index), ("errors", errors)):
        for target, fragment in re.findall(r'href="([^"#:]*)#([^"]+)"', text):
            target = {"": name, "./": ""}.get(target, target)
            if fragment not in anchors.get(target, []):
                sys.exit(f"docs.py: {name or 'index'}: a link to {target}#{fragment} leads nowhere")


def main():
    stale = []
    for name, text in outputs().items():
        path = DOCS / name
        if path.exists() and path.read_text() == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
    if "--check" in sys.argv[1:] and stale:
        print(f"docs.py: not what the descriptions give: {', '.join(stale)}; run scripts/docs.py", file=sys.stderr)
        return 1
    print(f"docs.py: {', '.join(stale) + ' written' if stale else 'all in order'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
