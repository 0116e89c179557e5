-- phase: expand
-- locks: nodes, against readers and writers
-- lasts: under 1 s
--
-- A step of tests alone: the next version calls the column rules of the table nodes rules_run. The version before writes
-- the old column, and the next version the new column.

-- +goose Up
ALTER TABLE nodes ADD COLUMN rules_run text NOT NULL DEFAULT '';
ALTER TABLE nodes ALTER COLUMN rules SET DEFAULT '';
