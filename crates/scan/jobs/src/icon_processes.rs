//! Converts icons in sandboxed child processes, which run this same program. Every reply is
//! validated, because an attacker who exploits a decoder controls it.

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

const ARGUMENT: &str = "convert-icons";
/// The running program, even if its file has been replaced since it started.
const PROGRAM: &str = "/proc/self/exe";
/// Resource limits for a decoder process, which handles one batch of icons at a time.
const LIMITS: ProcessLimits =
    ProcessLimits { address_space: 512 << 20, processor_time: Duration::from_secs(60) };
/// In debug builds, this variable names a fault that a decoder process simulates for each corrupt
/// icon.
const FAULT_VARIABLE: &str = "EVERYTAB_TEST_DECODER";
/// The reason for an icon that crashes two processes, or whose reply is malformed.
pub(crate) const CRASHED: &str = "crashed";
/// Bytes in a reply before the PNG: four single bytes, the source's dimensions and the thumbnail.
const HEAD_BYTES: usize = 4 + 4 + 4 + THUMBNAIL_BYTES;
/// Maximum bytes in a tab icon, which is more than its uncompressed pixels take.
const MAX_PNG_BYTES: usize = 8 << 10;
const PNG_START: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

/// Why an icon was not converted: a kind of [`IconError`], or [`CRASHED`].
pub type Reason = &'static str;

/// A tab icon, with its thumbnail for the map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedIcon {
    /// The tab's icon.
    pub icon: TabIcon,
    /// The icon's thumbnail. It is made from the tab icon, because a takedown that redraws this
    /// thumbnail has no other icon.
    pub thumbnail: Thumbnail,
}

/// Converts icons until the input ends, if this program was started to do so. Otherwise returns
/// `None`. A program must call this before it starts a thread.
pub fn serve_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != ARGUMENT {
        return None;
    }
    // A decoder's panic is an outcome, and nothing reads its message.
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

/// Returns the sandbox whose processes convert icons. The program must have called
/// [`serve_if_asked`].
pub fn sandbox() -> Sandbox {
    let arguments = [Some(ARGUMENT.to_owned()), wanted_fault()];
    Sandbox::new(PROGRAM, arguments.into_iter().flatten().collect())
}

/// Converts icons, and passes each index and result to `converted`. Blocks the thread.
///
/// # Errors
///
/// Returns an error if the sandbox fails, which says nothing about the icons.
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
                tracing::warn!(how, "a decoder process died while converting an icon");
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
    // Width, height and the number of formats each fit into a byte.
    answer.extend([1 + u8::from(*blank), format as u8, *width as u8, *height as u8]);
    answer.extend(source.width.to_le_bytes());
    answer.extend(source.height.to_le_bytes());
    answer.extend(thumbnail);
    answer.extend(png);
    answer
}

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

fn wanted_fault() -> Option<String> {
    cfg!(debug_assertions).then(|| std::env::var(FAULT_VARIABLE).ok())?
}

/// Attempts an action that the sandbox must prevent.
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
