-- A sample WMS for SQLite, with the tables that the rules of this folder read. Any WMS has the same columns under other names.
-- Times are UTC, "YYYY-MM-DD HH:MM:SS". Quantities are decimals, because goods are also sold by weight.

CREATE TABLE warehouses (
  wh_id     INTEGER PRIMARY KEY,
  name      TEXT NOT NULL,
  timezone  TEXT NOT NULL
);

CREATE TABLE skus (
  sku   TEXT PRIMARY KEY,
  name  TEXT NOT NULL,
  unit  TEXT NOT NULL
);

-- Pickers take goods from pick bins. A pick bin is refilled from reserve when its stock falls below min_qty.
CREATE TABLE bins (
  wh_id     INTEGER NOT NULL,
  bin_code  TEXT NOT NULL,
  kind      TEXT NOT NULL CHECK (kind IN ('pick', 'reserve')),
  min_qty   DECIMAL(12,3) NOT NULL,
  PRIMARY KEY (wh_id, bin_code)
);

-- The book stock. A pick that is booked before the refill makes it negative.
CREATE TABLE bin_stock (
  wh_id       INTEGER NOT NULL,
  bin_code    TEXT NOT NULL,
  sku         TEXT NOT NULL,
  qty         DECIMAL(12,3) NOT NULL,
  wave_no     INTEGER,                -- the wave that touched it last
  updated_at  TIMESTAMP NOT NULL,
  PRIMARY KEY (wh_id, bin_code, sku)
);

CREATE TABLE lots (
  wh_id       INTEGER NOT NULL,
  lot_no      TEXT NOT NULL,
  sku         TEXT NOT NULL,
  qty         DECIMAL(12,3) NOT NULL,
  expires_on  DATE NOT NULL,
  PRIMARY KEY (wh_id, lot_no)
);

CREATE TABLE waves (
  wh_id        INTEGER NOT NULL,
  wave_no      INTEGER NOT NULL,
  status       TEXT NOT NULL CHECK (status IN ('released', 'picking', 'done')),
  released_at  TIMESTAMP NOT NULL,
  progress_at  TIMESTAMP NOT NULL,    -- of the last line picked
  PRIMARY KEY (wh_id, wave_no)
);

CREATE TABLE orders (
  wh_id       INTEGER NOT NULL,
  order_no    TEXT NOT NULL,
  wave_no     INTEGER NOT NULL,
  carrier     TEXT NOT NULL,
  status      TEXT NOT NULL CHECK (status IN ('open', 'picked', 'shipped')),
  cut_off     TIMESTAMP NOT NULL,     -- the truck leaves
  shipped_at  TIMESTAMP,
  PRIMARY KEY (wh_id, order_no)
);

CREATE TABLE wave_lines (
  wh_id     INTEGER NOT NULL,
  wave_no   INTEGER NOT NULL,
  line_no   INTEGER NOT NULL,
  order_no  TEXT NOT NULL,
  bin_code  TEXT NOT NULL,
  sku       TEXT NOT NULL,
  qty       DECIMAL(12,3) NOT NULL,
  picked    BOOLEAN NOT NULL DEFAULT 0,
  PRIMARY KEY (wh_id, wave_no, line_no)
);

-- Cycle counts, in the order in which they were booked.
CREATE TABLE stock_counts (
  count_id    INTEGER PRIMARY KEY,
  wh_id       INTEGER NOT NULL,
  bin_code    TEXT NOT NULL,
  sku         TEXT NOT NULL,
  book_qty    DECIMAL(12,3) NOT NULL,
  counted_qty DECIMAL(12,3) NOT NULL,
  counted_by  TEXT NOT NULL,
  counted_at  TIMESTAMP NOT NULL
);

CREATE INDEX waves_open ON waves (wh_id, status);
CREATE INDEX orders_open ON orders (wh_id, status);
CREATE INDEX stock_counts_wh ON stock_counts (wh_id, count_id);
