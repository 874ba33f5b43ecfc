//! `inspect`: how files and URLs are understood, one JSON object a line on stdout.
//!
//! Invariants: a line's fields are those of the contract, null where one does not apply; bad input
//! is a line with `error`, and the command goes on; what is left out is counted on stderr. Files
//! are read as far as they must be, never more than [`MAX_FILE_BYTES`].

mod icons;
mod index;
mod pages;

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Read, Stdout, Write},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use flate2::read::MultiGzDecoder;
use serde::Serialize;
use url::Url;

use crate::failure::{Exit, Failure, Outcome};

/// A file that must be in memory as a whole, such as an archive, is refused beyond this.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// A page or an icon, unpacked, is refused beyond this.
const MAX_SMALL_FILE_BYTES: u64 = 256 << 20;

/// Options of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Home pages in files of the crawl's index
    Index {
        /// Parquet files
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Responses in web archives
    Warc {
        /// WARC files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// HTML files
    Page {
        /// HTML files, gzipped or not
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Address of the pages
        #[arg(long, env = "EVERYTAB_URL", default_value = "https://example.com/")]
        url: String,
    },
    /// Icon files, and the tab icons they become
    Icon {
        /// Icon files of any format
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Icons fetched from their addresses
    Url(icons::UrlArgs),
}

/// Inspects each input in turn.
///
/// # Errors
/// When stdout cannot be written, or an option makes no sense. Bad input is exit code 1.
pub async fn run(args: InspectArgs) -> Outcome {
    let printed = match args.what {
        What::Url(args) => return icons::urls(args).await,
        What::Index { files } => blocking(move |lines| index::print(&files, lines)).await?,
        What::Warc { files } => blocking(move |lines| pages::print_archives(&files, lines)).await?,
        What::Icon { files } => blocking(move |lines| icons::print(&files, lines)).await?,
        What::Page { files, url } => {
            let url = Url::parse(&url).map_err(|error| {
                Failure::usage(format!(
                    "--url {url:?}: {error}; give one like https://example.com/"
                ))
            })?;
            blocking(move |lines| pages::print_pages(&files, &url, lines)).await?
        }
    };
    ended(printed)
}

/// Runs the printing where it may block.
async fn blocking(
    print: impl FnOnce(&mut Lines) -> io::Result<()> + Send + 'static,
) -> Result<io::Result<bool>, Failure> {
    let printing = tokio::task::spawn_blocking(move || {
        let mut lines = Lines::new();
        print(&mut lines)?;
        lines.out.flush()?;
        Ok(lines.has_failed)
    });
    Ok(printing.await?)
}

/// The command's end: whoever closed the pipe has seen enough.
fn ended(printed: io::Result<bool>) -> Outcome {
    match printed {
        Ok(false) => Ok(Exit::Done),
        Ok(true) => Ok(Exit::Failed),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
        Err(error) => Err(Failure::new(format!("cannot write to standard output: {error}"))),
    }
}

/// Stdout, a JSON object a line.
struct Lines {
    out: BufWriter<Stdout>,
    /// Whether an input failed as a whole.
    has_failed: bool,
}

impl Lines {
    fn new() -> Self {
        Self { out: BufWriter::with_capacity(64 << 10, io::stdout()), has_failed: false }
    }

    fn print(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, line)?;
        self.out.write_all(b"\n")
    }

    /// A line for an input of which nothing could be told.
    fn fail(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.has_failed = true;
        self.print(line)
    }
}

/// A file as a whole, or one line that says why not.
fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let about = file.metadata().map_err(|error| error.to_string())?;
    if about.is_dir() {
        return Err("it is a folder; name the files in it".into());
    }
    if about.len() > most {
        return Err(too_large(most));
    }
    read_at_most(file, most)
}

/// As [`read_file`]; what begins as gzip is unpacked, and the limit is on what comes out.
fn read_unpacked(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let bytes = read_file(path, most)?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    read_at_most(MultiGzDecoder::new(bytes.as_slice()), most)
        .map_err(|error| format!("gzip: {error}"))
}

fn read_at_most(input: impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    // A pipe has no length to look at beforehand.
    input.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: u64) -> String {
    format!("it has more than the {} MiB that are read at once", most >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_than_the_limit_is_refused_packed_or_not() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("page.html.gz");
        let file = File::create(&path).unwrap();
        let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        packed.write_all(&[b'x'; 5_000]).unwrap();
        packed.finish().unwrap();
        assert_eq!(read_unpacked(&path, 5_000).unwrap().len(), 5_000);
        assert!(read_unpacked(&path, 4_999).unwrap_err().contains("more than"));
        assert!(read_file(&path, 10).unwrap_err().contains("more than"));
        assert!(read_file(folder.path(), 10).unwrap_err().contains("folder"));
        assert!(read_file(&folder.path().join("none"), 10).is_err());
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert_eq!(ended(Err(ErrorKind::BrokenPipe.into())).unwrap(), Exit::Done);
        assert_eq!(ended(Ok(true)).unwrap(), Exit::Failed);
        assert!(ended(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
