"""Keeps the client's place in its inboxes in files. After a restart the client goes on from this place."""

import json
import os
import time

# After a reset the server sends the notices of the last three days again. So the client may forget older ids.
REMEMBER = 4 * 24 * 3600


class Place:
    """The cursor, and the ids of the printed notices.

    The cursor has its own file. The file is replaced as a whole, so that a crash leaves the old or the new cursor. The ids
    are in a second file. The client adds a line for each id, and rewrites the file at the start.
    """

    def __init__(self, path):
        self.path = path
        self.cursor, self.tag = "", None
        try:
            with open(path, encoding="utf-8") as file:
                self.cursor = json.load(file)["cursor"]
        except FileNotFoundError:
            pass
        self.seen = self.load_seen()
        self.rewrite_seen()

    def keep(self, cursor, tag=None):
        """Saves the cursor. The tag is the ETag of the page with this cursor. A poll with both costs the server little."""
        self.tag = tag
        if cursor == self.cursor:
            return
        self.cursor = cursor
        replace(self.path, json.dumps({"cursor": cursor}) + "\n")

    def forget(self):
        """Drops the cursor. The ids of printed notices stay."""
        self.keep("")

    def saw(self, notice):
        return notice in self.seen

    def see(self, notice):
        self.seen[notice] = int(time.time())
        self.log.write(f"{notice} {self.seen[notice]}\n")
        self.log.flush()

    def load_seen(self):
        seen, oldest = {}, time.time() - REMEMBER
        try:
            with open(self.path + ".seen", encoding="utf-8") as file:
                for line in file:
                    notice, _, when = line.strip().partition(" ")
                    if when.isdigit() and int(when) >= oldest:  # A crash may cut off a line; such a line has no time.
                        seen[notice] = int(when)
        except FileNotFoundError:
            pass
        return seen

    def rewrite_seen(self):
        path = self.path + ".seen"
        replace(path, "".join(f"{notice} {when}\n" for notice, when in self.seen.items()))
        self.log = open(path, "a", encoding="utf-8")  # The file stays open until the client ends.


def replace(path, text):
    """Replaces a file as a whole."""
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
