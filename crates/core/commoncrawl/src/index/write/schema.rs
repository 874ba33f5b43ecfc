//! The columns of Common Crawl's table (`cc-index-table`, since CC-MAIN-2026-30).

use parquet::{basic::Type as PhysicalType, schema::types::Type};

use super::columns::ColumnBuffer;

pub(super) const SCHEMA: &str = "
message cc_index {
    required binary url_surtkey (STRING);
    required binary url (STRING);
    required binary url_host_name (STRING);
    optional binary url_host_tld (STRING);
    optional binary url_host_2nd_last_part (STRING);
    optional binary url_host_3rd_last_part (STRING);
    optional binary url_host_4th_last_part (STRING);
    optional binary url_host_5th_last_part (STRING);
    optional binary url_host_registry_suffix (STRING);
    optional binary url_host_registered_domain (STRING);
    optional binary url_host_private_suffix (STRING);
    optional binary url_host_private_domain (STRING);
    optional binary url_host_name_reversed (STRING);
    required binary url_protocol (STRING);
    optional int32 url_port;
    required binary url_path (STRING);
    optional binary url_query (STRING);
    required int64 fetch_time (TIMESTAMP(MICROS,true));
    required int32 fetch_status (INTEGER(16,true));
    optional binary fetch_redirect (STRING);
    optional binary content_digest (STRING);
    optional binary content_mime_type (STRING);
    optional binary content_mime_detected (STRING);
    optional binary content_charset (STRING);
    optional binary content_languages (STRING);
    optional binary content_truncated (STRING);
    required binary warc_record_id;
    required binary warc_filename (STRING);
    required int32 warc_record_offset;
    required int32 warc_record_length;
    required binary warc_segment (STRING);
}
";
pub(super) const COLUMN_COUNT: usize = 31;

pub(super) fn columns(schema: &Type) -> Vec<ColumnBuffer> {
    let buffer = |field: &Type| {
        let is_optional = field.is_optional();
        match field.get_physical_type() {
            PhysicalType::INT32 => ColumnBuffer::int(is_optional),
            PhysicalType::INT64 => ColumnBuffer::long(is_optional),
            _ => ColumnBuffer::bytes(is_optional),
        }
    };
    schema.get_fields().iter().map(|field| buffer(field)).collect()
}

#[cfg(test)]
mod tests {
    use parquet::schema::parser::parse_message_type;

    use super::*;

    #[test]
    fn every_column_has_a_buffer() {
        let schema = parse_message_type(SCHEMA).unwrap();
        assert_eq!(columns(&schema).len(), COLUMN_COUNT);
    }
}
