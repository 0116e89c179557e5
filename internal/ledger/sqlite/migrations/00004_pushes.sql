-- Push channels: what is on its way to them, the address book, and who has read and acked what. docs/adr/push-ledger.md tells why.

-- +goose Up

-- The notice's warehouse, by which deliveries are listed; '' = written before there was the column.
ALTER TABLE notices ADD COLUMN warehouse TEXT NOT NULL DEFAULT '';

-- The address book. mail is a JSON array of addresses, '' = none.
CREATE TABLE subscribers (
    subscriber TEXT NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL,
    language   TEXT NOT NULL,
    mail       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Who has read or acked a notice. kind is read or acked; subscriber is a user.
CREATE TABLE marks (
    notice_id  TEXT    NOT NULL,
    subscriber TEXT    NOT NULL,
    kind       TEXT    NOT NULL,
    warehouse  TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    PRIMARY KEY (notice_id, subscriber, kind)
) STRICT, WITHOUT ROWID;

-- What a delivery to a push channel has besides its row in deliveries: its strategy, and when it is due. The row stays for life.
--   due       when it may be claimed next: the highest number while it waits for an earlier one of the same lane, finding and
--             addressee, null once it has ended
--   until     the end of the lease of the node that has it claimed, 0 = no claim is in force. No index has it, so a claim changes none
--   first_due when it may be claimed first
--   deadline  of a timed one, 0 = none; ends is what comes first of it and the expiry of the notice
--   token     of the last claim, counts up; node is '' once that claim was settled
--   finding   as in notices; null = not a finding's, and in no order
--   addressee a hash of the subscriber it is for, 0 = it is for all of them
--   forgiven  attempts that the strategy counts no more, since an operator had it tried again
CREATE TABLE pushes (
    seq       INTEGER PRIMARY KEY,
    lane_id   INTEGER NOT NULL,
    due       INTEGER,
    until     INTEGER NOT NULL DEFAULT 0,
    first_due INTEGER NOT NULL,
    deadline  INTEGER NOT NULL,
    ends      INTEGER NOT NULL,
    finding   INTEGER,
    addressee INTEGER NOT NULL,
    token     INTEGER NOT NULL DEFAULT 0,
    node      TEXT    NOT NULL DEFAULT '',
    kind      TEXT    NOT NULL,
    delay     INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    within    INTEGER NOT NULL,
    retry     INTEGER NOT NULL,
    forgiven  INTEGER NOT NULL DEFAULT 0,
    unless    TEXT    NOT NULL
) STRICT;
CREATE INDEX pushes_due ON pushes (lane_id, due, seq) WHERE due IS NOT NULL;
CREATE INDEX pushes_ends ON pushes (lane_id, ends) WHERE due IS NOT NULL;
CREATE INDEX pushes_finding ON pushes (finding, lane_id, addressee, seq) WHERE due IS NOT NULL AND finding IS NOT NULL;
