-- How many other files use a unit, tests left out: ranking asks it for each candidate, and counting reads every edge that ends there.

CREATE TABLE uses (
    unit  INTEGER PRIMARY KEY,
    files INTEGER NOT NULL                -- at least 1
);

-- The numbers of the kinds inherits, overrides and member_of, as in codelens/model/graph.py.
INSERT INTO uses
SELECT e.target, count(DISTINCT d.id) FROM edges e JOIN units t ON t.id = e.target LEFT JOIN units s ON s.id = e.source
JOIN documents d ON d.id = coalesce(s.document_id, -e.source)
WHERE e.kind NOT IN (5, 6, 25) AND d.id <> t.document_id AND d.roles NOT LIKE '%test%' GROUP BY e.target;
