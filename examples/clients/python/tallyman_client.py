#!/usr/bin/env python3
"""Prints the notices of some inboxes, each once and in order, for as long as it runs.

A client of Tallyman in Python's standard library alone. It polls, or reads a stream, in JSON or in XML; it keeps its place in
a file, and goes on after restarts of itself, of the server, and of what is behind the server. See README.md.
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

# What a server that is there but cannot serve just now answers: come back later, with the same cursor.
LATER = {408, 429, 500, 502, 503, 504}


class TryLater(Exception):
    """The server cannot be reached or cannot answer; seconds says when it wants to be asked again, None if it does not say."""

    def __init__(self, reason, seconds=None):
        super().__init__(reason)
        self.seconds = seconds


class Refused(Exception):
    """The server will not answer this request however often it is asked. code is the problem's stable code."""

    def __init__(self, status, code, detail):
        super().__init__(f"{status} {code}: {detail}")
        self.code = code


class Server:
    """The server's side of the conversation, over one connection."""

    def __init__(self, address, token, timeout):
        self.address, self.token, self.timeout = urllib.parse.urlsplit(address), token, timeout
        self.connection = None

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def get(self, path, query, headers):
        """Asks, and returns an answer with status 200 or 304."""
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
        except (ValueError, KeyError, TypeError):  # a proxy's page
            code, detail = "", response.reason
        if response.status in LATER:
            after = response.getheader("Retry-After", "")
            return TryLater(f"{response.status} {code}", float(after) if after.isdigit() else None)
        return Refused(response.status, code, detail)


class Stop:
    """The end that SIGTERM asks for: at once while we wait, but never between what is printed and what is kept of it."""

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
                print("the server does not know our cursor; we begin anew", file=sys.stderr)
                self.place.forget()

    def rest(self, err):
        """Waits before the next try: longer each time, and never as long as other clients, so that they do not come together."""
        self.tries += 1
        longest = min(30.0, 0.25 * 2 ** min(self.tries, 10))
        pause = err.seconds if err.seconds is not None else random.uniform(0, longest)
        print(f"{err}; again in {pause:.1f} s", file=sys.stderr)
        time.sleep(pause)

    def query(self):
        query = [("warehouse", self.args.warehouse)] + [("subscriber", s) for s in self.args.subscriber]
        query += [("type", t) for t in self.args.type]
        if self.place.cursor:
            query.append(("after", self.place.cursor))
        return query

    # Polling.

    def poll(self):
        """Asks for pages. Each is printed before its cursor is kept, so that none is lost."""
        headers = {"Accept": FORMS[self.args.format]}
        query = self.query() + [("wait", f"{self.args.wait}s")]
        if self.place.tag:
            headers["If-None-Match"] = self.place.tag
        response = self.server.get("/api/v1/notices", query, headers)
        try:
            body = response.read()
        except (OSError, http.client.HTTPException) as err:
            raise TryLater(f"the answer broke off: {err}") from err
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
        """Reads events until the stream ends, which is no failure: the next one begins where this one was."""
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
            raise TryLater(f"the stream broke off: {err}", retry) from err
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
            raise Refused(401, data["reason"], "the token is not valid any more")
        if "id" in event:
            self.place.keep(event["id"])

    # What came.

    def notice(self, notice):
        if self.place.saw(notice.id):
            return
        with self.stop:
            print(f"{notice.created}  {notice.type}  {notice.status}  {notice.title}  [{notice.id}]", flush=True)
            self.place.see(notice.id)

    def change(self, change):
        print(f"[{change[0]}] was {change[1]}", file=sys.stderr)

    def reset(self, reset):
        print(f"a fresh window begins ({reset.reason}); what we have seen is left out", file=sys.stderr)
        if reset.missed is None or int(reset.missed) > 0:
            print(f"notices that we missed: {'nobody knows how many' if reset.missed is None else reset.missed}", file=sys.stderr)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="http://127.0.0.1:8080")
    parser.add_argument("--token-file", help="a file with an API token")
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--subscriber", action="append", required=True, help="user:<id> or role:<id>; may be repeated")
    parser.add_argument("--type", action="append", default=[], help="only notices of this type; may be repeated")
    parser.add_argument("--state", default="tallyman.cursor", help="the file that keeps our place (default %(default)s)")
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
    # A stream says something every 15 s, a poll answers when its time is over: silence beyond that is a dead connection.
    timeout = 45 if args.stream else args.wait + 20
    try:
        Client(args, Server(args.server, token, timeout), Place(args.state), Stop()).run()
    except Refused as err:
        sys.exit(f"refused: {err}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
