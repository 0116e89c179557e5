-- What became of a finding, rules in shadow, groups, and the plans of probes. What is older keeps its meaning: it has no
-- group, no row and no promotion, and its notices are found by their ids.

-- +goose Up

-- A rule in shadow is live in the scope since promoted_at (0 = it is not).
ALTER TABLE rule_scopes
    ADD COLUMN promoted_at bigint NOT NULL DEFAULT 0,
    ADD COLUMN promoted_by text   NOT NULL DEFAULT '';

-- last_row is the row, as JSON, of the run due at row_due, which changed the finding last; null = none is recorded.
ALTER TABLE findings
    ADD COLUMN group_key text   NOT NULL DEFAULT '',
    ADD COLUMN last_row  bytea,
    ADD COLUMN row_due   bigint NOT NULL DEFAULT 0;

-- A hash of rule, scope and key. Its upper part is that of rule and scope, so that a commit's entries lie together.
ALTER TABLE notices ADD COLUMN finding bigint;
CREATE INDEX notices_finding ON notices (finding) WHERE finding IS NOT NULL;

-- The plan by which a source would run the probe of a rule in a scope, and the one before it that had another shape
-- (before_until 0 = there was none).
CREATE TABLE probe_plans (
    rule         text COLLATE "C" NOT NULL,
    scope        text COLLATE "C" NOT NULL,
    checksum     text   NOT NULL,
    cost         double precision NOT NULL,
    shape        text   NOT NULL,
    asked_at     bigint NOT NULL,
    before_cost  double precision NOT NULL,
    before_shape text   NOT NULL,
    before_until bigint NOT NULL,
    PRIMARY KEY (rule, scope)
);
