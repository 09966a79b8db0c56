"""Texts to begin mutations from: the papers' queries, the design's examples, all of the syntax."""

from __future__ import annotations

from tests.paper_queries import PAPER_QUERIES

WINDOWS = (
    "[RANGE 5 MINUTES]", "[RANGE 0.5 SECONDS SLIDE 100 ms INTERNAL]", "[RANGE 5 INTERNAL SLIDE 2]",
    "[RANGE INTERVAL '5' MINUTE SLIDE INTERVAL '10 seconds']", "[ROWS 10 SLIDE 2 INTERNAL]",
    "[PARTITION BY s.a, b ROWS 3 SLIDE 1]", "[NOW]", "[UNBOUNDED]", "[RANGE UNBOUNDED]",
    "[SINCE '2026-01-01 00:00:00']", "[SINCE 17]", "[TUMBLE 1 HOUR]", "[WINDOW 10s]",
    "[WINDOW 10 min SLIDE 2 min]", "[WINDOW UNTIL NOW]",
)  # fmt: skip

EXPRESSIONS = (
    "*", "s.*", "a", "`odd name`", "s.a.b", "1", "-1.5e3", "5L", "'it''s'", "'a\\n\\'b'",
    '"double"',
    "“VT”", "‘x’", "TRUE", "NULL", "a + b * -c / 2 % 3", "a || 'x' || b", "a & b | c ^ ~d",
    "a DIV 2", "NOT a AND b OR c", "a = 1 AND (b <> 2 OR c != 3)", "a <=> b", "a BETWEEN 1 AND 2",
    "a NOT BETWEEN 1 AND 2", "a IN (1, 2)", "a NOT IN (SELECT b FROM t [NOW])", "a LIKE 'x%'",
    "a NOT LIKE '%y' ESCAPE '!'", "a ILIKE 'z'", "a RLIKE '[a-z]+'", "a IS NULL", "a IS NOT NULL",
    "a IS TRUE", "a IS DISTINCT FROM b", "a IS NOT DISTINCT FROM b", "EXISTS (SELECT 1 FROM t)",
    "CAST(a AS DECIMAL(10, 2))", "TRY_CAST(a AS ARRAY<INT>)", "a::BIGINT",
    "CASE WHEN a THEN 1 WHEN b THEN 2 ELSE 3 END", "CASE a WHEN 1 THEN 'x' END",
    "EXTRACT(HOUR FROM ts)", "TRIM(BOTH ' ' FROM a)", "TRIM(LEADING FROM a)", "TRIM(a)",
    "SUBSTRING(a FROM 1 FOR 2)", "SUBSTR(a, 2)", "POSITION('x' IN a)", "COUNT(*)", "COUNT(s.*)",
    "COUNT(DISTINCT a, b)", "SUM(a) FILTER (WHERE a > 1)", "date_format(ts, 'yyyy')",
    "COALESCE(a, b, 0)", "IF(a, b, c)", "SUM(a) OVER (PARTITION BY b ORDER BY c DESC)",
    "ROW_NUMBER() OVER (ORDER BY a ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)",
    "DATE '2026-01-01'", "TIMESTAMP '2026-01-01 00:00:00'", "INTERVAL '5' MINUTE",
    "INTERVAL 3 DAYS",
    "ts + INTERVAL '1' HOUR", "current_timestamp", "CURRENT_DATE()", "(SELECT MAX(a) FROM t [NOW])",
    "(a, b)", "a[0]", "SUM(Wstream(SUM(a))[ROWS 10])", "WINDOW(s, t) = 30 SECONDS",
    "DWINDOW(s, t) = 5 min", "WINDOW = 3",
)  # fmt: skip

QUERIES = (
    "SELECT a, b AS c, COUNT(*) n FROM s [RANGE 5 MINUTES] WHERE a > 1 GROUP BY a, b "
    "HAVING COUNT(*) > 2 ORDER BY a DESC NULLS LAST, b LIMIT 5",
    "SELECT DISTINCT l.src FROM link1 AS l [RANGE 5 MINUTES] WHERE NOT EXISTS "
    "(SELECT * FROM link2 [RANGE 5 MINUTES] WHERE link2.src = l.src)",
    "SELECT a FROM s [NOW] JOIN t [ROWS 5] ON s.a = t.a LEFT OUTER JOIN u USING (a, b) "
    "CROSS JOIN v FULL JOIN w ON w.a = s.a NATURAL JOIN x LEFT SEMI JOIN y ON y.a = s.a "
    "LEFT ANTI JOIN z ON z.a = s.a",
    "SELECT a FROM s [NOW] UNION ALL SELECT a FROM t [NOW] INTERSECT (SELECT a FROM u [NOW]) "
    "EXCEPT SELECT a FROM v [NOW] ORDER BY a LIMIT 3",
    "SELECT a FROM s MINUS ALL SELECT a FROM t UNION DISTINCT SELECT 1",
    "WITH x AS (SELECT a FROM s [ROWS 5]), y (b) AS (ISTREAM(SELECT a FROM x)) "
    "SELECT Rstream(y.b) FROM y [ROWS 3]",
    "SELECT a FROM (SELECT a FROM s [NOW]) AS x [ROWS 10], (SELECT b FROM t) [NOW] y",
    "ISTREAM(SELECT a FROM s [RANGE 1 MINUTE SLIDE 10 SECONDS]) RESTORE",
    "DSTREAM (SELECT * FROM s [NOW])", "WSTREAM(SELECT a FROM s [NOW])[RANGE 5 MINUTES]",
    "SELECT Istream-restore(a, b AS c) FROM s [RANGE 5 SLIDE 1]", "SELECT 1",
    "SELECT a FROM s A, t B WINDOW (A, B) = 5 sec AND WINDOW = 7 WHERE a = 1 OR b = 2",
    "((SELECT a FROM s) UNION (SELECT b FROM t)) ORDER BY 1",
)  # fmt: skip

SCRIPTS = (
    "CREATE STREAM link1 (ts TIMESTAMP, src STRING, dst STRING, proto STRING, bytes BIGINT) "
    "USING parquet OPTIONS (path 'data/link1') TIMESTAMP BY ts SLACK 2 SECONDS;",
    "CREATE STREAM IF NOT EXISTS s (ts BIGINT NOT NULL, a ARRAY<INT>, m MAP<STRING, INT>, "
    "st STRUCT<x: INT, y: STRING>, d DECIMAL(10, 2), c CHAR(3)) TIMESTAMP BY ts OPTIONS ('k' 1);",
    "CREATE RELATION hosts (src STRING, owner STRING, PRIMARY KEY (src)) USING csv "
    "OPTIONS (path 'hosts.csv', header = true, n = -3);",
    "CREATE NON RETROACTIVE RELATION symbols (sym STRING PRIMARY KEY, name STRING NULL);",
    "CREATE NRR r (a INT); -- comment\n/* another */ DROP STREAM IF EXISTS s; DROP QUERY q",
    "CREATE OR REPLACE QUERY quiet AS SELECT a FROM s [NOW]; SHOW STREAMS; SHOW SETTINGS;",
    "EXPLAIN SELECT a FROM s; EXPLAIN quiet; EXPLAIN (FORMAT json) quiet; EXPLAIN DOT SELECT 1;",
    "SET early_aggregation = {A, B}; SET a.b = -1.5; SET m = TRUE; SET bare_words = 'strings'",
)  # fmt: skip

CORPUS: tuple[str, ...] = (
    *(query.text for query in PAPER_QUERIES),
    *(query.ddl for query in PAPER_QUERIES),
    *(f"SELECT a FROM s {window} AS x WHERE x.a > 1" for window in WINDOWS),
    *(f"SELECT {item} FROM s [RANGE 5] WHERE {item}" for item in EXPRESSIONS),
    *QUERIES,
    *SCRIPTS,
)

SPICE: tuple[str, ...] = (
    *WINDOWS, *EXPRESSIONS, "SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "UNION",
    "(", ")", "[", "]", "{", "}", ",", ";", ".", "*", "AS", "ON", "JOIN", "LATERAL VIEW", "PIVOT",
    "VALUES", "INSERT", "TABLE", "UNNEST(a)", "QUALIFY", "TABLESAMPLE (1)", "CLUSTER BY", "TOP 3",
    "WITH", "RECURSIVE", "OVER", "RANGE", "ROWS", "SLIDE", "INTERNAL", "RESTORE", "ISTREAM(",
    "INTERVAL", "CASE", "WHEN", "END", "NOT", "-", "::", "->", "->>", "=>", ":=", "?", ":a", "@x",
    "$1", "{{ x }}", "/*+ hint */", "/*", "--", "x'1F'", "b'1'", "N'x'", "r'x'",
    "AT TIME ZONE 'UTC'",
    "IGNORE NULLS", "FOR", "FETCH FIRST 3 ROWS ONLY", "STRUCT(1)", "MAP(1, 2)", "ARRAY(1)",
    "x -> x + 1", "TRANSFORM(a, x -> 1)", "COLLATE", "GROUPING SETS ((a))", "CUBE (a)", "ROLLUP",
    "WITHIN GROUP (ORDER BY a)", "ESCAPE", "SIMILAR TO", "OVERLAPS", "ANY", "ALL", "SOME",
    "DISTINCT",
    "EXCEPT (a)", "REPLACE (a AS b)", "|>", "FROM s SELECT a", "DESCRIBE s",
    "CREATE TABLE t (a INT)",
)  # fmt: skip
