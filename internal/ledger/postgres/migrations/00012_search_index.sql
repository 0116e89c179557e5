-- One index for what operators search for among notices.

-- +goose Up

-- What is searched for is looked for in the index alone: an index for each of rules, types and warehouses finds those that have been
-- quiet for long sooner, and cost every commit a third of its pace.
DROP INDEX notices_rule, notices_type, notices_warehouse, notices_created;
CREATE INDEX notices_created ON notices (created_at, first_seq) INCLUDE (id, rule, type, warehouse, priority);
