#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the tables of docs/scaling.md from measured costs and from assumptions.

scaling.py [NAME=VALUE …]   prints the tables, with other assumptions or costs; online=250000 replaces the three columns
scaling.py --write          writes the tables into the document
scaling.py --check          exits with 1 if the document has other tables, if a source no longer has a measured cost, or if the document names a function or
                            a table that the schema does not have
"""
import glob
import math
import pathlib
import re
import sys
from typing import NamedTuple

DOCUMENT = "docs/scaling.md"
ONLINE = [10_000, 1_000_000, 50_000_000]
DAY, MONTH, YEAR = 86_400, 30, 365
PARTS = ["gateways", "services", "PostgreSQL", "Redis"]


# How long a load took that the model also predicts.
STORM = "15.7 and 16.4 s"
# Other measured figures in the text of the document, and the words of their sources.
QUOTED = {
    "25,400 deliveries": "25,400/s against", "10,000 connections": "idle connection, 10,000 of them", "460 µs": "460 against 404",
    "69 µs": "CPU 69 against 238",
    "1.0 s for 20,000": "servers 1.0 s", "1.41 times": "| send a message | 1.41 × |", "about 1.5 times slower": "about 1.5 times slower",
    "3,610 bytes": "the write-ahead log of a message is 3,610 bytes",
}


class Value(NamedTuple):
    value: float
    unit: str
    meaning: str
    # The document with the measurement, its section, and the words in it. Assumptions have none.
    source: str = ""
    words: str = ""


BENCH, SIZE, HERE = "benchmarks.md#scenarios-1", "operating.md#how-large", "scaling.md#measured-for-this-page"
MEASURED = {
    "delivery_cpu": Value(157, "µs", "processor time of a delivery in a conversation of five, at 2,000 messages/s on two processors", BENCH,
                          "157 against 215"),
    "share_gateways": Value(40, "%", "… of which gateways", BENCH, "the gateway has 40 %, PostgreSQL 34 %, conversations 22 % and Redis 4 %"),
    "share_services": Value(22, "%", "… conversations", BENCH, "conversations 22 %"),
    "share_postgresql": Value(34, "%", "… PostgreSQL", BENCH, "PostgreSQL 34 %"),
    "share_redis": Value(4, "%", "… Redis", BENCH, "Redis 4 %"),
    "reader_cpu": Value(13, "µs", "a further reader, in gateways", SIZE, "costs a gateway 6 to 13 µs"),
    "receipt_gateways": Value(350, "µs", "a receipt over REST, in gateways", BENCH, "0.79 ms (gateway 0.35, PostgreSQL 0.32, conversations 0.13)"),
    "receipt_services": Value(130, "µs", "… in conversations", BENCH, "conversations 0.13"),
    "receipt_postgresql": Value(320, "µs", "… in PostgreSQL", BENCH, "PostgreSQL 0.32"),
    "typing_cpu": Value(120, "µs", "a delivery of a typing signal, at 8,000/s", BENCH, "467; 120."),
    "patch_cpu": Value(279, "µs", "a delivery of a metadata patch, with five deliveries a patch", BENCH, "| 279; 3.2 voluntary"),
    "opening_cpu": Value(1360, "µs", "a socket accepted, signed in and live", BENCH, "| 1.36 ms"),
    "replay_cpu": Value(580, "µs", "a message that a client catches up with, in all servers", "benchmarks.md#the-client-library", "servers 4.7 to 5.8 s"),
    "disk_message": Value(766, "bytes", "a message of 400 bytes on disk, with its id and the indexes; user ids have 6 characters", HERE,
                          "| message and its id | 766 |"),
    "disk_sent": Value(204, "bytes", "… its entry in the change log", HERE, "| entry in the change log | 204 |"),
    "disk_receipt": Value(376, "bytes", "the entry of a receipt on its own", HERE, "| entry in the change log | 376 |"),
    "wal_message": Value(1630, "bytes", "write-ahead log of a message", HERE, "| write-ahead log | 1,630 |"),
    "wal_receipt": Value(961, "bytes", "… of a receipt on its own", HERE, "| write-ahead log | 961 |"),
    "heads_cpu": Value(1.45, "µs", "a change, in the statement that compares heads", HERE, "1.45 µs"),
    "idle_cpu": Value(4, "µs/s", "an idle connection", BENCH, "| 0.04 in both cases"),
    "connection": Value(25, "KB", "memory of an idle connection in 20 conversations", SIZE, "takes 15 to 25 KB in a gateway"),
}
LIMITS = {
    "heads_interval": Value(15, "s", "pause between two comparisons of heads, of each gateway (`STRATA_HEADS_INTERVAL`)"),
    "heads_margin": Value(30, "s", "time before the last comparison that the next one repeats"),
    "heads_time": Value(5, "s", "time in which a comparison must be answered"),
    "heads_answer": Value(64, "MB", "a service's answer at most"),
    "heads_bytes": Value(24, "bytes", "a conversation in the answer, as Protocol Buffers encode its id and position"),
}
ASSUMED = {
    "connected": Value(10, "%", "users of a day who are connected at the peak"),
    "messages": Value(40, "a day", "messages that a user of a day sends"),
    "peak": Value(4, "×", "the peak rate in relation to the day's average"),
    "participants": Value(5, "", "participants of a conversation"),
    "present": Value(3, "", "… of whom are connected when a message is sent, the sender included. The others catch up later"),
    "user_id": Value(36, "characters", "a user's id"),
    "typing": Value(2, "", "typing signals for each message"),
    "receipts": Value(2, "", "requests with read receipts for each message, one receipt each"),
    "patches": Value(0.05, "", "metadata patches for each message"),
    "openings": Value(10, "a day", "sockets that a user of a day opens"),
    "packet": Value(1000, "bytes", "a packet on the network"),
    "files": Value(3, "%", "messages with a file"),
    "file": Value(200, "KB", "a file"),
    "retention": Value(365, "days", "messages and files on disk. Strata deletes none"),
    "log_retention": Value(30, "days", "`STRATA_RETENTION`"),
    "utilisation": Value(50, "%", "of a processor, used at the peak"),
    "processors": Value(8, "", "processors of a machine for gateways or services"),
    "database_processors": Value(64, "", "processors of the largest machine for a database"),
    "database_disk": Value(32, "TB", "disk of that machine"),
    "database_wal": Value(200, "MB/s", "write-ahead log that its disk, its replica and its archive accept"),
    "database_memory": Value(8, "GB", "memory of a database for each of its processors"),
    "memory": Value(4, "GB", "memory of other machines for each of their processors"),
    "copies": Value(2, "", "copies of a database: the server and a replica"),
    "price_processor": Value(15, "$ a month", "a processor"),
    "price_memory": Value(2, "$ a month", "a GB of memory"),
    "price_disk": Value(0.10, "$ a month", "a GB of disk for a database"),
    "price_file": Value(0.03, "$ a month", "a GB of files"),
    "price_network": Value(0.03, "$", "a GB to clients"),
}


def figure(number):
    """A number with three significant digits, and commas."""
    if number and abs(number) < 100:
        number = float(f"{number:.3g}")
    elif number:
        number = round(number, 2 - math.floor(math.log10(abs(number))))
    return f"{number:,.0f}" if number == int(number) else f"{number:,}"


def table(head, rows, numbers=0):
    """Markdown. The last columns are numbers."""
    line = lambda cells: "| " + " | ".join(str(cell) for cell in cells) + " |"
    rule = "|" + "|".join(["---"] * (len(head) - numbers) + ["--:"] * numbers) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


class Model:
    """The arithmetic. Attributes are the values by name; times are microseconds, sizes bytes, rates a second."""

    def __init__(self, **others):
        known = MEASURED | LIMITS | ASSUMED
        unknown = others.keys() - known.keys()
        if unknown:
            sys.exit(f"no such value: {', '.join(sorted(unknown))}")
        self.__dict__ = {name: others.get(name, value.value) for name, value in known.items()}
        longer = self.user_id - 6
        self.kept = self.disk_message + longer
        # A receipt's entry names its user twice, and the sender of the message.
        self.logged = self.disk_sent + longer + self.receipts * (self.disk_receipt + 3 * longer)
        self.wal = self.wal_message + self.receipts * self.wal_receipt
        self.changes = 1 + self.receipts + self.patches

    def split(self, cost):
        """The cost by part, as the profile of chat divides it."""
        return {part: cost * getattr(self, f"share_{part.lower()}") / 100 for part in PARTS}

    def activities(self):
        """The cost of one message and of what comes with it, by activity and part."""
        message = self.split(5 * self.delivery_cpu)
        message["gateways"] += (self.present - 5) * self.reader_cpu
        absent = self.participants - self.present
        receipts = {"gateways": self.receipt_gateways, "services": self.receipt_services, "PostgreSQL": self.receipt_postgresql, "Redis": 0}
        return {
            f"the message: 5 deliveries × {figure(self.delivery_cpu)}; ({figure(self.present)} − 5) readers × {figure(self.reader_cpu)}": message,
            f"{figure(self.receipts)} receipts": {part: self.receipts * cost for part, cost in receipts.items()},
            f"{figure(self.typing)} typing signals × {figure(self.present - 1)} deliveries × {figure(self.typing_cpu)}":
                {"gateways": self.typing * (self.present - 1) * self.typing_cpu},
            f"{figure(self.patches)} patches × 5 deliveries × {figure(self.patch_cpu)}": self.split(self.patches * 5 * self.patch_cpu),
            f"{figure(absent)} participants catch up × {figure(self.replay_cpu)}": self.split(absent * self.replay_cpu),
            f"{figure(self.openings)} ÷ {figure(self.messages)} sockets opened × {figure(self.opening_cpu)}":
                self.split(self.openings / self.messages * self.opening_cpu),
        }

    def cost(self, part):
        return sum(costs.get(part, 0) for costs in self.activities().values())

    def rate(self, online):
        """Messages a second at the peak."""
        return self.daily(online) / DAY * self.peak

    def daily(self, online):
        """Messages a day."""
        return online / (self.connected / 100) * self.messages

    def busy(self, online, part):
        """Processors that are busy at the peak."""
        idle = online * self.idle_cpu / 1e6 if part == "gateways" else 0
        return self.rate(online) * self.cost(part) / 1e6 + idle

    def wanted(self, online, part):
        """Processors to have: two instances of each part, so that one may fail."""
        return max(1 if part == "Redis" else 2, self.busy(online, part) / (self.utilisation / 100))

    def stored_files(self, online):
        """Bytes of files at the end of the retention."""
        return self.daily(online) * self.files / 100 * self.file * 1000 * self.retention

    def heads(self, online):
        """Seconds of a comparison of heads at the peak."""
        return self.rate(online) * (self.heads_interval + self.heads_margin) * self.changes * self.heads_cpu / 1e6

    def network(self, online):
        """Bytes a day to clients: packets of messages, receipts and typing, messages in catch-ups, and files."""
        absent = self.participants - self.present
        packets = self.present * (1 + self.receipts + self.patches) + (self.present - 1) * self.typing + absent
        return self.daily(online) * (packets * self.packet + self.files / 100 * self.file * 1000 * (self.participants - 1))


def named_rows(model, values):
    return [(f"`{name}`", value.meaning, figure(getattr(model, name)), value.unit) for name, value in values.items()]


def measured_table(model, _):
    links = [f"[{value.source.partition('#')[0]}]({value.source})" for value in MEASURED.values()]
    return table(["Name", "Measured", "Value", "Unit", "Where"], [(*row, link) for row, link in zip(named_rows(model, MEASURED), links)])


def named_table(head, values):
    """A table of values by name."""
    return lambda model, _: table(["Name", head, "Value", "Unit"], named_rows(model, values))


def costs_table(model, _):
    rows = [(name, *(figure(costs.get(part, 0)) for part in PARTS), figure(sum(costs.values()))) for name, costs in model.activities().items()]
    sums = [model.cost(part) for part in PARTS]
    return table(["µs for each message", *PARTS, "All"], [*rows, ("all", *map(figure, [*sums, sum(sums)]))], 5)


def by_size(sizes, rows):
    """A table with a column for each number of users online. A row: name, arithmetic, function of that number."""
    head = ["", "Arithmetic", *(f"{figure(online)} online" for online in sizes)]
    return table(head, [(name, how, *(figure(of(online)) for online in sizes)) for name, how, of in rows], len(sizes))


def load_table(m, sizes):
    return by_size(sizes, [
        ("users of a day", f"online ÷ {figure(m.connected)} %", lambda n: n / (m.connected / 100)),
        ("messages a day", f"× {figure(m.messages)}", m.daily),
        ("messages a second, average", f"÷ {DAY:,}", lambda n: m.daily(n) / DAY),
        ("messages a second, peak", f"× {figure(m.peak)}", m.rate),
        ("receipts a second, peak", f"× {figure(m.receipts)}", lambda n: m.rate(n) * m.receipts),
        ("typing signals a second, peak", f"messages × {figure(m.typing)}", lambda n: m.rate(n) * m.typing),
        ("sockets opened a second, peak", f"messages × {figure(m.openings)} ÷ {figure(m.messages)}", lambda n: m.rate(n) * m.openings / m.messages),
    ])


def machines_table(m, sizes):
    ceil = lambda part, size: lambda n: max(2, math.ceil(m.wanted(n, part) / size))
    idle = {"gateways": f", online × {figure(m.idle_cpu)} µs"}
    gateways, processors = ceil("gateways", m.processors), figure(m.processors)
    return by_size(sizes, [
        *((f"{part}, busy processors", f"messages a second × {figure(m.cost(part))} µs" + idle.get(part, ""), lambda n, part=part: m.busy(n, part))
          for part in PARTS),
        ("gateways, machines", f"busy ÷ {figure(m.utilisation)} % ÷ {processors}, at least 2", gateways),
        ("… connections of one", "online ÷ machines", lambda n: n / gateways(n)),
        ("… memory of these, GB", f"× {figure(m.connection)} KB", lambda n: n / gateways(n) * m.connection / 1e6),
        ("services, machines", "as gateways", ceil("services", m.processors)),
        ("Redis, masters of one processor", f"busy ÷ {figure(m.utilisation)} %", lambda n: math.ceil(m.wanted(n, "Redis"))),
        ("PostgreSQL, processors", f"busy ÷ {figure(m.utilisation)} %, at least 2", lambda n: m.wanted(n, "PostgreSQL")),
        ("PostgreSQL, seconds of a comparison of heads",
         f"messages a second × {figure(m.heads_interval + m.heads_margin)} s × {figure(m.changes)} changes × {figure(m.heads_cpu)} µs", m.heads),
        ("PostgreSQL, databases", "by the nearest wall, below", lambda n: math.ceil(n / nearest_wall(m))),
    ])


def check_table(m, _):
    storm = 5000 * (m.opening_cpu + 10 * m.replay_cpu) / 1e6
    how = f"5,000 × ({figure(m.opening_cpu)} + 10 × {figure(m.replay_cpu)}) µs = {figure(storm)} s of processor time"
    row = ("5,000 users reconnect at once and catch up with 10 messages", how, f"{STORM} on two processors, beside chat")
    return table(["Load", "Computed", "Measured"], [row])


def disk(m, online):
    """Bytes in databases at the end of the retention."""
    return m.daily(online) * (m.kept * m.retention + m.logged * m.log_retention)


def disk_table(m, sizes):
    return by_size(sizes, [
        ("messages, GB a day", f"messages a day × {figure(m.kept)} bytes", lambda n: m.daily(n) * m.kept / 1e9),
        ("messages, TB", f"× {figure(m.retention)} days", lambda n: m.daily(n) * m.kept * m.retention / 1e12),
        ("change log, TB", f"messages a day × {figure(m.logged)} bytes × {figure(m.log_retention)} days",
         lambda n: m.daily(n) * m.logged * m.log_retention / 1e12),
        ("files, TB", f"messages a day × {figure(m.files)} % × {figure(m.file)} KB × {figure(m.retention)} days", lambda n: m.stored_files(n) / 1e12),
        ("write-ahead log, GB a day", f"messages a day × {figure(m.wal)} bytes", lambda n: m.daily(n) * m.wal / 1e9),
        ("write-ahead log, MB a second, peak", f"messages a second × {figure(m.wal)} bytes", lambda n: m.rate(n) * m.wal / 1e6),
        ("to clients, GB a day", "packets and files", lambda n: m.network(n) / 1e9),
    ])


def money_rows(m):
    """What a month costs, by item."""
    processors = lambda n: sum(m.wanted(n, part) for part in PARTS) + (m.copies - 1) * m.wanted(n, "PostgreSQL")
    memory = lambda n: sum(m.wanted(n, part) for part in PARTS if part != "PostgreSQL") * m.memory + m.wanted(n, "PostgreSQL") * m.copies * m.database_memory
    return [
        ("processors", f"× {figure(m.price_processor)}, PostgreSQL × {figure(m.copies)}", lambda n: processors(n) * m.price_processor),
        ("memory", f"× {figure(m.price_memory)}", lambda n: memory(n) * m.price_memory),
        ("disks of databases", f"messages and log × {figure(m.copies)} × {figure(m.price_disk)}", lambda n: disk(m, n) / 1e9 * m.copies * m.price_disk),
        ("files", f"× {figure(m.price_file)}", lambda n: m.stored_files(n) / 1e9 * m.price_file),
        ("network", f"× {MONTH} days × {figure(m.price_network)}", lambda n: m.network(n) / 1e9 * MONTH * m.price_network),
    ]


def money_table(m, sizes):
    rows = money_rows(m)
    total = lambda n: sum(of(n) for _, _, of in rows)
    return by_size(sizes, [*rows, ("all, $ a month", "", total), ("for 1,000 users of a day", "", lambda n: total(n) / (n / (m.connected / 100)) * 1000)])


def walls(m):
    """The number of users online at which one database, or one Redis Cluster, is full: name, arithmetic, users."""
    users = 1 / m.rate(1)
    processors = m.database_processors * m.utilisation / 100 / (m.cost("PostgreSQL") / 1e6)
    window = m.heads_interval + m.heads_margin
    masters = 64 * m.utilisation / 100 / (m.cost("Redis") / 1e6)
    return [
        ("disk", f"{figure(m.database_disk)} TB ÷ (messages and log of a user online)", m.database_disk * 1e12 / disk(m, 1)),
        ("processors of PostgreSQL", f"{figure(m.database_processors)} × {figure(m.utilisation)} % ÷ {figure(m.cost('PostgreSQL'))} µs", processors * users),
        ("write-ahead log", f"{figure(m.database_wal)} MB/s ÷ {figure(m.wal)} bytes", m.database_wal * 1e6 / m.wal * users),
        ("comparison of heads: time", f"{figure(m.heads_time)} s ÷ {figure(window)} s ÷ {figure(m.changes)} changes ÷ {figure(m.heads_cpu)} µs",
         m.heads_time / m.heads(1)),
        ("comparison of heads: bytes", f"{figure(m.heads_answer)} MB ÷ {figure(window)} s ÷ {figure(m.heads_bytes)} bytes",
         m.heads_answer * 1e6 / window / m.heads_bytes * users),
        ("Redis: 64 hash tags", f"64 masters × {figure(m.utilisation)} % ÷ {figure(m.cost('Redis'))} µs", masters * users),
    ]


def nearest_wall(m):
    return min(users for name, _, users in walls(m) if not name.startswith("Redis"))


def walls_table(m, _):
    rows = [(name, how, figure(m.rate(users)), figure(m.daily(users) / 1e6), figure(users)) for name, how, users in sorted(walls(m), key=lambda wall: wall[2])]
    return table(["Wall", "Arithmetic", "Messages a second, peak", "Million messages a day", "Users online"], rows, 3)


TABLES = {
    "measured": measured_table, "limits": named_table("Limit", LIMITS), "assumed": named_table("Assumption", ASSUMED), "load": load_table, "costs": costs_table,
    "check": check_table, "machines": machines_table, "disk": disk_table, "money": money_table, "walls": walls_table,
}


def written(text, tables):
    """The document with these tables, each between its mark and the next empty line."""
    for name, content in tables.items():
        text, count = re.subn(rf"(<!-- scaling: {name} -->\n\n)(?:\|.*\n)*\n?", lambda match: f"{match[1]}{content}\n\n", text)
        if count != 1:
            sys.exit(f"{DOCUMENT}: {count} marks for the table {name}")
    return text


def lost_sources(text):
    """Measured costs and figures whose words are no longer in the document that they come from."""
    costs = [(name, value.words, value.source) for name, value in MEASURED.items()]
    for name, words, source in [*costs, ("STORM", STORM, BENCH), *((*pair, BENCH) for pair in QUOTED.items())]:
        path = "docs/" + source.partition("#")[0]
        with open(path, encoding="utf-8") as file:
            if words not in file.read():
                yield f"{path}: no longer says \"{words}\", from which {name} comes"
    yield from (f"{DOCUMENT}: no longer says {figure}" for figure in QUOTED if figure not in text)


def unknown_names(text):
    """Functions and tables that the document names and that the schema does not have."""
    schema = "".join(pathlib.Path(name).read_text(encoding="utf-8") for name in sorted(glob.glob("Shared/Schema/*/*.sql")))
    known = set(re.findall(r"^CREATE (?:OR REPLACE )?(?:FUNCTION|TABLE) (\w+\.\w+)", schema, re.MULTILINE))
    named = re.findall(r"`((?:conversations|metadata|webhooks)\.\w+)`", text)
    return [f"{DOCUMENT}: the schema has no {name}" for name in named if name not in known]


def main():
    option = sys.argv[1] if sys.argv[1:] in (["--check"], ["--write"]) else None
    values = {} if option else dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
    if not option and len(values) != len(sys.argv) - 1:
        sys.exit(__doc__)
    try:
        numbers = {name: float(text) for name, text in values.items()}
        sizes = [numbers.pop("online")] if "online" in numbers else ONLINE
        tables = {name: make(Model(**numbers), sizes) for name, make in TABLES.items()}
    except (ValueError, ZeroDivisionError) as error:
        sys.exit(f"nothing can be computed from these values: {error}")
    if not option:
        print("\n\n".join(tables.values()))
        return
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    result = written(text, tables)
    if option == "--write":
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(result)
    elif problems := [*lost_sources(text), *unknown_names(text), *([f"{DOCUMENT}: other tables than scripts/scaling.py writes"] if result != text else [])]:
        sys.exit("\n".join(problems))
    else:
        print(f"{DOCUMENT}: {len(tables)} tables, all as computed")


if __name__ == "__main__":
    main()
