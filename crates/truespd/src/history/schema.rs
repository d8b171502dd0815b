//! The layout of the file and how it came to be: one step for every version.

/// `application_id` of our files: "TSpd" (sqlite.org/fileformat2.html, "Application ID").
pub(super) const APPLICATION_ID: i64 = 0x5453_7064;

/// What makes version `n` of a file of version `n - 1`, from version 1 on. A released step never changes; a
/// new version is a new step, with a file of the version before it in `tests/data/history`.
pub(super) const STEPS: &[&str] = &[VERSION_1, VERSION_2];

/// Bytes are apart from facts, so that a list reads no documents.
const VERSION_1: &str = "
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
";

/// Tests of suites have figures, and disks are found by their firmware.
const VERSION_2: &str = "
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
";
