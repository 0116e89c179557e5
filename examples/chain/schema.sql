CREATE TABLE warehouses (
  wh_id     INTEGER PRIMARY KEY,
  timezone  TEXT,               -- NULL: that of the rule
  min_qty   INTEGER,            -- NULL: that of the rule
  active    INTEGER NOT NULL
);
INSERT INTO warehouses VALUES (119240, 'Asia/Shanghai', NULL, 1), (119241, 'Europe/Berlin', 25, 1), (119242, NULL, NULL, 1);

CREATE TABLE bin_stock (
  wh_id     INTEGER NOT NULL,
  bin_code  TEXT NOT NULL,
  sku       TEXT NOT NULL,
  qty       DECIMAL(12,3) NOT NULL,
  PRIMARY KEY (wh_id, bin_code, sku)
);
INSERT INTO bin_stock VALUES (119240, 'A-01', 'S1', 7), (119241, 'A-01', 'S1', 22), (119242, 'A-01', 'S1', 30);
