"""The Python IDL as a peer of the benchmark `ovsdb-peers`: see README.md for what is asked of a peer."""
import gc
import json
import sys
import time
import uuid

import ovs.db.data
import ovs.db.idl
import ovs.db.schema
import ovs.json
import ovs.poller
import ovs.vlog

if ovs.json.PARSER != "C":
    sys.exit("the C extension of ovs.json is not there")


def wall():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) / 1e6


def processor():
    return time.clock_gettime_ns(time.CLOCK_PROCESS_CPUTIME_ID) / 1e6


def memory(field):
    """kB of a field of /proc/self/status."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))


class Listener(ovs.db.idl.Idl):
    """Notes when rows of Logical_Switch come."""

    heard = None

    def notify(self, event, row, updates=None):
        if self.heard is not None and row._table.name == "Logical_Switch":
            self.heard.append(wall())


def start(remote, schema):
    helper = ovs.db.idl.SchemaHelper(schema)
    helper.register_all()
    idl = Listener(remote, helper, leader_only=False)
    idl.run()
    while not idl.has_ever_connected():
        poller = ovs.poller.Poller()
        idl.wait(poller)
        poller.block()
        idl.run()
    return idl


def load(remote, schema):
    before = memory("VmRSS:")
    begin = wall(), processor()
    idl = start(remote, schema)
    took = wall() - begin[0], processor() - begin[1]
    gc.collect()
    rows = sum(len(table.rows) for table in idl.tables.values())
    print(json.dumps({"rows": rows, "wall": took[0], "processor": took[1], "before": before,
                      "after": memory("VmRSS:"), "peak": memory("VmHWM:")}))


def value(idl, made, table, column, given):
    """A value of wire form as this IDL takes it: rows are references."""
    kind = idl.tables[table].columns[column].type
    target = kind.key.ref_table_name
    if target:
        listed = given[1] if given[0] == "set" else [given]
        return [made[reference[1]] for reference in listed]
    if kind.is_map():
        return dict(given[1])
    if isinstance(given, list):
        return given[1]
    return given


def commit(remote, schema, file):
    idl = start(remote, schema)
    with open(file) as text:
        transactions = json.load(text)
    walls, processors = [], []
    for operations in transactions:
        ids = [uuid.UUID(o["uuid"]) if "uuid" in o else None for o in operations]
        begin = wall(), processor()
        txn = ovs.db.idl.Transaction(idl)
        made = {}
        rows = []
        for operation, own in zip(operations, ids):
            row = txn.insert(idl.tables[operation["table"]], own)
            made[str(own)] = row
            rows.append(row)
        for operation, row in zip(operations, rows):
            for column, given in operation["row"].items():
                setattr(row, column, value(idl, made, operation["table"], column, given))
        status = txn.commit_block()
        if status != ovs.db.idl.Transaction.SUCCESS:
            sys.exit(f"commit: {status} ({txn.get_error()})")
        walls.append(wall() - begin[0])
        processors.append(processor() - begin[1])
    print(json.dumps({"wall": walls, "processor": processors}))


def notify(remote, schema, count):
    idl = start(remote, schema)
    idl.heard = []
    print("ready", flush=True)
    while len(idl.heard) < count:
        poller = ovs.poller.Poller()
        idl.wait(poller)
        poller.block()
        idl.run()
    print(json.dumps({"heard": idl.heard}))


ovs.vlog.Vlog.init()
ovs.vlog.Vlog.set_level("any", "any", "err")
action, schema, remote, *rest = sys.argv[1:]
if action == "load":
    load(remote, schema)
elif action == "commit":
    commit(remote, schema, rest[0])
elif action == "notify":
    notify(remote, schema, int(rest[0]))
else:
    sys.exit("usage: python-idl.py load|commit|notify SCHEMA REMOTE [FILE|COUNT]")
