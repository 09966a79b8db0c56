"""Workers that are cut off when a run stops leave no trace; what they raise else is not hidden."""

import socket

import pytest

from windrow.runtime.spark.daemon import CUT_OFF, quiet


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError])
def test_a_worker_that_is_cut_off_ends_quietly(error: type[OSError]) -> None:
    def cut_off(connection: socket.socket, authenticated: bool) -> int:
        raise error

    with socket.socket() as connection:
        assert quiet(cut_off)(connection, True) == CUT_OFF
        assert quiet(lambda *_: 0)(connection, True) == 0


def test_other_errors_are_spark_s_to_tell() -> None:
    def fail(connection: socket.socket, authenticated: bool) -> int:
        raise OSError("no such device")

    with socket.socket() as connection, pytest.raises(OSError, match="no such device"):
        quiet(fail)(connection, True)
