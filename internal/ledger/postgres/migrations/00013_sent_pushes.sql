-- The row of a push goes when it was sent.

-- +goose Up

-- What operators are shown of a delivery to a push channel that was sent, as in pushes, where others have it; null = it was not sent, or
-- is none to a push channel.
ALTER TABLE deliveries
    ADD COLUMN kind text, ADD COLUMN unless text, ADD COLUMN delay bigint, ADD COLUMN at bigint, ADD COLUMN within bigint,
    ADD COLUMN retry integer, ADD COLUMN deadline bigint;
WITH sent AS (DELETE FROM pushes p USING deliveries d WHERE d.seq = p.seq AND d.state = 1 RETURNING p.*)
UPDATE deliveries d
SET kind = s.kind, unless = s.unless, delay = s.delay, at = s.at, within = s.within, retry = s.retry, deadline = s.deadline
FROM sent s WHERE d.seq = s.seq;
