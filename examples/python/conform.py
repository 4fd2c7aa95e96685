"""A service that follows the protocol of `cronce conform`.

    DATABASE_URL=postgres://... LISTEN=127.0.0.1:8080 python3 conform.py
"""

import asyncio
import json
import os
import signal
import uuid
from urllib.parse import parse_qs

import psycopg
import uvicorn
from idempotency import TABLE, Idempotent, read

EFFECTS = "CREATE TABLE IF NOT EXISTS effects (effect text PRIMARY KEY, operation text NOT NULL)"
BRIEF_SECONDS = 1


def connect():
    """A connection for each call; a service takes them from a pool."""
    schema = os.environ.get("SCHEMA", "conform_python")
    return psycopg.AsyncConnection.connect(os.environ["DATABASE_URL"], options=f"-c search_path={schema}")


def principal(scope):
    """In the test protocol a token is its owner's name."""
    token = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    return token.removeprefix("Bearer ") if token.startswith("Bearer ") else None


async def answer(send, status, body, *headers):
    headers = [(b"content-type", b"application/json"), *headers]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def operate(scope, receive, send):
    asked = json.loads(await read(receive))
    effect = str(uuid.uuid4())
    conn = scope["idempotency.connection"]
    await conn.execute("INSERT INTO effects VALUES (%s, %s)", (effect, asked["operation"]))
    fault = dict(scope["headers"]).get(b"conform-fault", b"").decode()
    if fault == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault.startswith("hold="):
        await asyncio.sleep(int(fault.removeprefix("hold=")) / 1000)
    location = f"{scope['path']}?operation={asked['operation']}".encode()
    cookie = f"conform={uuid.uuid4()}".encode()
    body = {"operation": asked["operation"], "effect": effect}
    await answer(send, asked.get("answer", 201), body, (b"location", location), (b"set-cookie", cookie))


def idempotent(scope, ttl):
    return Idempotent(operate, connect=connect, scope=scope, principal=principal, ttl=ttl, wait=0.3, max_run=10)


ROUTES = {
    "/conform/effects": idempotent("conform:effects", 86400),
    "/conform/brief": idempotent("conform:brief", BRIEF_SECONDS),
}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return
    method, path = scope["method"], scope["path"]
    if method == "GET" and path == "/conform":
        await answer(send, 200, {"protocol": 1, "crash": True, "briefSeconds": BRIEF_SECONDS})
    elif method == "GET" and path == "/conform/effects":
        operation = parse_qs(scope["query_string"].decode())["operation"][0]
        async with await connect() as conn:
            rows = await conn.execute("SELECT count(*) FROM effects WHERE operation = %s", (operation,))
            await answer(send, 200, {"count": (await rows.fetchone())[0]})
    elif method in ("POST", "PUT") and path in ROUTES:
        await ROUTES[path](scope, receive, send)
    else:
        await answer(send, 404, {"error": "not found"})


def migrate():
    schema = os.environ.get("SCHEMA", "conform_python")
    with psycopg.connect(os.environ["DATABASE_URL"]) as conn:
        conn.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        conn.execute(f'SET LOCAL search_path = "{schema}"')
        conn.execute(TABLE)
        conn.execute(EFFECTS)


if __name__ == "__main__":
    migrate()
    host, _, port = os.environ.get("LISTEN", "127.0.0.1:8080").partition(":")
    uvicorn.run(app, host=host, port=int(port), log_level="warning", lifespan="off")
