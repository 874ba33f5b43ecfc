//! Collects the compression and encodings in which a file stores its needed columns, and rejects
//! unsupported compression.

use std::{collections::BTreeSet, fmt};

use parquet::{
    basic::{Compression, Encoding},
    file::metadata::ColumnChunkMetaData,
};

use super::{error::IndexError, inflate::Codec, recoded};

/// How one or more files store their needed columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Formats {
    /// Compression codecs by name.
    pub codecs: BTreeSet<&'static str>,
    /// Value encodings by name.
    pub encodings: BTreeSet<String>,
    /// Columns whose encoding no crawl has used yet. The parquet crate decodes them, which is
    /// slower.
    pub slow: BTreeSet<String>,
}

impl Formats {
    pub(super) fn add(
        &mut self,
        name: &'static str,
        chunk: &ColumnChunkMetaData,
    ) -> Result<(), IndexError> {
        if Codec::of(chunk.compression()).is_none() {
            let what = format!("compressed by {}", codec_name(chunk.compression()));
            return Err(IndexError::Unsupported { name, what });
        }
        self.codecs.insert(codec_name(chunk.compression()));
        #[expect(deprecated, reason = "BIT_PACKED is how old writers say that they store levels")]
        let of_levels =
            |encoding: &Encoding| matches!(encoding, Encoding::RLE | Encoding::BIT_PACKED);
        for encoding in chunk.encodings().filter(|encoding| !of_levels(encoding)) {
            self.encodings.insert(encoding.to_string());
            if recoded::is_recoded(encoding) {
                self.slow.insert(format!("{name} in {encoding}"));
            }
        }
        Ok(())
    }

    /// Adds another file's formats.
    pub fn merge(&mut self, other: &Self) {
        self.codecs.extend(&other.codecs);
        self.encodings.extend(other.encodings.iter().cloned());
        self.slow.extend(other.slow.iter().cloned());
    }
}

impl fmt::Display for Formats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: Vec<&str>| names.join(", ");
        let codecs = list(self.codecs.iter().copied().collect());
        let encodings = list(self.encodings.iter().map(String::as_str).collect());
        write!(f, "{codecs}; {encodings}")?;
        if !self.slow.is_empty() {
            let slow = list(self.slow.iter().map(String::as_str).collect());
            write!(f, " (decoded more slowly: {slow})")?;
        }
        Ok(())
    }
}

fn codec_name(compression: Compression) -> &'static str {
    match compression {
        Compression::UNCOMPRESSED => "no compression",
        Compression::SNAPPY => "Snappy",
        Compression::GZIP(_) => "gzip",
        Compression::LZO => "LZO",
        Compression::BROTLI(_) => "Brotli",
        Compression::LZ4 => "LZ4 in Hadoop's frames",
        Compression::ZSTD(_) => "Zstandard",
        Compression::LZ4_RAW => "LZ4",
    }
}
