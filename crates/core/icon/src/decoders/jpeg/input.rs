//! Reads a JPEG's bytes and markers, as libjpeg does (ITU-T T.81, annex B).

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Cut,
    Fault(&'static str),
}

impl From<Stop> for String {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Cut => "the file ends early".to_owned(),
            Stop::Fault(reason) => reason.to_owned(),
        }
    }
}

#[derive(Debug)]
pub(super) struct Input<'a> {
    rest: &'a [u8],
    pub(super) marker: Option<u8>,
    /// True if a marker appeared too early in a scan.
    pub(super) starved: bool,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, marker: None, starved: false }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    pub(super) fn byte(&mut self) -> Result<u8, Stop> {
        let (&byte, rest) = self.rest.split_first().ok_or(Stop::Cut)?;
        self.rest = rest;
        Ok(byte)
    }

    /// 0xFF followed by 0 is scan data, not a marker.
    pub(super) fn next_marker(&mut self) -> Result<u8, Stop> {
        loop {
            while self.byte()? != 0xFF {}
            let mut code = 0xFF;
            while code == 0xFF {
                code = self.byte()?;
            }
            if code != 0 {
                self.marker = Some(code);
                return Ok(code);
            }
        }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Stop> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Stop::Cut)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn length(&mut self) -> Result<usize, Stop> {
        let length = usize::from(u16::from_be_bytes([self.byte()?, self.byte()?]));
        // The length includes its own two bytes.
        length.checked_sub(2).ok_or(Stop::Fault("bad segment length"))
    }

    /// Reads a segment's contents. They are empty if the segment's length is below 2.
    pub(super) fn segment(&mut self) -> Result<&'a [u8], Stop> {
        match self.length() {
            Ok(length) => self.take(length),
            Err(Stop::Fault(_)) => Ok(&[]),
            Err(stop) => Err(stop),
        }
    }

    /// Reads the restart marker `expected`, 0..=7. Skips another marker or leaves it for later, by
    /// the rules of libjpeg's `jpeg_resync_to_restart`.
    pub(super) fn restart(&mut self, expected: u8) -> Result<(), Stop> {
        loop {
            let marker = match self.marker {
                Some(marker) => marker,
                None => self.next_marker()?,
            };
            let ahead = marker.wrapping_sub(0xD0).wrapping_sub(expected) & 7;
            match marker {
                0xD0..=0xD7 if matches!(ahead, 1 | 2) => return Ok(()),
                // Skip the restart marker of an earlier interval, or a byte that is not a valid
                // marker.
                0xD0..=0xD7 if matches!(ahead, 6 | 7) => self.marker = None,
                0..0xC0 => self.marker = None,
                0xD0..=0xD7 => {
                    self.marker = None;
                    return Ok(());
                }
                _ => return Ok(()),
            }
        }
    }
}
