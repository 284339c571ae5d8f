"""Statements as people write them over tables like TPC-H's, which all must give DuckDB's answers.

`ROWS` and `FIGURES` are compared as sets, `ORDERED` row by row.
"""

# ruff: noqa: E501 - a statement is on one line

import itertools
from typing import Final

LO = 'FROM lines l JOIN orders o ON l."order" = o.id'
LOC = f"{LO} JOIN customers c ON o.customer = c.id"
OC = "FROM orders o LEFT JOIN customers c ON o.customer = c.id"

CONDITIONS: Final = """
price > 5000
price BETWEEN 100 AND 200.50
price NOT BETWEEN 100 AND 9900
price * (1 - discount) > 9000
discount < 0.05
flag = 'A'
flag <> 'A'
flag != 'N' AND price < 300
flag IN ('A', 'R')
flag NOT IN ('A', 'R')
flag IS NULL
flag IS NOT NULL AND discount >= .99
flag LIKE 'A%' OR flag LIKE '%R'
flag ILIKE 'n'
flag NOT LIKE 'A'
flag IS DISTINCT FROM 'A' AND price < 200
COALESCE(flag, '?') = '?'
NOT (flag = 'A' OR price > 100)
"order" IS NULL
"order" = 17 OR supplier = 3
id % 500 = 0
id // 100 = 7
MOD(id, 300) = 1
ABS(price - 5000) < 20
ROUND(price) = 5000 OR ROUND(discount, 2) = 0.5
FLOOR(price / 1000) = 3 AND flag = 'R'
CEIL(discount * 10) = 1 AND flag = 'N'
SQRT(price) > 99
price > 9000 AND (flag = 'A' OR discount > 0.9)
CASE WHEN flag = 'A' THEN price ELSE 0 END > 9500
CAST(price AS INTEGER) = 5000 OR price::INT = 42
GREATEST(price, 9990) > 9990
IF(flag = 'A', price, 0) > 9900
NULLIF(flag, 'A') IS NULL
LENGTH(flag) = 1 AND LOWER(flag) = 'a' AND id < 300
CONCAT(flag, '-', supplier) = 'A-3'
flag || supplier = 'R7'
TRUE AND id < 5
id IN (1, 2, 3, 5, 8, 13)
""".strip().splitlines()

DAYS: Final = """
day
day + 1
day + INTERVAL 3 MONTH
day - INTERVAL '1' YEAR
day + INTERVAL 36 HOUR
day - DATE '1995-01-01'
YEAR(day)
MONTH(day)
DAY(day)
EXTRACT(year FROM day)
EXTRACT(quarter FROM day)
EXTRACT(dow FROM day)
EXTRACT(week FROM day)
date_part('month', day)
date_part('doy', day)
date_trunc('month', day)
date_trunc('week', day)
date_trunc('quarter', day)
DATE_TRUNC('year', day)
date_diff('day', DATE '1995-01-01', day)
datediff('month', DATE '1994-12-31', day)
strftime(day, '%Y-%m')
strftime(day, '%d.%m.%Y')
monthname(day)
dayname(day)
day::TIMESTAMP
CAST(day AS VARCHAR)
day >= DATE '1996-01-01'
day BETWEEN '1995-02-01' AND '1995-03-01'
CASE WHEN day < DATE '1995-07-01' THEN 'H1' ELSE 'H2' END
""".strip().splitlines()

TEXTS: Final = """
UPPER(name)
LOWER(name)
LENGTH(name)
SUBSTRING(name, 1, 4)
SUBSTR(name, 10)
LEFT(name, 3)
RIGHT(name, 2)
REPLACE(name, 'customer', 'c')
split_part(name, ' ', 2)
CAST(split_part(name, ' ', 2) AS INTEGER) * 2
TRIM(name)
LTRIM(name, 'cu')
name || '/' || nation
CONCAT(name, NULL, nation)
lpad(split_part(name, ' ', 2), 4, '0')
rpad(name, 15, '.')
REVERSE(name)
starts_with(name, 'cust')
ends_with(name, '1')
contains(name, 'mer 1')
regexp_matches(name, '1[0-3]$')
name LIKE '%r 1_'
name ILIKE 'CUSTOMER 3'
COALESCE(NULLIF(name, 'customer 0'), 'none')
CASE name WHEN 'customer 1' THEN 1 WHEN 'customer 2' THEN 2 END
""".strip().splitlines()

AGGREGATES: Final = """
COUNT(*)
COUNT(flag)
COUNT(DISTINCT flag)
COUNT(DISTINCT supplier)
SUM(price)
SUM(price * (1 - discount))
SUM(DISTINCT supplier)
AVG(price)
AVG(DISTINCT supplier)
MIN(price)
MAX(price)
MIN(flag)
MAX(discount)
STDDEV(price)
VARIANCE(discount)
STDDEV_SAMP(discount)
SUM(CASE WHEN flag = 'A' THEN 1 ELSE 0 END)
COUNT(*) FILTER (WHERE flag = 'A')
COUNT_IF(price > 5000)
SUM(price) FILTER (WHERE discount > 0.5)
100.0 * SUM(CASE WHEN flag = 'A' THEN price ELSE 0 END) / SUM(price)
SUM(price) / COUNT(*)
ROUND(SUM(price), 1)
ROUND(AVG(discount), 3)
COALESCE(SUM(price) FILTER (WHERE price < 0), 0)
CAST(SUM(price) AS DOUBLE)
CAST(COUNT(*) AS VARCHAR)
MAX(price) - MIN(price)
MAX(id) - MIN(id) + 1
BOOL_AND(price > 0)
BOOL_OR(discount > 0.999)
CASE WHEN COUNT(*) > 1000 THEN 'many' ELSE 'few' END
SUM(price) > 1000
-SUM(price)
ABS(SUM(-price))
COUNT(DISTINCT CASE WHEN price > 100 THEN flag END)
""".strip().splitlines()

ROWS: Final = [
    *(f"SELECT id, price FROM lines WHERE {one}" for one in CONDITIONS),
    *(f"SELECT id, {one} AS v FROM orders" for one in DAYS),
    *(f"SELECT id, {one} AS v FROM customers" for one in TEXTS),
    "SELECT * FROM regions",
    "FROM regions",
    "FROM nations SELECT name WHERE region = 1",
    "SELECT n.* FROM nations n WHERE n.region = 2",
    "SELECT N.NAME, r.Name AS region FROM Nations AS N JOIN Regions AS r ON n.region = R.region",
    "SELECT DISTINCT flag FROM lines",
    "SELECT DISTINCT status, customer IS NULL AS unknown FROM orders",
    "SELECT DISTINCT n.region FROM customers c JOIN nations n USING (nation)",
    f"SELECT DISTINCT c.name, flag {LOC} WHERE price > 5000",
    "SELECT region FROM nations UNION SELECT region FROM regions",
    "SELECT region FROM nations UNION ALL SELECT region FROM regions",
    "SELECT name FROM nations UNION SELECT name FROM regions UNION SELECT name FROM customers",
    f"SELECT l.id, c.name {LOC} WHERE price > 9900",
    f"SELECT l.id, o.day + INTERVAL 30 DAY AS due {LO} WHERE l.flag = 'R' AND o.status = 1",
    f"SELECT o.id, c.name {OC} WHERE o.status IS NULL",
    f"SELECT o.id {OC} WHERE c.id IS NULL",
    "SELECT c.id, o.id AS o FROM customers c LEFT JOIN orders o ON o.customer = c.id AND o.status = 2",
    "SELECT id FROM orders WHERE customer IN (SELECT id FROM customers WHERE nation = 3)",
    "SELECT id FROM orders WHERE customer NOT IN (SELECT id FROM customers WHERE nation > 3) AND status = 1",
    'SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l."order" = o.id AND price > 9950)',
    'SELECT id FROM orders o WHERE NOT EXISTS (SELECT 1 FROM lines l WHERE l."order" = o.id)',
    "WITH rich AS (SELECT * FROM lines WHERE price > 9000) SELECT id, flag FROM rich WHERE discount < 0.1",
    "SELECT x.id FROM (SELECT id, price * 2 AS twice FROM lines) x WHERE twice > 19900",
    'WITH t AS (SELECT "order" AS o, SUM(price) AS s FROM lines GROUP BY 1) SELECT o, s FROM t WHERE s > 40000',
    "SELECT a.id, b.id AS other FROM suppliers a JOIN suppliers b ON a.nation = b.nation WHERE a.id < b.id",
    "SELECT id FROM (SELECT id FROM customers ORDER BY id DESC LIMIT 7) x",
    "SELECT s.id FROM suppliers s SEMI JOIN nations n ON s.nation = n.nation AND n.region = 0",
    "SELECT s.id FROM suppliers s ANTI JOIN nations n ON s.nation = n.nation",
]

FIGURES: Final = [
    *(f"SELECT {one} AS v FROM lines" for one in AGGREGATES),
    *(f"SELECT flag, {one} AS v FROM lines GROUP BY flag" for one in AGGREGATES),
    *(f"SELECT c.nation, {one} AS v {LOC} GROUP BY ALL" for one in AGGREGATES if " id" not in one and "(id" not in one),
    *(f"SELECT {one} AS v, COUNT(*) AS n FROM orders GROUP BY v" for one in DAYS),
    *(f"SELECT {one} AS v, COUNT(*) AS n, MAX(id) AS last FROM customers GROUP BY 1" for one in TEXTS),
    "SELECT COUNT(*) FROM lines",
    "SELECT count(*) AS n FROM orders WHERE day < DATE '1995-03-15'",
    "SELECT COUNT(*) AS n, MAX(day) AS last FROM orders WHERE status = 9",
    "SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING COUNT(*) > 200",
    "SELECT status, COUNT(*) AS n FROM orders GROUP BY status HAVING n > 200 AND status IS NOT NULL",
    "SELECT supplier % 3 AS r, SUM(price) AS s FROM lines GROUP BY supplier % 3",
    "SELECT supplier % 3 + 1 AS r, SUM(price) AS s FROM lines GROUP BY supplier % 3",
    "SELECT UPPER(flag) AS f, COUNT(*) AS n FROM lines GROUP BY flag",
    "SELECT flag, supplier, COUNT(*) AS n FROM lines GROUP BY ALL HAVING SUM(price) > 250000",
    "SELECT SUM(price) AS s FROM lines GROUP BY flag, supplier",
    "SELECT DISTINCT COUNT(*) > 60 AS many FROM orders GROUP BY date_trunc('month', day)",
    f"SELECT o.status, c.name, SUM(price) AS s {LOC} GROUP BY 1, 2",
    f"SELECT c.name, COUNT(*) AS n, COUNT(o.id) AS orders, COUNT(c.id) AS known {OC} GROUP BY c.name",
    "SELECT c.id, COUNT(o.id) AS n, MAX(o.day) AS last FROM customers c LEFT JOIN orders o ON o.customer = c.id GROUP BY 1",
    "SELECT n.name, COUNT(s.id) AS n FROM nations n LEFT JOIN suppliers s USING (nation) GROUP BY n.name",
    "SELECT r.name, COUNT(*) AS n FROM suppliers s JOIN nations n USING (nation) JOIN regions r USING (region) GROUP BY 1",
    "SELECT r.name, COUNT(s.id) AS n FROM suppliers s RIGHT JOIN nations n USING (nation) RIGHT JOIN regions r "
    "USING (region) GROUP BY r.name",
    "SELECT COUNT(*) AS n, COUNT(s.id) AS s FROM suppliers s FULL JOIN nations n ON s.nation = n.nation",
    "SELECT COUNT(*) AS n FROM orders o WHERE EXISTS (SELECT 1 FROM lines l WHERE l.\"order\" = o.id AND l.flag = 'A')",
    "SELECT status, COUNT(*) AS n FROM orders WHERE customer NOT IN (SELECT id FROM customers WHERE nation < 3) GROUP BY 1",
    "SELECT AVG(n) AS a, MAX(n) AS m FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) x",
    "WITH months AS (SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM orders GROUP BY 1) SELECT MAX(n) AS most, "
    "COUNT(*) AS months FROM months",
    # TPC-H's, as far as there are columns
    "SELECT flag, SUM(price) AS base, SUM(price * (1 - discount)) AS disc, AVG(price) AS a, AVG(discount) AS d, COUNT(*) "
    "AS n FROM lines WHERE id <= 3500 GROUP BY flag",
    "SELECT SUM(price * discount) AS revenue FROM lines WHERE discount BETWEEN 0.05 AND 0.07 AND price < 2400",
    f"SELECT 100.00 * SUM(CASE WHEN c.name LIKE '%1%' THEN price * (1 - discount) ELSE 0 END) / SUM(price * (1 - "
    f"discount)) AS promo {LOC} WHERE o.day >= DATE '1995-09-01' AND o.day < DATE '1995-09-01' + INTERVAL '1' MONTH",
    f"SELECT flag, SUM(CASE WHEN o.status = 1 OR o.status = 2 THEN 1 ELSE 0 END) AS high, COUNT(*) - COUNT(o.status) AS "
    f"unknown {LO} WHERE flag IN ('A', 'R') AND EXTRACT(year FROM day) = 1996 GROUP BY flag",
]

ORDERED: Final = [
    "SELECT * FROM regions ORDER BY name",
    "SELECT id, nation FROM suppliers ORDER BY nation NULLS FIRST, id DESC",
    "SELECT id, nation FROM suppliers ORDER BY nation DESC NULLS LAST, id LIMIT 10",
    "SELECT id, nation FROM suppliers ORDER BY ALL",
    "SELECT nation, id FROM suppliers ORDER BY ALL DESC LIMIT 5 OFFSET 3",
    "SELECT id FROM lines ORDER BY price DESC, id LIMIT 10",
    "SELECT id, discount AS d FROM lines WHERE flag = 'A' ORDER BY d, id LIMIT 20 OFFSET 5",
    "SELECT id FROM orders ORDER BY date_trunc('month', day), -id LIMIT 12",
    "SELECT name FROM customers ORDER BY LENGTH(name), name, id LIMIT 3",
    "SELECT id FROM lines LIMIT 0",
    "SELECT DISTINCT flag FROM lines ORDER BY flag DESC NULLS FIRST",
    "SELECT DISTINCT nation FROM customers ORDER BY 1 LIMIT 4",
    "SELECT name FROM nations UNION SELECT name FROM regions ORDER BY name LIMIT 9",
    "SELECT region AS r FROM nations UNION ALL SELECT region FROM regions ORDER BY r DESC NULLS LAST",
    f"SELECT l.id, c.name {LOC} ORDER BY price DESC, l.id LIMIT 5",
    f"SELECT o.id, c.name {OC} ORDER BY c.name DESC NULLS FIRST, o.id LIMIT 8",
    "SELECT flag, SUM(price) AS s FROM lines GROUP BY flag ORDER BY s DESC",
    "SELECT flag, COUNT(*) FROM lines GROUP BY flag ORDER BY COUNT(*), flag",
    "SELECT flag, COUNT(*) AS n FROM lines GROUP BY ALL ORDER BY ALL",
    "SELECT flag AS f, AVG(price) AS a FROM lines GROUP BY f ORDER BY f NULLS FIRST",
    "SELECT supplier, SUM(price) AS s FROM lines GROUP BY supplier ORDER BY s DESC LIMIT 5",
    "SELECT supplier, SUM(price) AS s FROM lines GROUP BY supplier ORDER BY 2 DESC, 1 LIMIT 5 OFFSET 5",
    "SELECT supplier FROM lines GROUP BY supplier ORDER BY SUM(price * discount) LIMIT 3",
    "SELECT date_trunc('month', day) AS m, COUNT(*) AS n FROM orders GROUP BY m ORDER BY m",
    "SELECT YEAR(day) AS y, status, COUNT(*) AS n FROM orders GROUP BY 1, 2 ORDER BY y DESC, status NULLS LAST",
    "SELECT YEAR(day) AS y, MIN(day) AS first, MAX(day) AS last FROM orders GROUP BY y HAVING COUNT(*) > 10 ORDER BY y",
    f"SELECT c.name, SUM(price * (1 - discount)) AS revenue {LOC} GROUP BY c.name ORDER BY revenue DESC LIMIT 4",
    f"SELECT c.name, ROUND(SUM(price), 0) AS r, COUNT(DISTINCT o.id) AS n {LOC} GROUP BY 1 ORDER BY n DESC, 1 LIMIT 6",
    f"SELECT o.id, o.day, SUM(price) AS s {LOC} WHERE day < DATE '1996-01-01' GROUP BY o.id, o.day ORDER BY s DESC, day "
    "LIMIT 10",
    f"SELECT c.name, COUNT(o.id) AS n {OC.replace('LEFT', 'RIGHT')} GROUP BY c.name ORDER BY n, c.name LIMIT 5",
    "SELECT n, COUNT(*) AS customers FROM (SELECT c.id, COUNT(o.id) AS n FROM customers c LEFT JOIN orders o ON c.id = "
    "o.customer GROUP BY c.id) x GROUP BY n ORDER BY customers DESC, n DESC",
    "SELECT n.name, SUM(price * (1 - discount)) AS revenue FROM customers c, orders o, lines l, suppliers s, nations n, "
    'regions r WHERE c.id = o.customer AND l."order" = o.id AND l.supplier = s.id AND c.nation = s.nation AND s.nation '
    "= n.nation AND n.region = r.region AND r.name = 'Asia' GROUP BY n.name ORDER BY revenue DESC",
]

N_STATEMENTS: Final = len(list(itertools.chain(ROWS, FIGURES, ORDERED)))
