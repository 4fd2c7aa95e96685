"""ASGI middleware that makes each call take effect once, on PostgreSQL with psycopg.

A recipe to copy, not a package: docs/any-language.md has its rules. The application writes through
scope["idempotency.connection"]; the middleware commits that together with the key and the reply.
Create the table once (TABLE), then wrap the application of each route:

    def connect():  # or of a pool
        return psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"])

    async def pay(scope, receive, send):
        await scope["idempotency.connection"].execute("INSERT INTO payments VALUES (100)")
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": b"paid"})

    app = Idempotent(pay, connect=connect, scope="route:POST_/payments", principal=lambda scope: scope["user"])
"""

import asyncio
import hashlib
import json
import re
import time
from datetime import datetime
from decimal import Decimal

from psycopg.types.json import Jsonb

TABLE = """
CREATE TABLE IF NOT EXISTS idempotency_keys_demo (
    scope text, principal text, key text, request_hash bytea NOT NULL,
    status integer NOT NULL, headers jsonb NOT NULL, body bytea NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (scope, principal, key)
)"""
LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s || E'\\x1f' || %s || E'\\x1f' || %s, 0))"
LOOK = """SELECT request_hash, status, headers, body, expires_at FROM idempotency_keys_demo
 WHERE scope = %s AND principal = %s AND key = %s AND expires_at > clock_timestamp()"""
LATE = "SELECT %s::timestamptz <= clock_timestamp()"
STORE = """INSERT INTO idempotency_keys_demo
VALUES (%s, %s, %s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s))
ON CONFLICT (scope, principal, key) DO UPDATE SET request_hash = EXCLUDED.request_hash, status = EXCLUDED.status,
    headers = EXCLUDED.headers, body = EXCLUDED.body, expires_at = EXCLUDED.expires_at
    WHERE idempotency_keys_demo.expires_at <= clock_timestamp()
RETURNING expires_at"""

REPLAYED = {b"content-type", b"content-language", b"content-location", b"location", b"etag", b"last-modified", b"link"}
STORED = {400, 404, 410, 413, 415, 422}  # final: stored without the application's writes
KEY = re.compile(r'[ \t]*(?:([!#-~]+)|"((?:[ !#-\[\]-~]|\\["\\])*)")[ \t]*')


class Refused(Exception):
    def __init__(self, status, code, *headers):
        super().__init__(code)
        self.status, self.code, self.headers = status, code, headers


class Idempotent:
    """Runs an application once for each key. The application must not commit or roll back.

    connect: a coroutine function that returns a psycopg AsyncConnection
    scope: the name of the operation; it must not change while keys live
    principal: a function of the ASGI scope that returns the authenticated caller, or None
    ttl, wait: how long a key is kept, and how long a duplicate waits for the first call, in seconds
    max_run: how long the transaction of the work may be idle, in seconds
    """

    def __init__(self, app, *, connect, scope, principal, ttl=86400.0, wait=5.0, max_run=300):
        self.app, self.connect, self.scope, self.principal = app, connect, scope, principal
        self.ttl, self.wait, self.max_run = ttl, wait, max_run

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS", "TRACE"):
            return await self.app(scope, receive, send)
        try:
            reply = await self.call(scope, receive)
        except Refused as r:
            problem = {"type": "about:blank", "title": r.code, "status": r.status, "code": r.code}
            headers = [(b"content-type", b"application/problem+json"), *r.headers]
            reply = r.status, headers, json.dumps(problem).encode()
        if reply is not None:
            await send({"type": "http.response.start", "status": reply[0], "headers": reply[1]})
            await send({"type": "http.response.body", "body": reply[2]})

    async def call(self, scope, receive):
        key = parse_key([v for name, v in scope["headers"] if name == b"idempotency-key"])
        principal = self.principal(scope)
        if not principal or len(principal.encode()) > 255:
            raise Refused(401, "unidentified_caller")
        send_before = parse_time([v for name, v in scope["headers"] if name == b"cronce-send-before"])
        body = await read(receive)
        if body is None:
            return None  # the caller has gone, and nothing was done
        name, payload = (self.scope, principal, key), fingerprint(scope, body)
        async with await self.connect() as conn:
            deadline = time.monotonic() + self.wait
            while True:
                await conn.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{self.max_run}s'")
                held = await one(conn, LOCK, name)
                # A statement of its own, so that it sees what was committed before the lock.
                row = await one(conn, LOOK, name)
                if row is not None:
                    return replay(row, payload)
                if held[0]:
                    break
                await conn.rollback()
                if time.monotonic() > deadline:
                    raise Refused(409, "idempotency_key_in_progress", (b"retry-after", b"1"))
                await asyncio.sleep(0.02)
            if send_before is not None and (await one(conn, LATE, [send_before]))[0]:
                raise Refused(412, "run_too_late")
            return await self.work(scope, body, conn, name, payload)

    async def work(self, scope, body, conn, name, payload):
        await conn.execute("SAVEPOINT work")
        status, headers, text = await run(self.app, {**scope, "idempotency.connection": conn}, body)
        if status >= 400:
            await conn.execute("ROLLBACK TO SAVEPOINT work")
        if status >= 400 and status not in STORED:
            return status, headers, text
        kept = [[k.decode("latin-1"), v.decode("latin-1")] for k, v in headers if k.lower() in REPLAYED]
        stored = await one(conn, STORE, (*name, payload, status, Jsonb(kept), text, self.ttl))
        await conn.commit()  # answer only after the commit
        return status, headers + told(stored[0]), text


async def one(conn, sql, values):
    return await (await conn.execute(sql, values)).fetchone()


def told(expires):
    return [(b"idempotency-key-expires", expires.isoformat(timespec="milliseconds").encode())]


def replay(row, payload):
    stored, status, headers, body, expires = row
    if bytes(stored) != payload:
        raise Refused(409, "idempotency_key_payload_mismatch")
    sent = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]
    return status, sent + told(expires) + [(b"idempotent-replayed", b"true")], bytes(body)


async def run(app, scope, body):
    start, chunks = {}, []
    given = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive():
        return next(given, {"type": "http.disconnect"})

    async def send(message):
        if message["type"] == "http.response.start":
            start.update(message)
        chunks.append(message.get("body", b""))

    await app(scope, receive, send)
    return start["status"], [(bytes(k), bytes(v)) for k, v in start.get("headers", [])], b"".join(chunks)


async def read(receive, limit=1 << 20):
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > limit:
            raise Refused(413, "request_too_large")
        if not message.get("more_body", False):
            return body


def parse_key(values):
    """A structured-field string (RFC 9651) or the same text without quotes."""
    if not values:
        raise Refused(400, "missing_idempotency_key")
    found = KEY.fullmatch(values[0].decode("latin-1"))
    text = found and (found[1] or re.sub(r"\\(.)", r"\1", found[2]))
    if len(values) > 1 or not text or len(text) > 128:
        raise Refused(400, "invalid_idempotency_key")
    return text


def parse_time(values):
    try:
        at = datetime.fromisoformat(values[0].decode()) if values else None
    except ValueError:
        raise Refused(400, "invalid_idempotency_request") from None
    if len(values) > 1 or (at is not None and at.tzinfo is None):
        raise Refused(400, "invalid_idempotency_request")
    return at


def fingerprint(scope, body):
    kind = dict(scope["headers"]).get(b"content-type", b"")
    kind = re.sub(rb'(json) *; *charset="?utf-8"?$', rb"\1", kind, flags=re.I)  # JSON is UTF-8 without it
    path = scope.get("raw_path") or scope["path"].encode()
    parts = [scope["method"].encode(), path, scope["query_string"], kind, canonical(body)]
    return hashlib.sha256(b"".join(b"%d:%s" % (len(p), p) for p in parts)).digest()


def canonical(body):
    """JSON by its meaning; what has no certain meaning as it is."""

    def number(text):
        value = float(text)
        if Decimal(repr(value)) != Decimal(text):
            raise ValueError("not a float64")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value

    def members(pairs):
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    try:
        value = json.loads(body, parse_float=number, parse_int=number, object_pairs_hook=members)
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    except (ValueError, ArithmeticError, RecursionError):
        return body
