"""Writes rows of an index in all variants that pyarrow and DuckDB can write.

    write.py FOLDER          the same rows in each variant; prints the names of the variants
    write.py BUCKET CRAWL    rewrites a crawl's index files, each in another variant; prints the
                             number of files

The rows in FOLDER are 30,000 sorted captures of 3,750 hosts, followed by odd rows.
"""

import datetime
import gzip
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


def variants():
    """Yields a name and a function that writes a table to a path, for each variant."""

    def file(table, path, **options):
        pq.write_table(table, path, row_group_size=GROUP_ROWS, **options)

    def plain(name, **options):
        return name, lambda table, path: file(table, path, **options)

    def nullable(name, **options):
        return name, lambda table, path: file(without_required(table), path, **options)

    def cast(name, column, kind):
        def write(table, path):
            table = without_required(table)
            index = table.schema.get_field_index(column)
            table = table.set_column(index, column, table[column].cast(kind))
            file(table, path, compression="gzip")

        return name, write

    def encoded(name, encodings, of=plain):
        return of(name, compression="gzip", use_dictionary=False, column_encoding=encodings)

    def duck(version, codec):
        def write(table, path):
            duckdb.connect().register("captures", table).execute(
                f"copy captures to '{path}' (format parquet, compression {codec}, "
                f"parquet_version {version}, row_group_size {GROUP_ROWS})"
            )

        return f"duck_{version}_{codec}", write

    small = {"dictionary_pagesize_limit": 4_000, "data_page_size": 5_000}
    yield plain("gzip_v1", compression="gzip")
    yield plain("gzip_v1_fallback", compression="gzip", **small)
    yield nullable("nullable_fallback", compression="gzip", **small)
    yield plain("zstd_v2", compression="zstd", data_page_version="2.0", data_page_size=5_000)
    yield nullable("gzip_v2_nullable", compression="gzip", data_page_version="2.0", **small)
    yield plain("int96", compression="gzip", use_deprecated_int96_timestamps=True)
    yield plain("v1_format", compression="snappy", version="1.0")
    yield plain("none", compression="none", use_dictionary=False)
    yield plain(
        "crc_idx", compression="gzip", write_page_checksum=True, write_page_index=True, **small
    )
    yield plain("lz4", compression="lz4")
    yield nullable("lz4_v2_nullable", compression="lz4", data_page_version="2.0", **small)
    yield plain("brotli", compression="brotli")
    yield encoded("delta_path", {"url_path": "DELTA_BYTE_ARRAY"})
    yield encoded("delta_off", {"warc_record_offset": "DELTA_BINARY_PACKED"})
    yield encoded("delta_unneeded", {"url": "DELTA_BYTE_ARRAY"})
    yield encoded("delta_length", {"url_path": "DELTA_LENGTH_BYTE_ARRAY"})
    yield encoded(
        "delta_nullable",
        {
            "url_query": "DELTA_BYTE_ARRAY",
            "content_mime_type": "DELTA_BYTE_ARRAY",
            "warc_filename": "DELTA_LENGTH_BYTE_ARRAY",
        },
        nullable,
    )
    yield encoded(
        "split", {"warc_record_offset": "BYTE_STREAM_SPLIT", "fetch_time": "BYTE_STREAM_SPLIT"}
    )
    yield cast("int64", "warc_record_offset", pa.int64())
    yield cast("large_string", "url_path", pa.large_string())
    for version in ("V1", "V2"):
        for codec in ("gzip", "zstd", "lz4_raw", "brotli"):
            yield duck(version, codec)


def without_required(table):
    return table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))


def write_folder(folder):
    table = pa.Table.from_pylist(list(rows()), schema=SCHEMA)
    for name, write in variants():
        write(table, f"{folder}/{name}.parquet")
        print(name)
    pq.write_table(table.slice(0, 0), f"{folder}/empty.parquet", compression="gzip")


def write_bucket(bucket, crawl):
    index = f"cc-index/table/cc-main/warc/crawl={crawl}/subset=warc"
    files = sorted(os.listdir(f"{bucket}/{index}"))
    table = pa.concat_tables(pq.read_table(f"{bucket}/{index}/{file}") for file in files)
    for file in files:
        os.remove(f"{bucket}/{index}/{file}")
    written = []
    all_variants = list(variants())
    for number, (name, write) in enumerate(all_variants):
        start, end = (at * len(table) // len(all_variants) for at in (number, number + 1))
        path = f"{index}/part-{number:05}-{name}.parquet"
        write(table.slice(start, end - start), f"{bucket}/{path}")
        written.append(path)
    with gzip.open(f"{bucket}/crawl-data/{crawl}/cc-index-table.paths.gz", "wt") as paths:
        paths.writelines(f"{path}\n" for path in written)
    print(len(written))


if len(sys.argv) == 2:
    write_folder(sys.argv[1])
else:
    write_bucket(*sys.argv[1:])
