//! A recorded crawl's icons, from its WARC files or else its `icons/` directory. Only an index of
//! URLs is kept in memory.

mod answers;

use std::{
    fs,
    path::{Path, PathBuf},
};

use answers::Answers;

use crate::{dice::Dice, error::TestbedError, request::Request, stored_response::StoredResponse};

/// The directory for icons that are broken on purpose. No host serves them.
const BROKEN: &str = "broken";

#[derive(Debug)]
pub(crate) struct Recording {
    answers: Answers,
    icons: Vec<(String, PathBuf)>,
}

impl Recording {
    pub(crate) fn open(dir: &Path) -> Result<Self, TestbedError> {
        let mut warcs = Vec::new();
        walk(dir, &mut |path| {
            if path.to_str().is_some_and(|name| name.ends_with(".warc.gz")) {
                warcs.push(path.to_owned());
            }
        })?;
        let mut icons = Vec::new();
        let folder = dir.join("icons");
        if folder.is_dir() {
            walk(&folder, &mut |path| {
                let format = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
                if let Some(format) = format.filter(|format| *format != BROKEN) {
                    icons.push((format.to_owned(), path.to_owned()));
                }
            })?;
        }
        Ok(Self { answers: Answers::read(warcs)?, icons })
    }

    pub(crate) fn response(&self, seed: u64, request: &Request) -> Option<StoredResponse> {
        let Request { https, host, target, .. } = request;
        self.answers.find(*https, host, target).or_else(|| self.icon(seed, host, request.path()))
    }

    /// The icon has the path's format, if such icons exist.
    fn icon(&self, seed: u64, host: &str, path: &str) -> Option<StoredResponse> {
        let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
        let extension = name.rsplit_once('.').map(|(_, extension)| extension);
        let not_an_icon = ["html", "htm", "php", "js", "css", "txt", "xml", "json", "asp", "aspx"];
        if name.is_empty() || extension.is_some_and(|name| not_an_icon.contains(&name)) {
            return None;
        }
        let format = match extension {
            Some("jpg") => "jpeg",
            Some(extension) => extension,
            None => "png",
        };
        let of_format = self.icons.iter().filter(|(known, _)| known == format).count();
        let mut dice = Dice::new(seed, &["recorded icon", host, path]);
        let (format, file) = if of_format > 0 {
            let at = dice.below(of_format as u64) as usize;
            self.icons.iter().filter(|(known, _)| known == format).nth(at)?
        } else {
            self.icons.get(dice.below(self.icons.len() as u64) as usize)?
        };
        let content_type = match format.as_str() {
            "ico" => "image/x-icon".to_owned(),
            "svg" => "image/svg+xml".to_owned(),
            other => format!("image/{other}"),
        };
        let body = fs::read(file).ok()?.into();
        Some(StoredResponse {
            status: 200,
            headers: vec![("content-type".into(), content_type)],
            body,
        })
    }
}

fn walk(folder: &Path, found: &mut impl FnMut(&Path)) -> Result<(), TestbedError> {
    let mut entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>())
        .map_err(TestbedError::file(folder))?;
    entries.sort();
    for path in entries {
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found(&path);
        }
    }
    Ok(())
}
