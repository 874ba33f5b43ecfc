"""Runs the seed query over index files with DuckDB, for scripts/bench/index.sh.

    read_index.py THREADS FILE...

Prints rows, captures, wall seconds. The captures are those that the index job selects: for each
hostname the best one, by https, then the newest fetch, then the file name, then the offset.
"""

import sys
import time

import duckdb

QUERY = """
    SELECT url_host_name, url_protocol, warc_filename, warc_record_offset, warc_record_length,
        fetch_time
    FROM read_parquet({files})
    WHERE url_path = '/' AND url_query IS NULL AND url_port IS NULL AND fetch_status = 200
        AND content_mime_type = 'text/html' AND url_protocol IN ('http', 'https')
    QUALIFY row_number() OVER (
        PARTITION BY {key} url_host_name
        ORDER BY url_protocol DESC, fetch_time DESC, warc_filename, warc_record_offset
    ) = 1
"""


def main() -> None:
    threads, files = int(sys.argv[1]), sys.argv[2:]
    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    # The rows' order does not matter, and preserving it would cost DuckDB memory.
    connection.execute("SET preserve_insertion_order = false")
    start = time.monotonic()
    key = "filename," if len(files) > 1 else ""
    query = QUERY.format(files=files, key=key)
    captures = connection.execute(f"COPY ({query}) TO '/dev/null' (FORMAT csv)").fetchone()[0]
    seconds = time.monotonic() - start
    rows = connection.execute(
        f"SELECT sum(num_rows) FROM parquet_file_metadata({files})"
    ).fetchone()[0]
    print(f"{rows} {captures} {seconds:.3f}")


main()
