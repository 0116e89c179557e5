-- phase: contract
-- oldest: 9901
-- locks: nodes, against readers and writers
-- lasts: under 1 s
--
-- A step of tests alone: it removes the column without which the version before cannot renew its session.

-- +goose Up
ALTER TABLE nodes DROP COLUMN rules;
UPDATE schema_oldest SET version = 9901;
