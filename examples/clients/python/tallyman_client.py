#!/usr/bin/env python3
"""Prints the notices of some inboxes, each once and in order, until it is stopped.

This client of Tallyman needs only Python's standard library. The client polls in JSON or in XML, or reads a stream. The
client keeps its place in a file. So it goes on after a restart of the client, the server, Redis or the ledger. See README.md.
"""

import argparse
import http.client
import json
import random
import signal
import sys
import time
import urllib.parse
from collections import namedtuple

from forms import FORMS, notice_of, parse_page, reset_of
from place import Place

Answer = namedtuple("Answer", "page tag")

# Status codes of temporary errors. The client tries again later with the same cursor.
LATER = {408, 429, 500, 502, 503, 504}


class TryLater(Exception):
    """The server cannot be reached, or has a temporary error. seconds is the pause from Retry-After, or None."""

    def __init__(self, reason, seconds=None):
        super().__init__(reason)
        self.seconds = seconds


class Refused(Exception):
    """The server refuses the request, and a repetition would not help. code is the stable code of the problem."""

    def __init__(self, status, code, detail):
        super().__init__(f"{status} {code}: {detail}")
        self.code = code


class Server:
    """Sends requests to the server over one connection."""

    def __init__(self, address, token, timeout):
        self.address, self.token, self.timeout = urllib.parse.urlsplit(address), token, timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path, query, headers):
        """Sends a GET request. Returns an answer with status 200 or 304. Raises TryLater or Refused for any other."""
        headers = {"User-Agent": "tallyman-python-example", **headers}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        try:
            if not self.connection:
                kind = http.client.HTTPSConnection if self.address.scheme == "https" else http.client.HTTPConnection
                self.connection = kind(self.address.netloc, timeout=self.timeout)
            target = self.address.path.rstrip("/") + path + "?" + urllib.parse.urlencode(query)
            self.connection.request("GET", target, headers=headers)
            response = self.connection.getresponse()
            if response.status in (200, 304):
                return response
            body = response.read()
        except (OSError, http.client.HTTPException) as err:
            self.close()
            raise TryLater(f"no answer: {err}") from err
        raise self.problem(response, body)

    def problem(self, response, body):
        try:
            problem = json.loads(body)
            code, detail = problem["code"], problem["detail"]
        except (ValueError, KeyError, TypeError):  # The answer is no problem of Tallyman, for example a page of a proxy.
            code, detail = "", response.reason
        if response.status in LATER:
            after = response.getheader("Retry-After", "")
            return TryLater(f"{response.status} {code}", float(after) if after.isdigit() else None)
        return Refused(response.status, code, detail)


class Stop:
    """Ends the client at SIGTERM: at once while it waits, but not after it prints a notice and before it saves the id."""

    def __init__(self):
        self.asked = self.busy = False
        signal.signal(signal.SIGTERM, self.ask)

    def ask(self, *_):
        self.asked = True
        if not self.busy:
            sys.exit(0)

    def __enter__(self):
        self.busy = True

    def __exit__(self, *_):
        self.busy = False
        if self.asked:
            sys.exit(0)


class Client:
    """Reads notices and prints them."""

    def __init__(self, args, server, place, stop):
        self.args, self.server, self.place, self.stop = args, server, place, stop
        self.tries = 0

    def run(self):
        step = self.stream if self.args.stream else self.poll
        while True:
            try:
                step()
            except TryLater as err:
                self.server.close()
                self.rest(err)
            except Refused as err:
                if err.code != "bad_cursor":
                    raise
                print("The server does not know the cursor. The client begins again without a cursor.", file=sys.stderr)
                self.place.forget()

    def rest(self, err):
        """Waits before the next attempt. The pause is random and its bound grows, so that clients do not all come at once."""
        self.tries += 1
        longest = min(30.0, 0.25 * 2 ** min(self.tries, 10))
        pause = err.seconds if err.seconds is not None else random.uniform(0, longest)
        print(f"{err}. Next attempt in {pause:.1f} s.", file=sys.stderr)
        time.sleep(pause)

    def query(self):
        query = [("warehouse", self.args.warehouse)] + [("subscriber", s) for s in self.args.subscriber]
        query += [("type", t) for t in self.args.type]
        if self.place.cursor:
            query.append(("after", self.place.cursor))
        return query

    # Polling.

    def poll(self):
        """Polls one page. Prints the notices before it saves the cursor, so that no notice is lost."""
        headers = {"Accept": FORMS[self.args.format]}
        query = self.query() + [("wait", f"{self.args.wait}s")]
        if self.place.tag:
            headers["If-None-Match"] = self.place.tag
        response = self.server.get("/api/v1/notices", query, headers)
        try:
            body = response.read()
        except (OSError, http.client.HTTPException) as err:
            raise TryLater(f"the answer was cut off: {err}") from err
        self.tries = 0
        if response.status == 304:
            return
        page = parse_page(self.args.format, body)
        if page.reset:
            self.reset(page.reset)
        for change in page.changes:
            self.change(change)
        for notice in page.notices:
            self.notice(notice)
        self.place.keep(page.cursor, response.getheader("ETag"))

    # Streaming.

    def stream(self):
        """Reads events until the stream ends. The end of a stream is normal. The next stream goes on from the last cursor."""
        headers = {"Accept": "text/event-stream"}
        if self.place.cursor:
            headers["Last-Event-ID"] = self.place.cursor
        response = self.server.get("/api/v1/notices/stream", self.query(), headers)
        retry, event = 1.0, {}
        try:
            for line in iter(response.readline, b""):
                self.tries = 0
                field, _, value = line.decode().rstrip("\r\n").partition(": ")
                if field == "retry":
                    retry = int(value) / 1000
                elif field:
                    event[field] = value
                else:
                    self.event(event)
                    event = {}
        except (OSError, http.client.HTTPException) as err:
            raise TryLater(f"the stream was cut off: {err}", retry) from err
        raise TryLater("the stream ended", retry)

    def event(self, event):
        name = event.get("event")
        data = json.loads(event["data"]) if name else None
        if name == "notice":
            self.notice(notice_of(data))
        elif name == "change":
            self.change((data["id"], data["kind"]))
        elif name == "reset":
            self.reset(reset_of(data))
        elif name == "end" and data["reason"] in ("revoked", "expired"):
            raise Refused(401, data["reason"], "the token is no longer valid")
        if "id" in event:
            self.place.keep(event["id"])

    # Notices, changes and resets.

    def notice(self, notice):
        if self.place.saw(notice.id):
            return
        with self.stop:
            print(f"{notice.created}  {notice.type}  {notice.status}  {notice.title}  [{notice.id}]", flush=True)
            self.place.see(notice.id)

    def change(self, change):
        print(f"[{change[0]}] was {change[1]}", file=sys.stderr)

    def reset(self, reset):
        print(f"The cursor is no longer valid ({reset.reason}). The last three days come again. Printed notices are skipped.",
              file=sys.stderr)
        if reset.missed is None or int(reset.missed) > 0:
            print(f"Missed notices: {'unknown number' if reset.missed is None else reset.missed}", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--token-file", help="a file with an API token")
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--subscriber", action="append", required=True, help="user:<id> or role:<id>; may be repeated")
    parser.add_argument("--type", action="append", default=[], help="only notices of this type; may be repeated")
    parser.add_argument("--state", default="tallyman.cursor", help="the file with the cursor (default %(default)s)")
    parser.add_argument("--format", choices=sorted(FORMS), default="json", help="of polls (default %(default)s)")
    parser.add_argument("--wait", type=int, default=25, help="seconds that the server may hold an idle poll (default %(default)s)")
    parser.add_argument("--stream", action="store_true", help="read a stream instead of polling")
    return parser.parse_args()


def main():
    args = arguments()
    token = ""
    if args.token_file:
        with open(args.token_file, encoding="utf-8") as file:
            token = file.read().strip()
    # The server sends something on a stream every 15 s, and answers a poll after its wait. A longer silence means a dead
    # connection.
    timeout = 45 if args.stream else args.wait + 20
    try:
        Client(args, Server(args.server, token, timeout), Place(args.state), Stop()).run()
    except Refused as err:
        sys.exit(f"refused: {err}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
