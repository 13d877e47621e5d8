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
    "delta": dict(compression="SNAPPY", use_dictionary=False,
                  column_encoding={"text": "DELTA_LENGTH_BYTE_ARRAY"}),
    "prefix": dict(compression="NONE", use_dictionary=False,
                   column_encoding={"text": "DELTA_BYTE_ARRAY"}),
    "groups": dict(compression="NONE", row_group_size=2),
}
for name, options in kinds.items():
    pq.write_table(table, f"{sys.argv[1]}/{name}.parquet",
                   store_schema=False, write_statistics=False, **options)


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
