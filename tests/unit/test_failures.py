"""What went wrong in a run, out of the traces of Spark, Java and Python."""

from windrow.core.errors import InputError, RunError
from windrow.runtime.spark.failures import explained, reason, unread_file

READING = """An error occurred while calling o222.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:\x20
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(SparkThreadUtils.scala:70)
Caused by: org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while \
reading file file:///in/a%20b.csv.gz.  SQLSTATE: KD001
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotReadFilesError(Q.scala:1)
Caused by: java.io.IOException: not a gzip file
\tat org.apache.hadoop.io.compress.zlib.BuiltInGzipDecompressor.x(B.java:496)
\t... 1 more
"""

IN_A_BATCH = f"""[STREAM_FAILED] Query [id = 1] terminated with exception: \
[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach \
batch sink. Reason: An exception was raised by the Python Proxy. Return Message: \
Traceback (most recent call last):
  File "clientserver.py", line 644, in _call_proxy
py4j.protocol.Py4JJavaError: {READING}"""


def test_the_last_cause_is_the_reason_wherever_java_puts_it() -> None:
    for text in (READING, IN_A_BATCH):
        assert reason(text) == "IOException: not a gzip file"
    assert reason("Caused by: java.lang.OutOfMemoryError: Java heap space") == (
        "OutOfMemoryError: Java heap space"
    )
    nested = "Caused by: a.b.Outer$InnerException: it is torn SQLSTATE: KD001\n\tat x"
    assert reason(nested) == "InnerException: it is torn"


def test_a_trace_without_any_sentence_gives_its_first_line() -> None:
    assert reason("An error occurred while calling o1.x\n\tat y") == (
        "An error occurred while calling o1.x"
    )
    stream = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: [X] it broke"
    assert reason(stream) == "[X] it broke"
    assert reason("") == "Spark gives no reason."


def test_the_file_and_the_queries_are_named() -> None:
    error = explained(Exception(IN_A_BATCH), ["counts", "pairs"])
    assert isinstance(error, RunError)
    assert str(error) == (
        "error: the run of counts, pairs has failed: it cannot read file:///in/a%20b.csv.gz\n"
        "detail: IOException: not a gzip file\n"
        "hint: Mend the file in place, then start it again with the same checkpoint."
    )
    assert unread_file("Encountered error while reading file s3a://b/x.y. Data type") == (
        "s3a://b/x.y"
    )
    assert unread_file("anything else") is None


def test_an_error_of_ours_keeps_its_words() -> None:
    inside = f"{IN_A_BATCH}\nwindrow.core.errors.InputError: error: fact\ndetail: why\nhint: do"
    error = explained(Exception(inside), ["counts"])
    assert isinstance(error, InputError)
    assert (error.message, error.detail, error.hint) == ("fact", "why", "do")
