-- What operators search for among notices.

-- +goose Up

-- Whatever leads a search finds its notices in the order of their times: those of a rule, a type or a warehouse that has been quiet for
-- long, too.
CREATE INDEX notices_rule ON notices (rule COLLATE "C", created_at, first_seq);
CREATE INDEX notices_type ON notices (type COLLATE "C", created_at, first_seq);
CREATE INDEX notices_warehouse ON notices (warehouse, created_at, first_seq);
