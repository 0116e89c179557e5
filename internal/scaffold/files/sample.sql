-- A small warehouse, to begin with: one bin has a negative quantity.
CREATE TABLE bin_stock (
  wh_id       INTEGER NOT NULL,
  bin_code    TEXT NOT NULL,
  sku         TEXT NOT NULL,
  qty         DECIMAL(12,3) NOT NULL,
  updated_at  TIMESTAMP NOT NULL,
  PRIMARY KEY (wh_id, bin_code, sku)
);
INSERT INTO bin_stock VALUES
  (119240, 'A-01', 'S001', -3, '2026-06-01 08:00:00'),
  (119240, 'A-02', 'S002', 40, '2026-06-01 08:00:00');
