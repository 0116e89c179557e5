"""The client's place in its inboxes, in files, so that the next start goes on where this one was."""

import json
import os
import time

# A server that has to begin anew sends the last three days again. What came before them may be forgotten.
REMEMBER = 4 * 24 * 3600


class Place:
    """A cursor, and which notices were taken.

    The cursor is in one file, which is replaced as a whole: after a crash it is the old one or the new one. The ids are in
    another, which only grows, and is written anew when the client starts.
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
        """Moves on. The tag is that of the page that gave the cursor: with both, an idle poll costs next to nothing."""
        self.tag = tag
        if cursor == self.cursor:
            return
        self.cursor = cursor
        replace(self.path, json.dumps({"cursor": cursor}) + "\n")

    def forget(self):
        """Gives the cursor up, but not what was seen."""
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
                    if when.isdigit() and int(when) >= oldest:  # a line that was cut off by a crash has no time
                        seen[notice] = int(when)
        except FileNotFoundError:
            pass
        return seen

    def rewrite_seen(self):
        path = self.path + ".seen"
        replace(path, "".join(f"{notice} {when}\n" for notice, when in self.seen.items()))
        self.log = open(path, "a", encoding="utf-8")  # it stays open for as long as we run


def replace(path, text):
    """Puts a whole file in the place of another."""
    new = path + ".new"
    with open(new, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(new, path)
