-- Push channels: what is on its way to them, the address book, and who has read and acked what. docs/adr/push-ledger.md tells why.

-- +goose Up

-- The notice's warehouse, by which deliveries are listed; '' = written before there was the column.
ALTER TABLE notices ADD COLUMN warehouse text COLLATE "C" NOT NULL DEFAULT '';

-- The address book. mail is a JSON array of addresses, '' = none.
CREATE TABLE subscribers (
    subscriber text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL,
    language   text NOT NULL,
    mail       text NOT NULL
);

-- Who has read or acked a notice. kind is read or acked; subscriber is a user.
CREATE TABLE marks (
    notice_id  text COLLATE "C" NOT NULL,
    subscriber text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    warehouse  text   NOT NULL,
    at         bigint NOT NULL,
    PRIMARY KEY (notice_id, subscriber, kind)
);

-- What a delivery to a push channel has besides its row in deliveries: its strategy, and when it is due. The row stays for life.
--   due       when it may be claimed next: the highest number while it waits for an earlier one of the same lane, finding and
--             addressee, null once it has ended
--   until     the end of the lease of the node that has it claimed, 0 = no claim is in force. No index has it, so a claim changes none
--   first_due when it may be claimed first
--   created   the notice's created_at, by which and seq it is found
--   deadline  of a timed one, 0 = none; ends is what comes first of it and the expiry of the notice
--   token     of the last claim, counts up; node is '' once that claim was settled
--   finding   as in notices; null = not a finding's, and in no order
--   addressee a hash of the subscriber it is for, 0 = it is for all of them
--   forgiven  attempts that the strategy counts no more, since an operator had it tried again
CREATE TABLE pushes (
    seq       bigint  NOT NULL PRIMARY KEY,
    due       bigint,
    until     bigint  NOT NULL DEFAULT 0,
    created   bigint  NOT NULL,
    first_due bigint  NOT NULL,
    deadline  bigint  NOT NULL,
    ends      bigint  NOT NULL,
    finding   bigint,
    addressee bigint  NOT NULL,
    token     bigint  NOT NULL DEFAULT 0,
    delay     bigint  NOT NULL,
    at        bigint  NOT NULL,
    within    bigint  NOT NULL,
    lane_id   integer NOT NULL,
    retry     integer NOT NULL,
    forgiven  integer NOT NULL DEFAULT 0,
    kind      text    NOT NULL,
    unless    text    NOT NULL,
    node      text    NOT NULL DEFAULT ''
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX pushes_due ON pushes (lane_id, due, seq) WHERE due IS NOT NULL;
CREATE INDEX pushes_ends ON pushes (lane_id, ends) WHERE due IS NOT NULL;
CREATE INDEX pushes_finding ON pushes (finding, lane_id, addressee, seq) WHERE due IS NOT NULL AND finding IS NOT NULL;

-- A claim finds the notices of its deliveries here. Those of one commit have the same created_at, and ascending numbers.
DROP INDEX notices_created;
CREATE INDEX notices_created ON notices (created_at, first_seq);
