-- A history of version 2, as that version made it.
PRAGMA application_id = 0x54537064;
PRAGMA user_version = 2;
CREATE TABLE document (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    time_s INTEGER NOT NULL,
    start_s INTEGER,
    kept_s INTEGER NOT NULL,
    host TEXT NOT NULL,
    command TEXT NOT NULL,
    profile TEXT,
    grade TEXT,
    tool_version TEXT NOT NULL,
    label TEXT,
    note TEXT,
    revision TEXT,
    bytes INTEGER NOT NULL
) STRICT;
CREATE INDEX document_time ON document (time_s, number);
CREATE INDEX document_host ON document (host);
CREATE INDEX document_label ON document (label) WHERE label IS NOT NULL;
CREATE INDEX document_profile ON document (profile);
CREATE TABLE content (
    document INTEGER PRIMARY KEY REFERENCES document (number) ON DELETE CASCADE,
    deflated BLOB NOT NULL
) STRICT;
CREATE TABLE target (
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (document, place)
) STRICT, WITHOUT ROWID;
CREATE TABLE device (
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    name TEXT NOT NULL,
    model TEXT,
    firmware TEXT,
    PRIMARY KEY (document, place)
) STRICT, WITHOUT ROWID;
CREATE INDEX device_model ON device (model);
CREATE TABLE tag (
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (document, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tag_tag ON tag (tag);
CREATE TABLE figure (
    document INTEGER NOT NULL REFERENCES document (number) ON DELETE CASCADE,
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (document, metric)
) STRICT, WITHOUT ROWID;
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
INSERT INTO document VALUES (1, 'werc8gm', 'werc8gmrzge196qvyk49jvxs4g', 'result', 1763892000, 1763892000, 1763892060, 'host', 'truespd run -b4K t.dat',
    '0123456789abcdef', 'certified', '0.1.0', 'old', 'a note', 'r1', 0);
INSERT INTO content VALUES (1, x'0300');
INSERT INTO target VALUES (1, 0, 't.dat');
INSERT INTO device VALUES (1, 0, 'sda', 'A disk', 'F1');
INSERT INTO tag VALUES (1, 'x');
INSERT INTO figure VALUES (1, 'iops', 12345.0);
INSERT INTO part VALUES (1, 0, 'read SEQ1M-Q8T1', '0123456789abcdef', '-b1M t.dat');
INSERT INTO part_figure VALUES (1, 0, 'bytes', 54321.0);
