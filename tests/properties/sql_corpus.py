"""Queries as text, one or more of every construct of the language, whose windows never close.

`QUERIES` reach DuckDB by sqlglot's translation from Spark's SQL. `PORTABLE` mean the same to
DuckDB as they stand, so that nothing but DuckDB's own parser says how they are read.
"""

from decimal import Decimal

from tests.generate.catalog import DECLARATIONS as GENERATED
from tests.reference.build import always, ticks, updates
from tests.reference.histories import World

DECLARATIONS = (
    GENERATED
    + """
CREATE STREAM m (ts BIGINT, k BIGINT, d DATE, t TIMESTAMP, p DECIMAL(8, 2), f BOOLEAN, i INT, \
id BIGINT NOT NULL) TIMESTAMP BY ts;
CREATE RELATION Odd (`Group` BIGINT, `two words` STRING, MiXed BIGINT NOT NULL);
CREATE STREAM at_midnight (t TIMESTAMP, k BIGINT) TIMESTAMP BY t;
"""
)

DAY = 86_400_000_000
NOON = 20_000 * DAY + DAY // 2  # 2024-10-04 12:00:00

WORLD = World(
    {
        # ts, k, v, s, x, id
        "a": ticks(
            (1, 1, 0, "a", 0.5, 1),
            (1, 2, 1, "ab", -1.5, 2),
            (2, 1, 1, "a%", 2.0, 3),
            (4, None, 7, "b", None, 4),
            (4, 3, None, None, 0.0, 5),
            (5, 2, -3, "", 0.5, 6),
            (7, 1, 0, "a", 0.5, 7),
            (9, 3, 2, " Ab ", 2.5, 8),
        ),
        "b": ticks(
            (2, 1, 1, "a", 0.5, 101),
            (3, 2, None, "b", 0.0, 102),
            (3, None, 2, "ab", -1.5, 103),
            (6, 1, 7, None, None, 104),
            (8, 4, 2, "A_b", 2.0, 105),
        ),
        "c": ticks((1, 2, 2, "a", 0.5, 201), (5, 1, 1, "b", 2.0, 202), (6, 4, -3, "ab", 0.0, 203)),
        # ts, k, d, t, p, f, i, id
        "m": ticks(
            (1, 1, 19_782, NOON, Decimal("1.50"), True, 3, 301),
            (2, 2, 19_783, NOON + 3_661_000_000, Decimal("-0.25"), False, -7, 302),
            (2, 1, None, None, None, None, None, 303),
            (6, 3, 20_088, NOON - DAY, Decimal("10.00"), True, 0, 304),
            (8, 2, 19_782, NOON, Decimal("1.50"), None, 10, 305),
        ),
    },
    {
        "r": updates(
            (0, 1, (1, 5, "a")),
            (1, 1, (2, 1, "b")),
            (3, -1, (1, 5, "a")),
            (3, 1, (1, 2, "ab")),
            (4, 1, (None, 7, None)),
            (6, 1, (3, None, "a")),
        ),
        "n": always((1, 10, "a"), (2, None, "b"), (2, 20, "b"), (None, 30, None)),
        "Odd": always((1, "a", 1), (2, None, 2), (None, "b", 3), (1, "a", 1)),
    },
)

QUERIES = (
    # ---------------------------------------------------------------- operators
    "SELECT id, k + v, k - v, k * v, k / v, k DIV v, k % v, -k, -(v), +v FROM a",
    "SELECT id, v / 0, v DIV 0, v % 0, 7 / 2, 7 DIV 2, -7 DIV 2, -7 % 2, 1.5 / 0.5 FROM a",
    "SELECT id, k & 3, k | 4, k ^ 5, ~k, k & 1 | 2 FROM a",
    "SELECT id, k = v, k <> v, k != v, k < v, k <= v, k > v, k >= v, k == v FROM a",
    "SELECT id, k <=> v, k IS DISTINCT FROM v, k IS NOT DISTINCT FROM v, NOT k <=> v FROM a",
    "SELECT id, s || '-' || s, s || NULL FROM a",
    "SELECT id, k = 1 AND v = 0, k = 1 OR v = 0, NOT k = 1, NOT (k = 1 OR v = 1) FROM a",
    "SELECT id, NOT k = 1 AND v = 0 OR s = 'b' AND x > 0 FROM a",
    "SELECT id, k IS NULL, k IS NOT NULL, NOT k IS NULL FROM a",
    "SELECT id, f IS TRUE, f IS NOT TRUE, f IS FALSE, f IS NOT FALSE, (k > 1) IS TRUE FROM m",
    "SELECT id, f, NOT f, f = TRUE, f <> FALSE, f AND NULL, f OR NULL FROM m",
    "SELECT id, v IN (0, 7), v NOT IN (0, 7), v IN (0, NULL), v NOT IN (0, NULL) FROM a",
    "SELECT id, s IN ('a', 'b'), NOT s IN ('a'), k IN (v, 1) FROM a",
    "SELECT id, v BETWEEN 0 AND 2, v NOT BETWEEN 0 AND 2, NOT v BETWEEN k AND 7 FROM a",
    "SELECT id, v BETWEEN NULL AND 0, v NOT BETWEEN 2 AND NULL FROM a",
    "SELECT id, s LIKE 'a%', s NOT LIKE 'a%', s LIKE '_b', NOT s LIKE 'a' FROM a",
    r"SELECT id, s LIKE 'a\\%', s NOT LIKE 'a\\%', s LIKE '%\\_b' FROM a",
    "SELECT id, s ILIKE 'A%', s NOT ILIKE 'A%', s ILIKE '% aB%' FROM a",
    "SELECT id, s RLIKE '^a', s NOT RLIKE 'b$', s REGEXP 'b', REGEXP_LIKE(s, '[ab]+') FROM a",
    "SELECT id FROM a WHERE s NOT LIKE 'a%' AND NOT (s ILIKE 'B' OR v IS NULL)",
    "SELECT 1 FROM a",
    "SELECT id, f = (k = 1), (f AND k = 1) = TRUE, f IN (TRUE), f <=> NULL FROM m",
    "SELECT id, NULL IS NULL, NULL = NULL, NULL AND FALSE, NULL OR TRUE, NOT NULL FROM m",
    "SELECT id, CASE WHEN f THEN 1 WHEN NOT f THEN 2 ELSE 3 END, CASE f WHEN TRUE THEN 'y' "
    "END FROM m",
    "SELECT id, i + k, i * 2, i / 4, i DIV 2, i % 4, CAST(i AS BIGINT) FROM m",
    "SELECT id, p BETWEEN 0 AND 1.5, d BETWEEN '2024-02-01' AND DATE '2024-03-01', t IN "
    "(TIMESTAMP '2024-10-04 12:00:00') FROM m",
    "SELECT id FROM m WHERE f",
    "SELECT id FROM m WHERE NOT f",
    # ---------------------------------------------------------------- CASE, CAST and their kin
    "SELECT id, CASE WHEN k = 1 THEN 'one' WHEN v > 0 THEN s ELSE 'other' END FROM a",
    "SELECT id, CASE k WHEN 1 THEN v WHEN 2 THEN -v END, CASE k WHEN NULL THEN 1 ELSE 2 END FROM a",
    "SELECT id, CASE WHEN k IS NULL THEN 1 END, CASE v WHEN k THEN 'same' ELSE s END FROM a",
    "SELECT id, IF(k > 1, v, 0), IFF(k > 1, 'x', s), NVL(v, k), NVL2(v, k, 9) FROM a",
    "SELECT id, COALESCE(v, k, 0), NULLIF(k, v), IFNULL(s, 'none'), COALESCE(NULL, s) FROM a",
    "SELECT id, GREATEST(k, v), LEAST(k, v, 2), ISNULL(v), ISNOTNULL(v), ISNAN(x) FROM a",
    "SELECT id, CAST(x AS BIGINT), CAST(x AS INT), CAST(k AS DOUBLE), CAST(v AS STRING) FROM a",
    "SELECT id, CAST(s AS INT), TRY_CAST(s AS DOUBLE), TRY_CAST('12' AS BIGINT) + 1 FROM a",
    "SELECT id, CAST(v AS DECIMAL(6, 2)), CAST(x AS DECIMAL(10, 1)), v::DOUBLE, x::INT FROM a",
    "SELECT id, CAST(k AS BOOLEAN), CAST(k > 1 AS INT), CAST(v > 0 AS STRING) FROM a",
    "SELECT id, CAST(d AS TIMESTAMP), CAST(t AS DATE), CAST(d AS STRING), CAST(p AS INT) FROM m",
    "SELECT id, CAST('2024-02-29' AS DATE), CAST('nothing' AS DATE), TO_DATE('2024-01-31') FROM m",
    # ---------------------------------------------------------------- constants
    "SELECT id, 1, 1.50, 2.5e0, 'single', TRUE, FALSE, NULL, 5L FROM a",
    "SELECT id, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00' FROM a",
    "SELECT id, p + 1.25, p * 2, p - 0.5, p / 2, -p, p % 1, p > 1.4, p = 1.5 FROM m",
    # ---------------------------------------------------------------- moments and intervals
    "SELECT id, t + INTERVAL '5' MINUTE, t - INTERVAL 2 DAYS, t + INTERVAL '90 seconds' FROM m",
    "SELECT id, t + INTERVAL 1 WEEK - INTERVAL '1' HOUR, INTERVAL '1' DAY + t FROM m",
    "SELECT id, t - TIMESTAMP '2024-10-04 00:00:00' FROM m",
    "SELECT id, d + 1, d - 1, DATE_ADD(d, 3), DATE_SUB(d, 3), DATEDIFF(d, DATE '2024-03-01') "
    "FROM m",
    "SELECT id FROM m WHERE t > TIMESTAMP '2024-10-04 12:00:00' OR d < '2024-03-01'",
    "SELECT id FROM m WHERE t - INTERVAL '1' HOUR >= '2024-10-04 11:00:00'",
    "SELECT id, EXTRACT(YEAR FROM d), EXTRACT(MONTH FROM d), EXTRACT(DAY FROM d) FROM m",
    "SELECT id, EXTRACT(HOUR FROM t), EXTRACT(MINUTE FROM t), EXTRACT(SECOND FROM t) FROM m",
    "SELECT id, EXTRACT(QUARTER FROM d), EXTRACT(WEEK FROM d), EXTRACT(DAYOFYEAR FROM d) FROM m",
    "SELECT id, YEAR(d), QUARTER(d), MONTH(d), DAY(d), DAYOFMONTH(d), DAYOFYEAR(d) FROM m",
    "SELECT id, DAYOFWEEK(d), WEEKDAY(d), WEEKOFYEAR(d), HOUR(t), MINUTE(t), SECOND(t) FROM m",
    "SELECT id, DATE_TRUNC('hour', t), DATE_TRUNC('month', t), TRUNC(d, 'month') FROM m",
    "SELECT id, LAST_DAY(d), ADD_MONTHS(d, 1), TIMESTAMP_SECONDS(k), TIMESTAMP_MILLIS(k) FROM m",
    "SELECT id, DATE_FORMAT(t, 'yyyy-MM-dd HH:mm'), UNIX_SECONDS(t), UNIX_MILLIS(t) FROM m",
    "SELECT id, t - INTERVAL '-5' SECOND, t + INTERVAL -5 SECONDS, t + INTERVAL '1 day' * 2 FROM m",
    # ---------------------------------------------------------------- functions
    "SELECT id, ABS(v), CEIL(x), FLOOR(x), ROUND(x), ROUND(x, 1), SIGN(x), MOD(v, 2) FROM a",
    "SELECT id, SQRT(k), POWER(k, 2), POW(2, k), EXP(k), LN(k), LOG10(k), LOG2(k), LOG(2, k) "
    "FROM a",
    "SELECT id, PMOD(v, 3), SHIFTLEFT(k, 2), SHIFTRIGHT(v, 1), NANVL(x, 1e0) FROM a",
    "SELECT id, UPPER(s), LCASE(s), LENGTH(s), CHAR_LENGTH(s), REVERSE(s), ASCII(s) FROM a",
    "SELECT id, TRIM(s), LTRIM(s), RTRIM(s), TRIM(BOTH ' b' FROM s), TRIM(BOTH 'a' FROM s) FROM a",
    "SELECT id, TRIM(LEADING 'a' FROM s), TRIM(TRAILING 'b' FROM s), TRIM('a' FROM s) FROM a",
    "SELECT id, TRIM(LEADING 'a' FROM 'aba'), TRIM(TRAILING 'ab' FROM 'cab') FROM a",
    "SELECT id, TRIM(LEADING FROM s), TRIM(TRAILING FROM s), TRIM(BOTH FROM s) FROM a",
    "SELECT id, SUBSTRING(s, 2), SUBSTRING(s, 1, 1), SUBSTR(s, 2, 1), SUBSTRING(s FROM 2) FROM a",
    "SELECT id, SUBSTRING(s FROM 1 FOR 2), LEFT(s, 1), RIGHT(s, 1), SUBSTRING(s, -1) FROM a",
    "SELECT id, POSITION('b' IN s), POSITION('b', s), LOCATE('a', s), INSTR(s, 'b') FROM a",
    "SELECT id, REPLACE(s, 'a', 'xy'), TRANSLATE(s, 'ab', 'cd'), REPEAT(s, 2), LPAD(s, 3, "
    "'x') FROM a",
    "SELECT id, CONCAT(s, '-', s), CONCAT_WS('-', s, 'z'), STARTSWITH(s, 'a'), CONTAINS(s, "
    "'b') FROM a",
    "SELECT id, REGEXP_EXTRACT(s, '(a)(b)', 2), REGEXP_REPLACE(s, '[ab]', 'x'), ENDSWITH(s, "
    "'b') FROM a",
    # ---------------------------------------------------------------- names, aliases, stars
    "SELECT * FROM a",
    "SELECT a.* FROM a",
    "SELECT b.*, a.k FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k",
    "SELECT * FROM r, n, a [UNBOUNDED] WHERE a.k = r.k AND n.k = r.k",
    "SELECT *, k AS again, a.* FROM a WHERE k = 1",
    "SELECT K, A.V AS W, A.`k` AS `odd name` FROM A AS a",
    "SELECT t.k k1, t.v AS v1 FROM a t WHERE t.k = 1",
    "SELECT `Group`, `TWO words`, mixed FROM odd WHERE `group` = 1",
    "SELECT q.p, q.r FROM b AS q (o, p, r, s, t, u) WHERE q.t > 0",
    "SELECT k AS v, v AS k FROM a",
    "SELECT k, k, v AS k_2 FROM a",
    "SELECT k_2 FROM (SELECT k, k, v AS k_2 FROM a) AS q",
    "SELECT x1 + 1 AS x1 FROM (SELECT k AS x1 FROM a) q",
    "SELECT `b_k` FROM (SELECT a.*, b.k, a.v + 100 AS b_k FROM a [UNBOUNDED], b [UNBOUNDED]) AS q",
    # ---------------------------------------------------------------- WHERE and joins
    "SELECT id FROM a WHERE k = 1 AND (v = 0 OR s = 'a%') AND x IS NOT NULL",
    "SELECT id FROM a WHERE NULL",
    "SELECT id FROM a WHERE TRUE AND v > 0",
    "SELECT a.id, b.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k = b.k",
    "SELECT a.id, b.id FROM a [UNBOUNDED] INNER JOIN b [UNBOUNDED] ON a.k = b.k AND a.v < b.v",
    "SELECT a.id, b.id FROM a [UNBOUNDED] CROSS JOIN b [UNBOUNDED]",
    "SELECT a.id, b.id FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k + 1 = b.v AND b.s LIKE 'a%'",
    "SELECT a.id, b.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k <=> b.k",
    "SELECT a.id, b.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k < b.k OR a.s = b.s",
    "SELECT a.id, b.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.x = b.v AND a.id + 100 <> b.id",
    "SELECT x.id, y.id FROM a AS x [UNBOUNDED], a [UNBOUNDED] AS y WHERE x.k = y.k AND x.id < y.id",
    "SELECT a.id, b.id, c.id FROM a [UNBOUNDED], b [UNBOUNDED], c [UNBOUNDED] "
    "WHERE a.k = c.k AND c.v = b.v",
    "SELECT a.id, c.id FROM a [UNBOUNDED], b [UNBOUNDED] JOIN c [UNBOUNDED] ON b.k = c.k "
    "WHERE a.v = b.v AND a.k + b.k = c.k + 1",
    "SELECT a.id, r.w, n.w FROM n, a [UNBOUNDED] JOIN r ON a.k = r.k WHERE n.s = a.s",
    "SELECT r.k, r.w FROM r WHERE r.s = 'a' OR r.k IS NULL",
    "SELECT r.k, o.mixed FROM r JOIN odd AS o ON r.k = o.`group`",
    "SELECT a.id FROM a [UNBOUNDED], b [UNBOUNDED] WHERE 1 = 1 AND a.k = 1 AND b.k = 2 AND 2 > 1",
    "SELECT a.id, b.id FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k AND a.k = a.v AND b.k = 1",
    "SELECT a.id, m.id FROM a [UNBOUNDED] JOIN m [UNBOUNDED] ON a.k = m.i OR m.f",
    "SELECT a.id, m.id FROM a [UNBOUNDED] JOIN m [UNBOUNDED] ON a.v = m.p",
    # ---------------------------------------------------------------- GROUP BY and aggregates
    "SELECT COUNT(*), COUNT(v), COUNT(DISTINCT v), SUM(v), SUM(DISTINCT v), AVG(v) FROM a",
    "SELECT COUNT(*), COUNT(v), SUM(v), MIN(s), MAX(x), AVG(v), BOOL_OR(v > 0) FROM a WHERE FALSE",
    "SELECT COUNT(k, v), COUNT(DISTINCT k, v), COUNT(a.*), COUNT(1) FROM a",
    "SELECT k, MIN(v), MAX(v), MIN(s), MAX(x), AVG(DISTINCT v), SUM(x) FROM a GROUP BY k",
    "SELECT k, BOOL_AND(v > 0), BOOL_OR(v > 0), EVERY(v < 9), MEAN(v) FROM a GROUP BY k",
    "SELECT k, VAR_SAMP(v), VAR_POP(v), STDDEV_SAMP(v), STDDEV_POP(v), VARIANCE(v), STD(v) "
    "FROM a GROUP BY k",
    "SELECT k, MEDIAN(v), QUANTILE(v, 0.25), QUANTILE(x, 0.9), MEDIAN(DISTINCT v), "
    "QUANTILE(DISTINCT v, 0.25) FROM a GROUP BY k",
    "SELECT k, COUNT(*) FILTER (WHERE v > 0), SUM(v) FILTER (WHERE s NOT LIKE 'a%'), "
    "COUNT(DISTINCT v) FILTER (WHERE v IS NOT NULL AND v < 7) FROM a GROUP BY k",
    "SELECT SUM(v) FILTER (WHERE k = 1) - SUM(v) FILTER (WHERE k = 2), SUM(v) FROM a",
    "SELECT SUM(p), AVG(p), MAX(d), MIN(t), SUM(i), COUNT(DISTINCT d) FROM m",
    "SELECT v % 2, COUNT(*) FROM a GROUP BY v % 2",
    "SELECT v % 2 + 1, s IS NULL, COUNT(*) + 1 FROM a GROUP BY v % 2, s IS NULL",
    "SELECT k AS g, COUNT(*) FROM a GROUP BY g",
    "SELECT UPPER(s) AS g, COUNT(*) AS n FROM a GROUP BY 1",
    "SELECT k, s, COUNT(*) FROM a GROUP BY 2, 1",
    "SELECT COUNT(*) FROM a GROUP BY k, s",
    "SELECT k FROM a GROUP BY k",
    "SELECT k AS v, SUM(v) AS k FROM a GROUP BY k",
    "SELECT v AS k, COUNT(*) FROM a GROUP BY v, k",
    "SELECT k + 1, k + v, COUNT(*) FROM a GROUP BY k, v",
    "SELECT CASE WHEN k = 1 THEN 'x' ELSE s END AS g, MAX(v) FROM a GROUP BY CASE WHEN k = 1 "
    "THEN 'x' ELSE s END",
    "SELECT CASE WHEN k = 1 THEN SUM(v) ELSE COUNT(*) END FROM a GROUP BY k",
    "SELECT 'all', COUNT(*) FROM a GROUP BY 'all'",
    "SELECT k, COUNT(*) FROM a GROUP BY k HAVING COUNT(*) > 1 AND k IS NOT NULL",
    "SELECT k FROM a GROUP BY k HAVING NOT MAX(v) > 1",
    "SELECT COUNT(*) FROM a HAVING COUNT(*) > 100",
    "SELECT 1 FROM a HAVING SUM(v) > 1",
    "SELECT k FROM a GROUP BY k HAVING k > 1 OR SUM(v) IS NULL",
    "SELECT a.k, COUNT(*), SUM(b.v) FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k = b.k GROUP "
    "BY a.k",
    "SELECT r.s, COUNT(*) FROM a [UNBOUNDED], r WHERE a.k = r.k GROUP BY R.S",
    "SELECT COUNT(*) FILTER (WHERE s = 'AB'), COUNT(*) FILTER (WHERE s = 'ab') FROM a",
    "SELECT s = 'AB', s = 'ab', COUNT(*) FROM a GROUP BY s = 'AB', s = 'ab'",
    "SELECT k, TOPK(v, 2), TOPK(s, 1) FILTER (WHERE s NOT LIKE 'a%') FROM a GROUP BY k",
    "SELECT id, CAST(CAST(v / 2 AS BIGINT) / 0 AS STRING) LIKE '1%', -(v / 4) / (k / 2) FROM a",
    "SELECT sum(v), SUM(V), Sum(a.v) + SUM(v) FROM a",
    "SELECT k, k + 1 AS k1, COUNT(*) FROM a GROUP BY k HAVING k + 1 > 2",
    "SELECT COUNT(*), k FROM a GROUP BY k, k",
    "SELECT SUM(v + 1) * 2 + k FROM a GROUP BY k",
    "SELECT MAX(k) + MIN(v) FROM a HAVING MIN(v) < 0",
    "SELECT d, COUNT(*) FROM m GROUP BY d HAVING MAX(t) IS NOT NULL",
    "SELECT MIN(d), MAX(t) - MIN(t), COUNT(DISTINCT t) FROM m",
    # ---------------------------------------------------------------- DISTINCT, ORDER BY, LIMIT
    "SELECT DISTINCT k FROM a",
    "SELECT DISTINCT k, v > 0 FROM a",
    "SELECT DISTINCT COUNT(*) FROM a GROUP BY k",
    "SELECT id, v FROM a ORDER BY v, id",
    "SELECT id, v FROM a ORDER BY v DESC, id",
    "SELECT id, v FROM a ORDER BY v NULLS LAST, id DESC",
    "SELECT id, v FROM a ORDER BY v DESC NULLS FIRST, 1",
    "SELECT id, v FROM a ORDER BY 2 ASC NULLS FIRST, id",
    "SELECT id, v FROM a ORDER BY v, id LIMIT 3",
    "SELECT id, v FROM a ORDER BY v DESC, id LIMIT 3 OFFSET 2",
    "SELECT id, v FROM a ORDER BY v NULLS LAST LIMIT 4",
    "SELECT id, v FROM a ORDER BY v DESC NULLS FIRST, id OFFSET 3",
    "SELECT v, k FROM a LIMIT 3",
    "SELECT v, k FROM a OFFSET 5",
    "SELECT v FROM a LIMIT 0",
    "SELECT v FROM a ORDER BY x * -1, id LIMIT 4",
    "SELECT a.v FROM r, a [UNBOUNDED] WHERE a.k = r.k ORDER BY r.s DESC LIMIT 2",
    "SELECT * FROM a ORDER BY k DESC, v LIMIT 3",
    "SELECT k AS v, v AS k FROM a ORDER BY v, k LIMIT 3",
    "SELECT k AS z, id FROM a ORDER BY k + 1, id LIMIT 3",
    "SELECT DISTINCT v FROM a ORDER BY v DESC LIMIT 2 OFFSET 1",
    "SELECT k, COUNT(*) AS n FROM a GROUP BY k ORDER BY n DESC, k LIMIT 2",
    "SELECT k, SUM(v) FROM a GROUP BY k ORDER BY SUM(v) LIMIT 2",
    "SELECT k FROM a GROUP BY k ORDER BY COUNT(*) DESC, k NULLS LAST LIMIT 2",
    "SELECT k, COUNT(*) AS sum FROM a GROUP BY k ORDER BY SUM(v) DESC LIMIT 2",
    "SELECT k, COUNT(*) FROM a GROUP BY k ORDER BY 2 DESC, 1",
    "SELECT k, COUNT(*) FROM a GROUP BY k ORDER BY k + COUNT(*), k LIMIT 2",
    "SELECT k + 1 FROM a ORDER BY k + 1 LIMIT 2",
    "SELECT k, v FROM a ORDER BY k DESC NULLS FIRST, v DESC NULLS LAST LIMIT 5 OFFSET 1",
    "SELECT -k AS k FROM a ORDER BY k LIMIT 2",
    "SELECT k AS v FROM a ORDER BY a.v, id LIMIT 3",
    "SELECT a.k AS x, b.k AS y FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k ORDER BY a.k "
    "DESC, y LIMIT 3",
    "SELECT DISTINCT a.k FROM a ORDER BY a.k LIMIT 2",
    "SELECT k FROM a GROUP BY k ORDER BY MAX(v) DESC NULLS FIRST LIMIT 2",
    # ---------------------------------------------------------------- sub-queries in FROM, WITH
    "SELECT q.n FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) AS q WHERE q.n > 1",
    "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM a GROUP BY k)",
    "SELECT a.id, a.k FROM a [UNBOUNDED], (SELECT k FROM b [UNBOUNDED] WHERE v > 1) AS a2 "
    "WHERE a.k = a2.k",
    "SELECT q.c, q.d FROM (SELECT k, v FROM a) AS q (c, d) WHERE q.c = 1",
    "SELECT a.id FROM (SELECT a.id, a.k FROM a WHERE a.v > 0) AS a WHERE a.k = 1",
    "SELECT q.id FROM (SELECT * FROM (SELECT id, k FROM a WHERE k > 1) AS q WHERE q.id > 2) AS q",
    "SELECT q.k, b.id FROM (SELECT DISTINCT k FROM a) AS q JOIN b [UNBOUNDED] ON q.k = b.k",
    "SELECT q.k FROM (SELECT k, v FROM a ORDER BY v DESC NULLS LAST, k LIMIT 3) AS q WHERE q.v < 7",
    "SELECT q.k FROM (SELECT k FROM a UNION ALL SELECT k FROM b) AS q WHERE q.k = 1",
    "SELECT q.k, q.v FROM (RSTREAM(SELECT k, v FROM a)) AS q",
    "RSTREAM(SELECT k, COUNT(*) FROM a GROUP BY k)",
    "WITH w AS (SELECT k, v FROM a WHERE v > 0) SELECT k FROM w WHERE k = 1",
    "WITH w (c, d) AS (SELECT k, v FROM a) SELECT d FROM w WHERE c = 1",
    "WITH w AS (SELECT k FROM a [UNBOUNDED]), z AS (SELECT k + 1 AS k FROM w) "
    "SELECT w.k, z.k FROM w, z WHERE w.k = z.k",
    "WITH w AS (SELECT k, id FROM a [UNBOUNDED]) "
    "SELECT w.id, y.id FROM w JOIN w AS y ON w.k = y.k AND w.id < y.id",
    "WITH a AS (SELECT k + 10 AS k FROM a) SELECT k FROM a",
    "WITH w AS (SELECT k FROM a), w2 AS (WITH w AS (SELECT k FROM b) SELECT k FROM w) "
    "SELECT k FROM w2 UNION ALL SELECT k FROM w WHERE k = 3",
    "SELECT k FROM (WITH w AS (SELECT k FROM a) SELECT k FROM w WHERE k > 1) AS q",
    "WITH w AS (SELECT k FROM a UNION SELECT k FROM b) SELECT COUNT(*) FROM w",
    "WITH w AS (SELECT k, v FROM a) SELECT q.c FROM w AS q (c, d) WHERE q.d = 1",
    "WITH w (c, d) AS (SELECT k, v FROM a) SELECT q.e FROM w AS q (e, f) WHERE q.f = 1",
    "SELECT q.k FROM (SELECT k FROM a) AS q, (SELECT k FROM b [UNBOUNDED]) AS p WHERE q.k = p.k",
    "SELECT * FROM (SELECT k, v FROM a) AS q (c, d)",
    "SELECT q.* FROM (SELECT a.k, b.k FROM a [UNBOUNDED], b [UNBOUNDED] WHERE a.k = b.k) AS q",
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM a GROUP BY k) AS q JOIN r ON q.k = r.k",
    "SELECT COUNT(*) FROM (SELECT 1 AS one FROM a) AS q",
    "SELECT x FROM (SELECT MAX(k) AS x FROM a) AS q WHERE x > 2",
    # ---------------------------------------------------------------- EXISTS and IN
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT * FROM b [UNBOUNDED] WHERE b.k = a.k)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE b.k = a.k)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE v = 7)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE v > 7)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT NOT EXISTS (SELECT 1 FROM r WHERE r.k = a.k)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT (EXISTS (SELECT 1 FROM r WHERE r.k = a.k AND r.w "
    "> a.v))",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE b.k < a.k "
    "AND a.v = 2)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM a [UNBOUNDED] WHERE a.k = a.v)",
    "SELECT o.id FROM a AS o [UNBOUNDED] WHERE EXISTS "
    "(SELECT 1 FROM a AS i [UNBOUNDED] WHERE i.k = o.k AND i.id <> o.id)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT id FROM b [UNBOUNDED] WHERE id = 100 + "
    "a.id)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED], c [UNBOUNDED] "
    "WHERE b.k = c.k AND b.v = a.v)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE b.k = a.k AND "
    "NOT EXISTS (SELECT 1 FROM c [UNBOUNDED] WHERE c.k = b.k AND c.v = b.v))",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT k FROM b [UNBOUNDED] GROUP BY k HAVING "
    "COUNT(*) > 1)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT COUNT(*) FROM b [UNBOUNDED] WHERE FALSE)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED] LIMIT 0)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT EXISTS (SELECT 1 FROM b [UNBOUNDED] LIMIT 1 OFFSET 9)",
    "SELECT id FROM a [UNBOUNDED] WHERE k IN (SELECT k FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE k NOT IN (SELECT k FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE k NOT IN (SELECT k FROM b [UNBOUNDED] WHERE k IS NOT NULL)",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT k IN (SELECT k FROM c [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE NOT (k NOT IN (SELECT k FROM c [UNBOUNDED]))",
    "SELECT id FROM a [UNBOUNDED] WHERE k NOT IN (SELECT k FROM b [UNBOUNDED] WHERE FALSE)",
    "SELECT id FROM a [UNBOUNDED] WHERE k + 1 IN (SELECT v * 2 FROM b [UNBOUNDED] WHERE s = a.s)",
    "SELECT id FROM a [UNBOUNDED] WHERE x IN (SELECT v FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT v FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT id FROM b [UNBOUNDED] WHERE b.k = a.k)",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN "
    "(SELECT id FROM b [UNBOUNDED] UNION ALL SELECT v FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE id IN (SELECT COUNT(*) FROM b [UNBOUNDED] GROUP BY k)",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT MAX(v) FROM b [UNBOUNDED] WHERE FALSE)",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT MAX(id) FROM b [UNBOUNDED] WHERE FALSE)",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT id DIV 0 FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE id NOT IN (SELECT CAST('x' AS INT) FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE v IN (SELECT DISTINCT v FROM b [UNBOUNDED] ORDER BY v "
    "LIMIT 2)",
    "SELECT id FROM a [UNBOUNDED] WHERE k IN (SELECT k FROM r) AND v IN (SELECT w FROM r "
    "WHERE r.k = a.k)",
    "SELECT id FROM a [UNBOUNDED] WHERE k IN (SELECT k FROM b [UNBOUNDED] INTERSECT SELECT k "
    "FROM c [UNBOUNDED])",
    "SELECT k, COUNT(*) FROM a [UNBOUNDED] WHERE k IN (SELECT k FROM b [UNBOUNDED]) GROUP BY k",
    "SELECT a.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k = b.k AND a.v IN (SELECT v FROM "
    "c [UNBOUNDED])",
    "SELECT a.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] ON a.k = b.k AND NOT EXISTS (SELECT v "
    "FROM c [UNBOUNDED] WHERE c.v = b.v)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT DISTINCT v FROM b [UNBOUNDED] WHERE "
    "b.k = a.k ORDER BY v)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT k FROM b [UNBOUNDED] UNION SELECT v "
    "FROM c [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (WITH w AS (SELECT k FROM b [UNBOUNDED] WHERE "
    "k = 4) SELECT * FROM w)",
    "SELECT id FROM a [UNBOUNDED] WHERE k IN (WITH w AS (SELECT k FROM b [UNBOUNDED]) SELECT "
    "k FROM w)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (RSTREAM(SELECT k FROM b [UNBOUNDED] WHERE b.k "
    "= a.k))",
    "SELECT a.id FROM a [UNBOUNDED] WHERE (a.k = 1 AND (a.v = 0 AND EXISTS (SELECT 1 FROM b "
    "[UNBOUNDED] WHERE b.k = a.k)))",
    "SELECT id FROM a [UNBOUNDED] WHERE x NOT IN (SELECT k FROM c [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE (k IN (SELECT k FROM b [UNBOUNDED])) AND NOT (v IN "
    "(SELECT v FROM b [UNBOUNDED] WHERE v IS NOT NULL))",
    # ---------------------------------------------------------------- set operations
    "SELECT k FROM a UNION ALL SELECT k FROM b",
    "SELECT k FROM a UNION SELECT k FROM b",
    "SELECT k FROM a UNION DISTINCT SELECT k FROM b",
    "SELECT k FROM a INTERSECT SELECT k FROM b",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM b",
    "SELECT k FROM a EXCEPT SELECT k FROM b",
    "SELECT k FROM a EXCEPT ALL SELECT k FROM b",
    "SELECT k, s FROM a UNION SELECT v, s FROM b",
    "SELECT k FROM a UNION ALL SELECT x FROM b",
    "SELECT k AS n FROM a UNION ALL SELECT v FROM b ORDER BY n DESC NULLS LAST LIMIT 4",
    "SELECT k FROM a UNION SELECT k FROM b ORDER BY 1 LIMIT 2 OFFSET 1",
    "SELECT k FROM a UNION SELECT k FROM b ORDER BY k DESC",
    "(SELECT k FROM a ORDER BY k DESC LIMIT 2) UNION ALL (SELECT k FROM b ORDER BY k LIMIT 2)",
    "(SELECT k, v FROM a ORDER BY k DESC NULLS FIRST LIMIT 5) ORDER BY v LIMIT 2",
    "SELECT COUNT(*) FROM a UNION ALL SELECT SUM(v) FROM b",
    "SELECT NULL FROM a UNION ALL SELECT k FROM b",
    "SELECT v FROM a EXCEPT SELECT k FROM b ORDER BY v DESC LIMIT 2 OFFSET 1",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM b ORDER BY 1 DESC LIMIT 2 OFFSET 1",
    "WITH w AS (SELECT v FROM a) SELECT v FROM w EXCEPT SELECT k FROM b",
    "WITH w AS (SELECT k FROM a) SELECT k FROM w INTERSECT SELECT k FROM b",
    "WITH w AS (SELECT k FROM a) (SELECT k FROM w)",
    "(SELECT k FROM a) ORDER BY k DESC OFFSET 3",
    "WITH w AS (SELECT k FROM a) (SELECT k FROM w) UNION ALL SELECT k FROM w",
    "(WITH w AS (SELECT k FROM a) SELECT k FROM w) UNION ALL SELECT k FROM b",
    "SELECT k FROM a UNION ALL SELECT i FROM m",
    "SELECT p FROM m UNION SELECT v FROM a",
    "SELECT d FROM m UNION ALL SELECT t FROM m",
    "SELECT k, NULL AS z FROM a UNION SELECT NULL, s FROM b",
    "SELECT k FROM a EXCEPT SELECT x FROM b",
    "SELECT v FROM a INTERSECT SELECT x FROM b",
    "SELECT a.id FROM a [UNBOUNDED] NATURAL JOIN b [UNBOUNDED]",
    "SELECT a.id FROM a [UNBOUNDED] LEFT JOIN b [UNBOUNDED] ON a.k = b.k",
    "SELECT a.id FROM a [UNBOUNDED] JOIN b [UNBOUNDED] USING (k)",
    "SELECT k FROM a [UNBOUNDED] WHERE k = (SELECT MAX(k) FROM b [UNBOUNDED])",
    "SELECT a.id, b.v FROM a [UNBOUNDED] RIGHT JOIN b [UNBOUNDED] ON a.k = b.k AND a.v < b.v",
    "SELECT k, a.id, b.v FROM a [UNBOUNDED] FULL JOIN b [UNBOUNDED] USING (k)",
)

PORTABLE = (
    "SELECT id FROM a [UNBOUNDED] WHERE k > ANY (SELECT v FROM b [UNBOUNDED])",
    "SELECT id FROM a [UNBOUNDED] WHERE k >= ALL (SELECT v FROM b [UNBOUNDED] WHERE v < 5)",
    # ---------------------------------------------------------------- grouping sets
    "SELECT k, v, SUM(x), GROUPING(k) FROM a GROUP BY ROLLUP (k, v)",
    "SELECT k, v % 2, COUNT(*), GROUPING(v % 2, k) FROM a GROUP BY CUBE (k, v % 2)",
    "SELECT k, s, MAX(v) FROM a GROUP BY GROUPING SETS ((k, s), k, ()) HAVING COUNT(*) > 1",
    "SELECT k, s, COUNT(*) FROM a GROUP BY k, GROUPING SETS (ROLLUP (s), (v))",
    "SELECT s, k AS key, COUNT(*) AS n, v IS NULL FROM a GROUP BY ALL",
    # ---------------------------------------------------------------- rows in an order
    "SELECT k, last(v ORDER BY id), string_agg(s, '-' ORDER BY id DESC) FROM a GROUP BY k",
    "SELECT k, percentile_cont(0.25) WITHIN GROUP (ORDER BY v DESC) FROM a GROUP BY k",
    "SELECT k, arg_max(id, x), bit_xor(v) FROM a WHERE id < 7 GROUP BY k",
    # ---------------------------------------------------------------- what binds tighter
    "SELECT k FROM a UNION ALL SELECT k FROM b INTERSECT SELECT k FROM c",
    "SELECT k FROM a UNION ALL SELECT k FROM b EXCEPT SELECT k FROM c",
    "SELECT k FROM a EXCEPT SELECT k FROM b UNION ALL SELECT k FROM c",
    "SELECT k FROM a EXCEPT (SELECT k FROM b UNION ALL SELECT k FROM c)",
    "SELECT k FROM a EXCEPT SELECT k FROM b EXCEPT SELECT k FROM c",
    "SELECT k FROM a EXCEPT (SELECT k FROM b EXCEPT SELECT k FROM c)",
    "SELECT k FROM a UNION SELECT k FROM b UNION ALL SELECT k FROM c",
    "SELECT k FROM a UNION ALL SELECT k FROM b UNION SELECT k FROM c",
    "SELECT k FROM a INTERSECT SELECT k FROM b UNION ALL SELECT k FROM c INTERSECT SELECT v FROM a",
    "(SELECT k FROM a UNION ALL SELECT k FROM b) INTERSECT ALL SELECT k FROM c",
    "((SELECT k FROM a)) UNION ALL ((SELECT k FROM b) EXCEPT ALL SELECT k FROM c)",
    "SELECT id, k = 1 OR k = 2 AND v = 1, NOT k = 1 AND v = 0, NOT k = 1 OR v = 0 FROM a",
    "SELECT id, v + 1 * 2 - 3 * k + 4, -v * 2 + k, - v - k, v - k - 1, v - (k - 1) FROM a",
    "SELECT id, v + 1 BETWEEN k AND k * 2 AND k = 1, v NOT BETWEEN 0 AND 1 OR k = 2 FROM a",
    "SELECT id, NOT v IS NULL AND k = 1, v + k IS NULL, NOT v IN (1, 2) AND k > 0 FROM a",
    "SELECT id, v = 1 IS NULL, NOT v = 1 IS NOT NULL FROM a",
    "SELECT id, s || 'a' = 'aa', s || 'b' LIKE '%b', s || 'x' IN ('ax', 'bx') FROM a",
    "SELECT id, 10 - 4 - 3, 2 * 3 % 4, 7 % 4 * 2, -2 - -3, 'it''s' FROM a",
    "SELECT id, CASE WHEN k = 1 THEN v + 1 ELSE v END + 1, CASE k WHEN 1 THEN 2 END * 2 FROM a",
    # ---------------------------------------------------------------- whose name a name is
    "SELECT k FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM b [UNBOUNDED] WHERE k = v)",
    "SELECT id FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM r WHERE w = v AND s = 'a')",
    "SELECT a.id FROM a [UNBOUNDED], b AS x [UNBOUNDED] WHERE x.x = a.x AND x.k = 1",
    "SELECT k FROM (SELECT v AS k, k AS v FROM a) AS a WHERE v = 1",
    "SELECT a.k FROM b AS a [UNBOUNDED], a AS b [UNBOUNDED] WHERE a.k = b.v",
    "SELECT a_2.k, a.v FROM a [UNBOUNDED], b AS a_2 [UNBOUNDED], "
    "(SELECT k FROM a [UNBOUNDED]) AS q WHERE a.k = a_2.k AND q.k = a.v",
    "WITH b AS (SELECT k, v FROM a), c AS (SELECT k FROM b) SELECT k FROM c",
    "SELECT COUNT(*) AS k FROM a GROUP BY k",
    "SELECT v AS s, COUNT(*) AS k FROM a GROUP BY v ORDER BY k DESC, s NULLS FIRST LIMIT 2",
    "SELECT k AS v, v AS k FROM a ORDER BY v NULLS FIRST, k NULLS FIRST LIMIT 3",
    "SELECT a.k, b.k FROM a [UNBOUNDED], b [UNBOUNDED] ORDER BY b.k NULLS FIRST, a.k NULLS "
    "FIRST LIMIT 3",
    "SELECT Count(*), cOUNT(V), count(distinct v) FROM A As T wHERE t.K = 1",
    "SELECT k FROM a [UNBOUNDED] WHERE EXISTS (SELECT 1 FROM (SELECT v AS k FROM b "
    "[UNBOUNDED]) AS a WHERE a.k = 7)",
    "SELECT k + 1 AS k FROM a ORDER BY k NULLS FIRST LIMIT 3",
    "SELECT -v AS v FROM a ORDER BY v NULLS FIRST, 1 LIMIT 3",
    "SELECT k AS v, id FROM a ORDER BY a.v NULLS FIRST, id LIMIT 3",
    "SELECT -v AS v, id FROM a ORDER BY v + 0 NULLS FIRST, id LIMIT 3",
    "SELECT -v AS v, SUM(id) AS id FROM a GROUP BY v ORDER BY v NULLS FIRST LIMIT 3",
    "SELECT s AS k, COUNT(*) FROM a GROUP BY k, s",
    "SELECT a.k FROM a [UNBOUNDED] WHERE a.k NOT IN (SELECT a.v FROM b AS a [UNBOUNDED] WHERE "
    "a.v IS NOT NULL)",
    "SELECT id, NOT NOT k = 1, NOT (NOT k = 1), - - v FROM a",
    "SELECT id, v IS NULL = FALSE, s LIKE 'a%' AND NOT s LIKE '%b' OR k IS NULL FROM a",
    "SELECT k FROM a UNION ALL SELECT k FROM b ORDER BY k NULLS FIRST LIMIT 3",
    "SELECT k FROM a INTERSECT ALL SELECT k FROM b INTERSECT SELECT k FROM c",
    "SELECT k FROM a UNION ALL (SELECT k FROM b UNION SELECT k FROM b)",
    "SELECT k FROM a EXCEPT ALL SELECT k FROM b UNION SELECT v FROM c EXCEPT SELECT k FROM c",
)
"""Queries that DuckDB reads as they are, but for their windows."""

WINDOWED = (
    "SELECT FIRST(v IGNORE NULLS), LAST(v) IGNORE NULLS FROM a [NOW]",
    "SELECT FIRST(v RESPECT NULLS ORDER BY s) FROM a [NOW]",
    "SELECT k FROM a [RANGE 5 SLIDE 2]",
    "SELECT k FROM a [RANGE 5 INTERNAL]",
    "SELECT k FROM a [PARTITION BY k, v ROWS 3]",
    "SELECT k FROM a [NOW]",
    "ISTREAM(SELECT k FROM a [RANGE 5 SLIDE 2]) RESTORE",
    "WSTREAM(SELECT k FROM a [RANGE 5])[ROWS 3]",
    "SELECT SUM(WSTREAM(SUM(v))[ROWS 3]) FROM a [TUMBLE 5]",
    "SELECT q.k FROM (SELECT k FROM a [RANGE 5]) AS q [ROWS 3]",
    "SELECT a.k FROM a, b WHERE a.k = b.k AND WINDOW(a, b) = 3",
    "SELECT a.k FROM a, b WHERE a.k = b.k AND DWINDOW(a, b) = 3",
    "SELECT a.k FROM a, b WHERE a.k = b.k AND WINDOW = 3",
    "SELECT k FROM at_midnight [RANGE 5 MINUTES]",
)
"""Queries that bind and are no plain SQL: for what only they can say."""

REFUSED = (
    "SELECT k FROM db.a",
    "SELECT k FROM catalog.db.a",
    "SELECT db.a.k FROM a",
    "SELECT catalog.db.a.k FROM a",
    "SELECT k.field FROM a",
    "SELECT (k).field FROM a",
    "SELECT k[0] FROM a",
    "SELECT (k, v) FROM a",
    "SELECT id FROM a WHERE s LIKE 'a!%' ESCAPE '!'",
    "SELECT a.id FROM a [UNBOUNDED] LEFT SEMI JOIN b [UNBOUNDED] ON a.k = b.k",
    "SELECT SUM(v) OVER (PARTITION BY k ORDER BY id) FROM a",
    "SELECT SUM(v) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING) FROM a",
    "SELECT CAST(k AS MAP<STRING, INT>) FROM a",
    "SELECT CAST(k AS STRUCT<x: INT>) FROM a",
    "SELECT EXTRACT(UPPER FROM s) FROM a",
    "SELECT EXTRACT(FORTNIGHT FROM d) FROM m",
    "SELECT SUM(*) FROM a",
    "SELECT COUNT(DISTINCT *) FROM a",
    "SELECT UPPER(s) FILTER (WHERE k = 1) FROM a",
    "SELECT k IS 1 FROM a",
    "SELECT t + INTERVAL '1' MONTH FROM m",
    "SELECT k FROM a [UNBOUNDED] WHERE k = 1 OR k IN (SELECT k FROM b [UNBOUNDED])",
    "SELECT k FROM a [UNBOUNDED] WHERE k NOT IN (SELECT k FROM b [UNBOUNDED] WHERE b.v = a.v)",
    "SELECT k FROM a LIMIT 1 + 1",
    "SELECT k, COUNT(*) AS n FROM a GROUP BY k HAVING n > 1",
    "SELECT k FROM a ORDER BY v",
    "SELECT DISTINCT k FROM a ORDER BY v LIMIT 1",
    "SELECT k, v FROM a GROUP BY k",
)
"""Queries that are read and not bound."""
