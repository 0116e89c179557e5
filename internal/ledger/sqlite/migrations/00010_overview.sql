-- What is counted of notices and findings again and again while operators look.

-- +goose Up

-- The notice's priority; 0 = written before there was the column. The index has besides what it finds notices by what they are counted by.
ALTER TABLE notices ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
DROP INDEX notices_created;
CREATE INDEX notices_created ON notices (created_at, num, warehouse, priority);

-- The warehouse of the finding's notice; '' = it has none.
ALTER TABLE findings ADD COLUMN warehouse TEXT NOT NULL DEFAULT '';
UPDATE findings SET warehouse = coalesce((SELECT n.warehouse FROM notices n WHERE n.id = notice_id), '');
