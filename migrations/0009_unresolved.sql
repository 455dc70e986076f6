-- Which references of a document lead nowhere, so that answers from the graph can say what they could not follow.

ALTER TABLE link_counts ADD COLUMN places BLOB NOT NULL DEFAULT x'';  -- one bit for each reference in order, the lowest first
