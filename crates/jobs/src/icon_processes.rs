//! Converts icons in processes that can do no harm: this program, started again (see
//! `everytab_sandbox`).
//!
//! An item is a choice of colours and the bytes of an icon, its answer a tab icon with its
//! thumbnail, or the reason why there is none. Invariant: an answer is checked before it is
//! believed, for a decoder with a fault says what a stranger wants.
//! Must not know: which icon of which host it is.

use std::{process::ExitCode, time::Duration};

use everytab_bundler::map::BACKGROUND;
use everytab_icon::{
    Format, IconError, Measured,
    convert::{TabIcon, to_tab_icon_with},
    limits::TAB_ICON_PIXELS,
    png::Colours,
    thumbnail::{THUMBNAIL_BYTES, Thumbnail, thumbnail},
};
use everytab_sandbox::{Crash, ProcessLimits, Sandbox, SandboxError, serve};

/// What the program is started with instead of a command.
const ARGUMENT: &str = "convert-icons";
/// This very program, also when the file has another one by now.
const PROGRAM: &str = "/proc/self/exe";
/// What a process of decoders may use. The address space has room for the program, a batch and four
/// times the largest picture; no icon within the limits takes a second of processor time, and a
/// batch is some dozens.
const LIMITS: ProcessLimits =
    ProcessLimits { address_space: 512 << 20, processor_time: Duration::from_secs(60) };
/// Names a fault that each corrupt icon has in the process that decodes it, in debug builds.
const FAULT_VARIABLE: &str = "EVERYTAB_TEST_DECODER";
/// The reason of an icon that ends two processes.
pub(crate) const CRASHED: &str = "crashed";
/// Bytes before the PNG of an answer: four of one byte, two sides, the thumbnail.
const HEAD_BYTES: usize = 4 + 4 + 4 + THUMBNAIL_BYTES;
/// Greatest number of bytes of a tab icon: more than those of its pixels as they are.
const MAX_PNG_BYTES: usize = 8 << 10;
/// What a PNG begins with, up to its width.
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Why an icon was not converted: a kind of [`IconError`], or [`CRASHED`].
pub type Reason = &'static str;

/// A tab icon, and how the map shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedIcon {
    /// The icon of the tab.
    pub icon: TabIcon,
    /// The thumbnail is of the tab's icon, not of the original: a takedown has nothing else to
    /// draw it again.
    pub thumbnail: Thumbnail,
}

/// Where this program was started to convert icons, does so until no more come. A program calls it
/// first, before there is another thread.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    // A decoder's panic is an outcome, and nobody reads what is said of it.
    std::panic::set_hook(Box::new(|_| {}));
    let fault = arguments.next().filter(|_| cfg!(debug_assertions));
    let fault = fault.and_then(|name| name.into_string().ok());
    Some(serve(LIMITS, move |item| {
        let converted = perform(item);
        if converted == Err("image_corrupt") {
            fault.as_deref().into_iter().for_each(have_fault);
        }
        write(&converted)
    }))
}

/// The processes that convert icons for this program, which calls [`serve_if_asked`].
pub fn sandbox() -> Sandbox {
    let arguments = [Some(ARGUMENT.to_owned()), wanted_fault()];
    Sandbox::new(PROGRAM, arguments.into_iter().flatten().collect())
}

/// Converts icons, and hands over the number and the result of each as it comes. Blocks the thread.
///
/// # Errors
/// Trouble of this machine, which says nothing about the icons.
pub fn convert(
    sandbox: &Sandbox,
    icons: &[&[u8]],
    colours: Colours,
    mut converted: impl FnMut(usize, Result<ConvertedIcon, Reason>),
) -> Result<(), SandboxError> {
    let colours = Colours::ALL.iter().position(|one| *one == colours).unwrap_or_default() as u8;
    let items: Vec<Vec<u8>> = icons.iter().map(|icon| [&[colours], *icon].concat()).collect();
    let items: Vec<&[u8]> = items.iter().map(Vec::as_slice).collect();
    sandbox.perform(&items, |number, answer| {
        let icon = match answer {
            Ok(answer) => read(&answer).unwrap_or(Err(CRASHED)),
            Err(Crash { how }) => {
                tracing::warn!(how, "an icon ended the process that decoded it");
                Err(CRASHED)
            }
        };
        converted(number, icon);
    })
}

fn perform(item: &[u8]) -> Result<ConvertedIcon, Reason> {
    let (colours, icon) = item.split_first().ok_or("empty_body")?;
    let colours = Colours::ALL.get(usize::from(*colours)).copied().unwrap_or(Colours::Auto);
    let icon = to_tab_icon_with(icon, colours).map_err(|error| error.kind())?;
    let thumbnail = thumbnail(&icon.png, BACKGROUND);
    Ok(ConvertedIcon { icon, thumbnail })
}

fn write(converted: &Result<ConvertedIcon, Reason>) -> Vec<u8> {
    let ConvertedIcon { icon, thumbnail } = match converted {
        Ok(converted) => converted,
        Err(reason) => return [&[0], reason.as_bytes()].concat(),
    };
    let TabIcon { png, width, height, source, blank } = icon;
    let format = Format::ALL.iter().position(|one| *one == source.format).unwrap_or_default();
    let mut answer = Vec::with_capacity(HEAD_BYTES + png.len());
    // Sides and the number of formats fit into a byte.
    answer.extend([1 + u8::from(*blank), format as u8, *width as u8, *height as u8]);
    answer.extend(source.width.to_le_bytes());
    answer.extend(source.height.to_le_bytes());
    answer.extend(thumbnail);
    answer.extend(png);
    answer
}

/// Reads an answer; `None` if it is none that this program gives.
fn read(answer: &[u8]) -> Option<Result<ConvertedIcon, Reason>> {
    if let Some(reason) = answer.strip_prefix(&[0]) {
        return IconError::KINDS.into_iter().find(|kind| kind.as_bytes() == reason).map(Err);
    }
    let (head, png) = answer.split_at_checked(HEAD_BYTES)?;
    let [kind, format, width, height] = *head.first_chunk()?;
    let (sides, thumbnail) = head.get(4..)?.split_at_checked(8)?;
    let (source_width, source_height) = sides.split_at_checked(4)?;
    let number = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
    let format = *Format::ALL.get(usize::from(format))?;
    let (width, height) = (u32::from(width), u32::from(height));
    let sides = 1..=TAB_ICON_PIXELS;
    let is_icon = [1, 2].contains(&kind) && sides.contains(&width) && sides.contains(&height);
    let start = [PNG_START, &width.to_be_bytes(), &height.to_be_bytes()].concat();
    if !is_icon || png.len() > MAX_PNG_BYTES || !png.starts_with(&start) {
        return None;
    }
    let source = Measured {
        format,
        content_type: format.content_type(),
        width: number(source_width)?,
        height: number(source_height)?,
    };
    let icon = TabIcon { png: png.to_vec(), width, height, source, blank: kind == 2 };
    Some(Ok(ConvertedIcon { icon, thumbnail: thumbnail.try_into().ok()? }))
}

/// A fault that a test wants of decoders: only a debug build knows the variable that names it.
fn wanted_fault() -> Option<String> {
    cfg!(debug_assertions).then(|| std::env::var(FAULT_VARIABLE).ok())?
}

/// Does what a decoder must not.
#[allow(clippy::disallowed_methods)]
fn have_fault(name: &str) {
    match name {
        "abort" => std::process::abort(),
        "allocate" => drop(std::hint::black_box(vec![1_u8; 1 << 30])),
        "file" => drop(std::fs::read("/etc/hostname")),
        "socket" => drop(std::net::TcpStream::connect("127.0.0.1:9")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(svg: &str) -> Result<ConvertedIcon, Reason> {
        perform(&[&[0], svg.as_bytes()].concat())
    }

    const SVG: &str = "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 8'>\
                       <path fill='red' d='M0 0h16v8H0z'/></svg>";

    #[test]
    fn answers_are_read_as_they_were_written() {
        let icon = converted(SVG);
        assert_eq!(icon.as_ref().unwrap().icon.width, 32);
        assert_eq!(read(&write(&icon)), Some(icon));
        for kind in IconError::KINDS {
            assert_eq!(read(&write(&Err(kind))), Some(Err(kind)));
        }
    }

    #[test]
    fn an_answer_that_is_none_is_not_believed() {
        let whole = write(&converted(SVG));
        let changed = |at: usize, byte: u8| {
            let mut answer = whole.clone();
            answer[at] = byte;
            answer
        };
        let long = [whole.clone(), vec![0; MAX_PNG_BYTES]].concat();
        for wrong in [
            Vec::new(),
            b"\0no kind".to_vec(),
            whole[..HEAD_BYTES].to_vec(),
            whole[..HEAD_BYTES - 1].to_vec(),
            changed(0, 3),
            changed(1, 200),
            changed(2, 33),
            changed(2, 0),
            changed(3, 15),
            changed(HEAD_BYTES + 1, b'p'),
            long,
        ] {
            assert_eq!(read(&wrong), None, "{wrong:?}");
        }
    }
}
