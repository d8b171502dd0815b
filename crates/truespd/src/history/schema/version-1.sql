-- Bytes are apart from facts, so that a list reads no documents.
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
