-- When a file's content or state last changed by the system's own clock, which no program can set back: it tells an edit of the
-- same size whose modification time was kept. 0 where that is not known: Windows has none, and older runs did not note it.
ALTER TABLE documents ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE skips ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
