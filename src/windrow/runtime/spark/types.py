"""Types of Spark as ours."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as st

from windrow.core.types import BINARY, BOOLEAN, DATE, INTERVAL, NULL, STRING, TIMESTAMP
from windrow.runtime.spark.declared import NAIVE

_PLAIN: dict[type[st.DataType], pa.DataType] = {
    st.BooleanType: BOOLEAN,
    st.ByteType: pa.int8(),
    st.ShortType: pa.int16(),
    st.IntegerType: pa.int32(),
    st.LongType: pa.int64(),
    st.FloatType: pa.float32(),
    st.DoubleType: pa.float64(),
    st.StringType: STRING,
    st.VarcharType: STRING,
    st.CharType: STRING,
    st.BinaryType: BINARY,
    st.DateType: DATE,
    st.TimestampType: TIMESTAMP,
    st.TimestampNTZType: NAIVE,
    st.DayTimeIntervalType: INTERVAL,
    st.NullType: NULL,
}


def arrow_type(type_: st.DataType) -> pa.DataType:
    """Return a type of Spark's as ours; one that we do not have as something that never fits."""
    match type_:
        case st.DecimalType():
            return pa.decimal128(type_.precision, type_.scale)
        case st.ArrayType():
            return pa.list_(arrow_type(type_.elementType))
        case st.StructType():
            return pa.struct([(f.name, arrow_type(f.dataType)) for f in type_.fields])
        case _:
            return _PLAIN.get(type(type_), pa.month_day_nano_interval())
