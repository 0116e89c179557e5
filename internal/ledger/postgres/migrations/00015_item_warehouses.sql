-- Items of queues belong to warehouses.

-- +goose Up

-- The warehouse that an item belongs to; '' = none: only callers for all warehouses see it.
ALTER TABLE items ADD COLUMN warehouse text NOT NULL DEFAULT '';
-- Those that were made of notices belong to the warehouses of these.
UPDATE items i SET warehouse = n.warehouse FROM notices n WHERE n.id = i.id;
