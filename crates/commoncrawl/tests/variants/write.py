"""Writes the rows of one index file in all variants that pyarrow and DuckDB can write.

    write.py FOLDER      one file a variant; prints the names of the variants

The rows hold 30,000 captures of 3,750 hosts in sorted order, and odd ones after them.
"""

import datetime
import os
import random
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

random.seed(1)
TIME = datetime.datetime(2026, 8, 10, tzinfo=datetime.timezone.utc)
GROUP_ROWS = 12_000
# Hostname, protocol, path, query, port, media type.
ODD = [
    ("UPPER.example", "https", "/", None, None, "text/html"),
    ("a.example.", "https", "/", None, None, "text/html"),
    ("a.example", "https", "", None, None, "text/html"),
    ("b.example", "https", "/", "", None, "text/html"),
    ("c.example", "https", "/", None, None, "Text/HTML"),
    ("d.example", "https", "/", None, None, "application/xhtml+xml"),
    ("e.example", "https", "/", None, None, "unk"),
    ("f.example", "https", "/", None, None, "text/html,"),
    ("g_h.example", "http", "/", None, None, "text/html"),
    ("[2001:db8::1]", "http", "/", None, None, "text/html"),
    ("192.0.2.1", "http", "/", None, None, "text/html"),
    ("%C3%BC.example", "https", "/", None, None, "text/html"),
    ("x" * 70 + ".example", "https", "/", None, None, "text/html"),
    ("", "https", "/", None, None, "text/html"),
    ("i.example", "https", "/", None, 8443, "text/html"),
    ("j.example", "https", "//", None, None, "text/html"),
    ("k.example", "https", "/index.html", None, None, "text/html"),
    ("spaß.example", "https", "/", None, None, "text/html"),
    ("l.example", "https", "/", None, None, None),
    ("*.example", "https", "/", None, None, "text/html"),
]


def row(number, host, protocol, path, query, port, media_type):
    return {
        "url_surtkey": "k",
        "url": f"{protocol}://{host}{path}",
        "url_host_name": host,
        "url_protocol": protocol,
        "url_port": port,
        "url_path": path,
        "url_query": query,
        "fetch_time": TIME,
        "fetch_status": 200,
        "content_mime_type": media_type,
        "content_digest": "D",
        "warc_filename": f"crawl-data/CC-MAIN-2026-34/segments/1/warc/x{number % 9}.warc.gz",
        "warc_record_offset": number * 7,
        "warc_record_length": 1000 + number % 50,
    }


def rows():
    for i in range(30_000):
        path = "/" if i % 8 == 0 else "/%d/%x" % (i, random.getrandbits(64))
        query = None if i % 5 else "q=%d" % i
        host = "h%06d.blogspot.com" % (i // 8)
        yield row(i, host, "https" if i % 3 else "http", path, query, None, "text/html")
    for i, odd in enumerate(ODD):
        yield row(i, *odd)


SCHEMA = pa.schema(
    [
        ("url_surtkey", pa.string()),
        ("url", pa.string()),
        pa.field("url_host_name", pa.string(), False),
        pa.field("url_protocol", pa.string(), False),
        ("url_port", pa.int32()),
        pa.field("url_path", pa.string(), False),
        ("url_query", pa.string()),
        pa.field("fetch_time", pa.timestamp("ms", tz="UTC"), False),
        pa.field("fetch_status", pa.int16(), False),
        ("content_mime_type", pa.string()),
        ("content_digest", pa.string()),
        ("warc_filename", pa.string()),
        ("warc_record_offset", pa.int32()),
        ("warc_record_length", pa.int32()),
    ]
)


def main(folder):
    os.chdir(folder)
    table = pa.Table.from_pylist(list(rows()), schema=SCHEMA)
    nullable = table.cast(pa.schema([field.with_nullable(True) for field in SCHEMA]))
    written = []

    def write(name, table=table, **options):
        pq.write_table(table, f"{name}.parquet", row_group_size=GROUP_ROWS, **options)
        written.append(name)

    def cast(column, kind):
        index = nullable.schema.get_field_index(column)
        return nullable.set_column(index, column, nullable[column].cast(kind))

    def encoded(name, encodings, table=table):
        write(name, table, compression="gzip", use_dictionary=False, column_encoding=encodings)

    small = {"dictionary_pagesize_limit": 4_000, "data_page_size": 5_000}
    write("gzip_v1", compression="gzip")
    write("gzip_v1_fallback", compression="gzip", **small)
    write("nullable_fallback", nullable, compression="gzip", **small)
    write("zstd_v2", compression="zstd", data_page_version="2.0", data_page_size=5_000)
    write("gzip_v2_nullable", nullable, compression="gzip", data_page_version="2.0", **small)
    write("int96", compression="gzip", use_deprecated_int96_timestamps=True)
    write("v1_format", compression="snappy", version="1.0")
    write("none", compression="none", use_dictionary=False)
    write("crc_idx", compression="gzip", write_page_checksum=True, write_page_index=True, **small)
    write("lz4", compression="lz4")
    write("lz4_v2_nullable", nullable, compression="lz4", data_page_version="2.0", **small)
    write("brotli", compression="brotli")
    encoded("delta_path", {"url_path": "DELTA_BYTE_ARRAY"})
    encoded("delta_off", {"warc_record_offset": "DELTA_BINARY_PACKED"})
    encoded("delta_unneeded", {"url": "DELTA_BYTE_ARRAY"})
    encoded("delta_length", {"url_path": "DELTA_LENGTH_BYTE_ARRAY"})
    encoded("delta_nullable", {"url_query": "DELTA_BYTE_ARRAY",
                               "content_mime_type": "DELTA_BYTE_ARRAY",
                               "warc_filename": "DELTA_LENGTH_BYTE_ARRAY"}, nullable)
    encoded("split", {"warc_record_offset": "BYTE_STREAM_SPLIT",
                      "fetch_time": "BYTE_STREAM_SPLIT"})
    write("int64", cast("warc_record_offset", pa.int64()), compression="gzip")
    write("large_string", cast("url_path", pa.large_string()), compression="gzip")
    connection = duckdb.connect()
    for version in ("V1", "V2"):
        for codec in ("gzip", "zstd", "lz4_raw", "brotli"):
            name = f"duck_{version}_{codec}"
            connection.execute(
                f"copy (select * from 'gzip_v1.parquet') to '{name}.parquet' (format parquet, "
                f"compression {codec}, parquet_version {version}, row_group_size {GROUP_ROWS})"
            )
            written.append(name)
    pq.write_table(table.slice(0, 0), "empty.parquet", compression="gzip")
    print("\n".join(written))


main(sys.argv[1])
