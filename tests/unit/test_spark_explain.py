"""How programs run on Spark, as `windrow explain --spark` writes it, in tests/golden/spark.plan."""

from tests.golden import FOLDER, check_golden

from windrow.runtime.shards.program import Program
from windrow.runtime.spark.explain import explain_spark

DECLARATIONS = """
CREATE STREAM link1 (ts TIMESTAMP, src STRING, proto STRING, bytes BIGINT)
  USING parquet OPTIONS (path 'link1') TIMESTAMP BY ts;
CREATE STREAM link2 (ts TIMESTAMP, src STRING, proto STRING, bytes INT) TIMESTAMP BY ts;
CREATE STREAM alarms (ts TIMESTAMP, src STRING)
  USING json OPTIONS (path 'alarms', heartbeat '2 seconds') TIMESTAMP BY ts;
CREATE STREAM rare (ts TIMESTAMP, src STRING)
  USING json OPTIONS (path 'rare', idle '1 minute') TIMESTAMP BY ts;
CREATE STREAM calls (ts TIMESTAMP, customer BIGINT, tariff STRING)
  USING json OPTIONS (path 'calls', expect_rate '500', expect_keys '50') TIMESTAMP BY ts;
CREATE STREAM paid (ts TIMESTAMP, customer BIGINT, amount BIGINT)
  USING json OPTIONS (path 'paid', expect_rate '500', expect_keys '50') TIMESTAMP BY ts;
CREATE RELATION hosts (src STRING, owner STRING) USING csv OPTIONS (path 'hosts.csv');
"""


def explained(question: str) -> str:
    first, _, text = question.partition("\n")
    shards, _, pace = first.removeprefix("shards ").partition(", pace ")
    paced = f"SET expiry_pace = {pace or 'off'};"
    lines = text.split(";")
    created = "".join(f"CREATE QUERY q{n} AS {line};" for n, line in enumerate(lines))
    names = tuple(f"q{n}" for n in range(len(lines)))
    program = Program(paced + DECLARATIONS + created, names, shards=int(shards))
    return explain_spark(program).replace("\n\n", "\n")  # an empty line ends a block of the file


def test_programs_are_explained_as_written_down() -> None:
    check_golden(FOLDER / "spark.plan", explained)
