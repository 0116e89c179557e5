-- What operators search for among notices.

-- +goose Up

-- What is searched for is looked for in the index alone: an index for each of rules, types and warehouses would find those that have been
-- quiet for long sooner, and make every commit slower.
DROP INDEX notices_created;
CREATE INDEX notices_created ON notices (created_at, num, rule, type, warehouse, priority);
