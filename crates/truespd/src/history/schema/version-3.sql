-- Pseudonyms of redacted documents are made with it, and it never leaves the file.
CREATE TABLE secret (
    number INTEGER PRIMARY KEY CHECK (number = 1),
    bytes BLOB NOT NULL
) STRICT;
INSERT INTO secret VALUES (1, randomblob(32));
