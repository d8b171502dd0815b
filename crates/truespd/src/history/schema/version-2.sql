-- Tests of suites have figures, and disks are found by their firmware.
CREATE INDEX device_firmware ON device (firmware);
CREATE TABLE part (
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    profile TEXT NOT NULL,
    command TEXT NOT NULL,
    PRIMARY KEY (document, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX part_profile ON part (profile);
CREATE TABLE part_figure (
    document INTEGER NOT NULL,
    place INTEGER NOT NULL,
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (document, place, metric),
    FOREIGN KEY (document, place) REFERENCES part (document, place) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
