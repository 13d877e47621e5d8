#!/usr/bin/env python3
"""Make the small Parquet files that t3040-parquet.t reads and fuzzing begins
with, by pyarrow: parquet.py FOLDER."""
import base64
import sys
import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe

texts = ["first", None, "sec\u00f6nd \u4e2d", "", "first", "x" * 300, "end"]
table = pa.table({
    "id": pa.array(range(7)),
    "meta": pa.array([{"a": 1, "text": "no"}] * 7),
    "tags": pa.array([["a", "b"]] * 7),
    "text": pa.array(texts, type=pa.string()),
})
kinds = {
    "plain": dict(compression="NONE", use_dictionary=False),
    "snappy": dict(compression="SNAPPY"),
    "gzip2": dict(compression="GZIP", data_page_version="2.0"),
    "zstd2": dict(compression="ZSTD", data_page_version="2.0",
                  use_dictionary=False),
    "lz4": dict(compression="LZ4", use_dictionary=False),
    "brotli2": dict(compression="BROTLI", data_page_version="2.0"),
    "delta": dict(compression="SNAPPY", use_dictionary=False,
                  column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY"}),
    "prefix": dict(compression="NONE", use_dictionary=False,
                   column_encoding={"text": "DELTA_BYTE_ARRAY"}),
    "groups": dict(compression="NONE", row_group_size=2),
}
for name, options in kinds.items():
    pq.write_table(table, f"{sys.argv[1]}/{name}.parquet",
                   store_schema=False, write_statistics=False, **options)

scalars = pa.table({
    "text": pa.array(["a", "b", "a", None, "c\n\"c\""]),
    "int": pa.array([1, -2, 3, None, 2**31 - 1], type=pa.int32()),
    "long": pa.array([2**62, -1, None, 0, 5]),
    "unsigned": pa.array([2**64 - 1, 0, 1, 2, None], type=pa.uint64()),
    "small": pa.array([2**32 - 1, 0, 1, 2, None], type=pa.uint32()),
    "real": pa.array([0.5, 1e300, None, float("nan"), -1.25]),
    "half": pa.array([0.25, None, 1.0, float("inf"), -8.0], pa.float32()),
    "truth": pa.array([True, False, None, True, False]),
    "label": pa.array(["x", None, "y", "", "\u4e2d"]),
    "when": pa.array([1, 2, 3, 4, 5], type=pa.timestamp("ns")),
    "day": pa.array([1, 2, 3, 4, 5], type=pa.date32()),
    "bytes": pa.array([b"1", b"2", b"3", b"4", b"5"]),
    "list": pa.array([[1]] * 5),
})
for name, options in {
        "scalars": dict(compression="SNAPPY", use_dictionary=["label"]),
        "scalars2": dict(compression="GZIP", data_page_version="2.0",
                         row_group_size=3, use_dictionary=False,
                         column_encoding={"int": "DELTA_BINARY_PACKED",
                                          "long": "DELTA_BINARY_PACKED",
                                          "truth": "RLE",
                                          "label": "DELTA_BYTE_ARRAY"}),
        "split": dict(compression="NONE", use_dictionary=False,
                      column_encoding={"real": "BYTE_STREAM_SPLIT"})}.items():
    pq.write_table(scalars, f"{sys.argv[1]}/{name}.parquet",
                   store_schema=False, write_statistics=False, **options)

lists = [["a", None, "b"], [], None, ["\u4e2d"]]
nested = pa.table({
    "text": pa.array(["a", "b", "c", "d"]),
    "endings": pa.array(lists),
    "choices": pa.array([{"text": x, "label": [1, 2], "of": {"n": i}}
                         for i, x in enumerate(lists)]),
    "none": pa.array([None, {"a": None}, {"a": 1}, None]),
    "twice": pa.array([[["a"]]] * 4),
    "records": pa.array([[{"a": 1}]] * 4),
    "map": pa.array([[("k", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
    "last": pa.array([[True, False], [], [None], None]),
})
required = pa.schema([pa.field("text", pa.string(), nullable=False), pa.field(
    "tags", pa.list_(pa.field("element", pa.string(), nullable=False)),
    nullable=False)])
pq.write_table(nested, f"{sys.argv[1]}/nested.parquet", store_schema=False,
               write_statistics=False, compression="NONE")
pq.write_table(nested, f"{sys.argv[1]}/nested2.parquet", store_schema=False,
               write_statistics=False, compression="SNAPPY",
               data_page_version="2.0", row_group_size=3)
pq.write_table(pa.table({"text": ["a", "b", "c"], "tags": [["x"], [], ["y", "z"]]},
                        schema=required), f"{sys.argv[1]}/required.parquet",
               store_schema=False, write_statistics=False,
               use_compliant_nested_type=False)

# in the form of ARC
answers = [["red", "blue", "green"], ["one", "two"], ["a b", "c", "d", "e"]]
pq.write_table(pa.table({
    "id": ["x", "y", "z"],
    "question": ["What is the sky?", "How many?", "Which of these?"],
    "choices": [{"text": x, "label": list("ABCD"[:len(x)])} for x in answers],
    "answerKey": ["B", "A", "D"],
}), f"{sys.argv[1]}/questions.parquet", store_schema=False,
    write_statistics=False, compression="SNAPPY")


class Keys(pe.KmsClient):
    """Keys that anybody may have."""
    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(key_bytes)


config = pe.EncryptionConfiguration(footer_key="f", plaintext_footer=True,
                                    column_keys={"k": ["text"]})
locks = pe.CryptoFactory(lambda _: Keys()).file_encryption_properties(
    pe.KmsConnectionConfig(), config)
with pq.ParquetWriter(f"{sys.argv[1]}/encrypted.parquet", table.schema,
                      store_schema=False, write_statistics=False,
                      encryption_properties=locks) as out:
    out.write_table(table)
