"""Every query that the five papers print, as data.

`text` is the paper's own spelling, but for damage of the scan and for line breaks. Where the
paper elides a number (``[RANGE ...]``, ``[WINDOW w1]``, ``WINDOW = w``) one is filled in and
`note` says so. `bound_text` is the same query with what it needs to bind (windows that the paper
leaves out for clarity, names that do not match); `ddl` declares what it reads.

Not here: the COUGAR query of THESIS 2.1.3 (``$every(60)``), which the thesis quotes as an example
of another system's language. MULTI prints no query.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PaperQuery:
    """One printed query."""

    paper: str
    section: str
    text: str
    bound_text: str
    ddl: str
    note: str = ""

    @property
    def id(self) -> str:
        return f"{self.paper} {self.section}"


S_AND_T = """
CREATE STREAM S (ts BIGINT, a BIGINT, b BIGINT) TIMESTAMP BY ts;
CREATE STREAM T (ts BIGINT, b BIGINT) TIMESTAMP BY ts;
"""
S_AND_T_TIME = """
CREATE STREAM S (ts TIMESTAMP, a BIGINT, b BIGINT) TIMESTAMP BY ts;
CREATE STREAM T (ts TIMESTAMP, b BIGINT) TIMESTAMP BY ts;
"""
NUMBERED = """
CREATE STREAM S1 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM S2 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM S3 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM Stream1 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
CREATE STREAM Stream2 (ts TIMESTAMP, a BIGINT) TIMESTAMP BY ts;
"""
LINKS = """
SET bare_words = 'strings';
CREATE STREAM Link1 (ts BIGINT, source_IP_address STRING, destination_IP_address STRING,
  protocol STRING) TIMESTAMP BY ts;
CREATE STREAM Link2 (ts BIGINT, source_IP_address STRING, destination_IP_address STRING,
  protocol STRING) TIMESTAMP BY ts;
CREATE STREAM Link3 (ts BIGINT, source_IP_address STRING, destination_IP_address STRING,
  protocol STRING) TIMESTAMP BY ts;
"""
HEADERS = """
SET bare_words = 'strings';
CREATE STREAM S (ts TIMESTAMP, length BIGINT, protocol STRING, user STRING) TIMESTAMP BY ts;
"""
PACKETS = """
CREATE STREAM ClinkPacket (id BIGINT, source STRING, destination STRING, length BIGINT,
  time TIMESTAMP) TIMESTAMP BY time;
CREATE STREAM BlinkPacket (id BIGINT, source STRING, destination STRING, length BIGINT,
  time TIMESTAMP) TIMESTAMP BY time;
"""
AUCTION = """
CREATE STREAM Bid (timestamp TIMESTAMP, auctionID BIGINT, bidderID BIGINT, bidPrice DOUBLE)
  TIMESTAMP BY timestamp;
CREATE STREAM Auction (timestamp TIMESTAMP, auctionID BIGINT, seller BIGINT, startPrice DOUBLE)
  TIMESTAMP BY timestamp;
CREATE RELATION Person (personID BIGINT, name STRING, state STRING, PRIMARY KEY (personID));
"""
G_J_A = """
CREATE STREAM S1 (ts BIGINT, G BIGINT, J1 BIGINT, A BIGINT) TIMESTAMP BY ts;
CREATE STREAM S2 (ts BIGINT, J2 BIGINT) TIMESTAMP BY ts;
"""
ITEMS = """
CREATE STREAM S (ts BIGINT, ItemID BIGINT, Price BIGINT, StoreID BIGINT) TIMESTAMP BY ts;
CREATE STREAM S1 (ts BIGINT, ItemID BIGINT, Price BIGINT, StoreID BIGINT) TIMESTAMP BY ts;
CREATE STREAM S2 (ts BIGINT, ItemID BIGINT, Price BIGINT, StoreID BIGINT) TIMESTAMP BY ts;
CREATE RELATION FavoriteItems (ItemID BIGINT, PRIMARY KEY (ItemID));
"""
STORES = """
CREATE STREAM Store1 (ts BIGINT, ItemNum BIGINT) TIMESTAMP BY ts;
CREATE STREAM Store2 (ts BIGINT, ItemNum BIGINT) TIMESTAMP BY ts;
CREATE STREAM Store3 (ts BIGINT, ItemNum BIGINT) TIMESTAMP BY ts;
"""
CAMERAS = """
CREATE STREAM Camera1 (ts BIGINT, ObjID BIGINT) TIMESTAMP BY ts;
CREATE STREAM Camera2 (ts BIGINT, ObjID BIGINT) TIMESTAMP BY ts;
CREATE STREAM Camera3 (ts BIGINT, ObjID BIGINT) TIMESTAMP BY ts;
CREATE STREAM Camera4 (ts BIGINT, ObjID BIGINT) TIMESTAMP BY ts;
"""
NETWORKS = """
CREATE STREAM Network1 (ts BIGINT, PacketID BIGINT) TIMESTAMP BY ts;
CREATE STREAM Network2 (ts BIGINT, PacketID BIGINT) TIMESTAMP BY ts;
CREATE STREAM Network3 (ts BIGINT, PacketID BIGINT) TIMESTAMP BY ts;
"""

ALIASED = "The paper names the streams Stream1 and Stream2 in FROM, S1 and S2 in WHERE."
FILLED = "The paper writes [RANGE ...]; a number is filled in."
OMITTED = "The paper omits the windows for clarity."


def same(paper: str, section: str, text: str, ddl: str, note: str = "") -> PaperQuery:
    """A query that binds as it is printed."""
    return PaperQuery(paper, section, text, text, ddl, note)


THESIS_QUERIES = (
    PaperQuery(
        "THESIS", "1.1 Q1",
        "SELECT MAX(a) FROM S",
        "SELECT MAX(a) FROM S [UNBOUNDED]",
        S_AND_T, "No window: all the items seen thus far.",
    ),
    same("THESIS", "1.1 Q2", "SELECT MAX(a) FROM S [RANGE 1 min]", S_AND_T_TIME),
    same(
        "THESIS", "1.2 Q3",
        """SELECT MAX(a)
FROM S [RANGE 1 min], T [RANGE 1 min]
WHERE S.b = T.b""",
        S_AND_T_TIME,
    ),
    same(
        "THESIS", "2.1.3",
        """SELECT Rstream(*)
FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
WHERE S1.a = S2.a""",
        NUMBERED,
    ),
    PaperQuery(
        "THESIS", "3.4 Wstream",
        """SELECT Wstream(*)[ROWS 10]
FROM Stream1[RANGE 1 min], Stream2[RANGE 1 min]
WHERE S1.a = S2.a""",
        """SELECT Wstream(*)[ROWS 10]
FROM Stream1[RANGE 1 min] AS S1, Stream2[RANGE 1 min] AS S2
WHERE S1.a = S2.a""",
        NUMBERED, ALIASED,
    ),
    PaperQuery(
        "THESIS", "3.4 nested",
        """SELECT SUM(a)
FROM (SELECT SUM(a) FROM Stream1[RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10]""",
        """SELECT SUM(a)
FROM (SELECT SUM(a) AS a FROM Stream1[RANGE 6 sec SLIDE 6 sec INTERNAL]) [ROWS 10]""",
        NUMBERED, "The inner sum needs the name by which the outer query reads it.",
    ),
    same(
        "THESIS", "3.4 nested with Wstream",
        """SELECT SUM(Wstream(SUM(a))[ROWS 10])
FROM Stream1[RANGE 6 sec SLIDE 6 sec]""",
        NUMBERED,
    ),
    PaperQuery(
        "THESIS", "3.4 restore",
        """SELECT Rstream-restore(*)
FROM Stream1[RANGE 1 min SLIDE 10 sec],
Stream2[RANGE 1 min SLIDE 10 sec]
WHERE S1.a = S2.a""",
        """SELECT Rstream-restore(*)
FROM Stream1[RANGE 1 min SLIDE 10 sec] AS S1,
Stream2[RANGE 1 min SLIDE 10 sec] AS S2
WHERE S1.a = S2.a""",
        NUMBERED, ALIASED,
    ),
    PaperQuery(
        "THESIS", "3.5.1",
        """SELECT Rstream(*)
FROM S1, S2
WHERE S1.a = S2.a
AND NOT EXISTS (
SELECT Rstream(*)
FROM S3
WHERE S3.a = S1.a)""",
        """SELECT Rstream(*)
FROM S1 [RANGE 1 min], S2 [RANGE 1 min]
WHERE S1.a = S2.a
AND NOT EXISTS (
SELECT Rstream(*)
FROM S3 [RANGE 1 min]
WHERE S3.a = S1.a)""",
        NUMBERED, OMITTED,
    ),
    same(
        "THESIS", "3.6 Query 1",
        """SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link2 [RANGE 2000]
WHERE Link1.source_IP_address = Link2.source_IP_address
AND Link1.protocol = ftp
AND Link2.protocol = ftp""",
        LINKS, FILLED,
    ),
    same(
        "THESIS", "3.6 Query 1, telnet",
        """SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link2 [RANGE 2000]
WHERE Link1.source_IP_address = Link2.source_IP_address
AND Link1.protocol = telnet
AND Link2.protocol = telnet""",
        LINKS, f"{FILLED} The text names telnet as the other predicate.",
    ),
    same(
        "THESIS", "3.6 Query 2",
        """SELECT Rstream(DISTINCT source_IP_address)
FROM Link1 [RANGE 2000]""",
        LINKS, FILLED,
    ),
    same(
        "THESIS", "3.6 Query 2, pairs",
        """SELECT Rstream(DISTINCT source_IP_address, destination_IP_address)
FROM Link1 [RANGE 2000]""",
        LINKS, f"{FILLED} The text describes this form: the distinct source-destination pairs.",
    ),
    same(
        "THESIS", "3.6 Query 3",
        """SELECT Rstream(*)
FROM Link1 [RANGE 2000]
WHERE NOT EXISTS (
SELECT Rstream(*)
FROM Link2 [RANGE 2000]
WHERE Link2.source_IP_address = Link1.source_IP_address)""",
        LINKS, FILLED,
    ),
    same(
        "THESIS", "3.6 Query 4",
        """SELECT Rstream(*)
FROM Link1 [RANGE 2000], Link3 [RANGE 2000]
WHERE Link1.source_IP_address = Link3.source_IP_address
AND Link3.protocol = ftp
AND NOT EXISTS (
SELECT Rstream(*)
FROM Link2 [RANGE 2000]
WHERE Link2.source_IP_address = Link1.source_IP_address)""",
        LINKS,
        "Reconstructed: the text calls it a composition of queries 1 and 3, a negation of two "
        "links joined with a third link that has protocol = ftp. A window size is filled in.",
    ),
    same(
        "THESIS", "8.1 Q1",
        """SELECT MEDIAN(length)
FROM S [WINDOW 10 min SLIDE 2 min]""",
        HEADERS,
    ),
    same(
        "THESIS", "8.1 Q2",
        """SELECT MEDIAN(length)
FROM S [WINDOW 14 min SLIDE 3 min]""",
        HEADERS,
    ),
    *(
        PaperQuery(
            "THESIS", f"8.3.3 {name}",
            f"SELECT {aggregate}(length) FROM S WHERE {condition}",
            f"SELECT {aggregate}(length) FROM S [WINDOW 10 min SLIDE 2 min] WHERE {condition}",
            HEADERS, "The paper omits the WINDOW and SLIDE clauses for clarity.",
        )
        for name, aggregate, condition in (
            ("Q1", "SUM", "protocol=TCP"),
            ("Q2", "SUM", "protocol=UDP"),
            ("Q3", "SUM", "protocol=TCP OR protocol=UDP"),
            ("Q4", "MAX", "protocol=TCP"),
            ("Q5", "MAX", "user=U"),
            ("Q6", "MAX", "protocol=TCP OR user=U"),
        )
    ),
)  # fmt: skip

AGGJOIN_QUERIES = (
    same(
        "AGGJOIN", "Example 1",
        """SELECT c.source, COUNT(*)
FROM ClinkPacket AS c [WINDOW 1 HOUR],
BlinkPacket AS b [WINDOW 1 HOUR]
WHERE c.source = b.source
AND c.destination = b.destination
AND c.id = b.id
GROUP BY c.source;""",
        PACKETS,
    ),
    same(
        "AGGJOIN", "Example 2",
        """SELECT a.auctionID, COUNT(b.*)
FROM Bid AS b [WINDOW 1 HOUR],
Auction AS a [WINDOW UNTIL NOW],
Person AS p
WHERE a.auctionID = b.auctionID
AND a.seller = p.personID
AND p.state= “VT”
GROUP BY a.auctionID;""",
        AUCTION,
    ),
    same(
        "AGGJOIN", "Figure 3",
        """SELECT        S1.G, SUM(A)
FROM           S1[WINDOW 10],
S2[WINDOW 20]
WHERE S1.J1 = S2.J2
GROUP BY   S1.G""",
        G_J_A, "The paper writes [WINDOW w1] and [WINDOW w2]; numbers are filled in.",
    ),
)  # fmt: skip

NEG_QUERIES = (
    same(
        "NEG", "Figure 1",
        """SELECT SUM(S1.Price)
FROM S1 [RANGE 5], S2 [RANGE 5]
WHERE S1.ItemID = S2.ItemID""",
        ITEMS,
        "Reconstructed: the figure is lost; the text says a SUM over a join of two streams with "
        "windows of five time units.",
    ),
    same(
        "NEG", "Figure 2",
        """SELECT COUNT(*)
FROM FavoriteItems FI,
S [RANGE 5]
WHERE S.ItemID = FI.ItemID""",
        ITEMS,
    ),
    same(
        "NEG", "Figure 4",
        """SELECT COUNT(*)
FROM FavoriteItems FI,
S [RANGE 5]
WHERE S.Price > 4""",
        ITEMS,
        "As printed. The text speaks of a join with FavoriteItems, which Figure 2 has and this "
        "text has not: as it stands, every pair counts.",
    ),
    same(
        "NEG", "Figure 7",
        """SELECT MAX(S2.Price)
FROM S1 [RANGE 5], S2 [RANGE 5]
WHERE S1.StoreID = S2.StoreID""",
        ITEMS,
        "Reconstructed: the figure is lost; the text says MAX of S2.Price over a join of S1 and "
        "S2 on StoreID, with windows of five time units.",
    ),
)  # fmt: skip

WJOIN_QUERIES = (
    PaperQuery(
        "WJOIN", "Form 1",
        """SELECT A.ItemNum
FROM Store1 A, Store2 B, Store3 B
WINDOW = 10
WHERE A.ItemNum=B.ItemNum AND B.ItemNum=C.ItemNum""",
        """SELECT A.ItemNum
FROM Store1 A, Store2 B, Store3 C
WINDOW = 10
WHERE A.ItemNum=B.ItemNum AND B.ItemNum=C.ItemNum""",
        STORES,
        "The paper calls the third stream B, then C, and the window w: a number is filled in.",
    ),
    same(
        "WJOIN", "Form 2",
        """SELECT A.ObjID
FROM Camera1 A, Camera2 B, Camera3 C
WINDOW (A,B)=5 AND WINDOW (B,C)=7 AND WINDOW (A,C)=9
WHERE A.ObjID=B.ObjID AND B.ObjID=C.ObjID""",
        CAMERAS, "The paper calls the windows w1, w2, w3; numbers are filled in.",
    ),
    PaperQuery(
        "WJOIN", "Form 3",
        """SELECT S1.PacketID
FROM Network1 A, Network2 B, Network3 C
WINDOW (A,B)=5 AND WINDOW (B,C)=7
WHERE A.PacketID=B.PacketID AND B.PacketID=C.PacketID""",
        """SELECT A.PacketID
FROM Network1 A, Network2 B, Network3 C
WINDOW (A,B)=5 AND WINDOW (B,C)=7
WHERE A.PacketID=B.PacketID AND B.PacketID=C.PacketID""",
        NETWORKS,
        "The paper selects from S1, which is not in FROM, and calls the windows w1 and w2: "
        "numbers are filled in.",
    ),
    same(
        "WJOIN", "Figure 12, path",
        """SELECT A.ObjID
FROM Camera1 A, Camera2 B, Camera3 C, Camera4 D
DWINDOW (A,B)=5 AND DWINDOW (B,C)=7 AND DWINDOW (C,D)=9
WHERE A.ObjID=B.ObjID AND B.ObjID=C.ObjID AND C.ObjID=D.ObjID""",
        CAMERAS,
        "Reconstructed: the figure is lost; the text says the path ABCD with windows w1, w2, w3, "
        "equal object ids, and DWINDOW for a directed window.",
    ),
    same(
        "WJOIN", "Figure 12, both ways",
        """SELECT A.ObjID
FROM Camera1 A, Camera2 B, Camera3 C, Camera4 D
DWINDOW (A,B)=5 AND DWINDOW (B,C)=7 AND DWINDOW (C,D)=9
WHERE A.ObjID=B.ObjID AND B.ObjID=C.ObjID AND C.ObjID=D.ObjID
UNION
SELECT A.ObjID
FROM Camera1 A, Camera2 B, Camera3 C, Camera4 D
DWINDOW (D,C)=9 AND DWINDOW (C,B)=7 AND DWINDOW (B,A)=5
WHERE A.ObjID=B.ObjID AND B.ObjID=C.ObjID AND C.ObjID=D.ObjID""",
        CAMERAS,
        "Reconstructed: the text says that the paths ABCD and DCBA are the union of two queries.",
    ),
)  # fmt: skip

PAPER_QUERIES = (*THESIS_QUERIES, *AGGJOIN_QUERIES, *NEG_QUERIES, *WJOIN_QUERIES)
