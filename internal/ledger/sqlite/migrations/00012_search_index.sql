-- One index for what operators search for among notices.

-- +goose Up

-- What is searched for is looked for in the index alone: an index for each of rules, types and warehouses finds those that have been
-- quiet for long sooner, and makes every commit slower.
DROP INDEX notices_rule;
DROP INDEX notices_type;
DROP INDEX notices_warehouse;
DROP INDEX notices_created;
CREATE INDEX notices_created ON notices (created_at, num, rule, type, warehouse, priority);
