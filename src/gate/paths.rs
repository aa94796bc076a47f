//! The path of a request, in every way in which somebody behind us may read it.
//!
//! nginx, PHP and frameworks do not agree on what `/a/../b`, `/b;c`, `//b` or
//! `/index.php/b` lead to. So a request has *readings*. What a rule is to catch
//! is caught if **any** reading matches; what the allow list is to let through
//! passes only if **all** of them match. Most paths read one way only.

use std::ops::Range;

use percent_encoding::percent_decode;

use super::pattern::PathPattern;
use super::request::{Request, query};

/// What the application behind us does with paths, besides the usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The query parameter that its framework takes the path from.
    pub parameter: Option<Vec<u8>>,
    /// Whether it takes `/Report` for `/report`. Patterns are in lower case then.
    pub ignores_case: bool,
}

/// The readings of one request. Reused from one to the next.
#[derive(Debug, Default)]
pub struct Paths {
    text: Vec<u8>,
    readings: Vec<Range<usize>>,
    /// The script that will run, whatever the path says.
    script: Option<Range<usize>>,
    decoded: Vec<u8>,
}

/// How a path is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// As servers map it to a file: `.` and `..` resolved.
    Resolved,
    /// As most frameworks route it: `.` and `..` are names like any other.
    Literal,
    /// As servers read it that cut parameters (`;x=1`) and NUL, that take a
    /// backslash or (`ThinkPHP`) a bar for a slash, or drop a name's final dots
    /// and spaces.
    Lenient,
}

impl Paths {
    /// Reads the path of a request.
    pub fn read<R: Request + ?Sized>(&mut self, request: &R, dialect: &Dialect) {
        self.text.clear();
        self.readings.clear();
        self.script = None;
        let script = script_of(request);
        let script_name = request.filled(c"SCRIPT_NAME");
        let path_info = request.filled(c"PATH_INFO");
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        let target = request.filled(c"REQUEST_URI").map(path_of);
        if let Some(target) = target {
            decode(target, &mut decoded);
            self.add_all(&decoded);
            self.add_without_host(target);
        } else if script_name.or(path_info).is_some() {
            // These two are decoded already.
            decoded.extend_from_slice(script_name.unwrap_or_default());
            decoded.extend_from_slice(path_info.unwrap_or_default());
            self.add_all(&decoded);
        }
        if let Some(script) = script {
            self.add_behind(&decoded, script);
            let encoded = target.filter(|target| target.contains(&b'%'));
            if let Some((_, behind)) = encoded.and_then(|target| split_at(target, script)) {
                // Who looks for the script before decoding finds another one.
                let mut decoded = Vec::new();
                decode(behind, &mut decoded);
                self.add_all(&decoded);
            }
            if let Some(name) = script_name.filter(|name| base_name(name) == script) {
                // In a directory it may also stand behind another of its name.
                let whole = name.strip_prefix(b"/").unwrap_or(name);
                if whole != script {
                    self.add_behind(&decoded, whole);
                }
                let start = self.text.len();
                write(name, Reading::Resolved, &mut self.text);
                self.script = Some(start..self.text.len());
            }
        }
        if let Some(path) = path_info {
            self.add_all(path);
        }
        let parameter = dialect.parameter.as_deref();
        if let Some(path) = parameter.and_then(|parameter| query(request, parameter)) {
            self.add_all(&path);
        }
        if dialect.ignores_case {
            self.text.make_ascii_lowercase();
        }
        self.decoded = decoded;
    }

    /// How much memory it keeps for the next request.
    pub(super) fn capacity(&self) -> usize {
        self.text.capacity() + self.decoded.capacity()
    }

    /// The shortest reading that one of the patterns matches, or of all if there
    /// are no patterns; empty if there is none. Whatever disguises a path makes
    /// it longer, so this is what all disguises of one path have in common.
    pub fn plainest(&self, patterns: &[PathPattern]) -> &[u8] {
        let is_meant = |reading: &&[u8]| {
            patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(reading))
        };
        let meant = self.readings().filter(is_meant);
        meant
            .min_by_key(|reading| reading.len())
            .unwrap_or_default()
    }

    /// All readings.
    pub fn readings(&self) -> impl Iterator<Item = &[u8]> {
        self.readings.iter().map(|range| &self.text[range.clone()])
    }

    /// Whether one of the patterns matches one of the readings.
    pub fn any_matches(&self, patterns: &[PathPattern]) -> bool {
        let script = self.script.clone().map(|range| &self.text[range]);
        patterns.iter().any(|pattern| {
            self.readings().any(|reading| pattern.matches(reading))
                || pattern.names_a_file() && script.is_some_and(|script| pattern.matches(script))
        })
    }

    /// Whether there is a reading, and each is matched by one of the patterns.
    pub fn all_match(&self, patterns: &[PathPattern]) -> bool {
        !self.readings.is_empty()
            && self
                .readings()
                .all(|reading| patterns.iter().any(|pattern| pattern.matches(reading)))
    }

    fn add_all(&mut self, decoded: &[u8]) {
        self.add(decoded, Reading::Resolved);
        if is_odd(decoded) {
            self.add(decoded, Reading::Literal);
            self.add(decoded, Reading::Lenient);
        }
    }

    fn add(&mut self, decoded: &[u8], reading: Reading) {
        let start = self.text.len();
        write(decoded, reading, &mut self.text);
        let new = &self.text[start..];
        if self.readings().any(|known| known == new) {
            self.text.truncate(start);
        } else {
            self.readings.push(start..self.text.len());
        }
    }

    /// The readings of `/index.php/report` and its like: what is behind the
    /// script, that at the script's place, and the script itself. Symfony finds
    /// its script anywhere in the path, so `/x/index.php/report` is one too.
    fn add_behind(&mut self, decoded: &[u8], script: &[u8]) {
        let Some((before, behind)) = split_at(decoded, script) else {
            return;
        };
        if behind.is_empty() && !base_name(script).starts_with(b"index.") {
            return;
        }
        self.add_all(behind);
        self.add_all(&[before, behind].concat());
        self.add_all(&decoded[..decoded.len() - behind.len()]);
    }

    /// The reading of `//example.com/report` that `parse_url()` has of it.
    fn add_without_host(&mut self, target: &[u8]) {
        let rest = target.strip_prefix(b"//").unwrap_or_default();
        let slash = rest.iter().position(|byte| *byte == b'/');
        let path = slash.map_or(&b""[..], |slash| &rest[slash..]);
        if path.iter().any(|byte| *byte != b'/') {
            let mut decoded = Vec::new();
            decode(path, &mut decoded);
            self.add_all(&decoded);
        }
    }
}

/// What stands before and behind the first `/` and script in a path.
fn split_at<'p>(path: &'p [u8], script: &[u8]) -> Option<(&'p [u8], &'p [u8])> {
    let mut slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    let (at, _) = slashes.find(|(at, _)| path[at + 1..].starts_with(script))?;
    Some((&path[..at], &path[at + 1 + script.len()..]))
}

/// The name of the script's file, if the server says which it is.
fn script_of<R: Request + ?Sized>(request: &R) -> Option<&[u8]> {
    let script = request
        .filled(c"SCRIPT_FILENAME")
        .or_else(|| request.filled(c"SCRIPT_NAME"))?;
    Some(base_name(script)).filter(|name| !name.is_empty())
}

fn base_name(path: &[u8]) -> &[u8] {
    let start = path.iter().rposition(|byte| *byte == b'/');
    &path[start.map_or(0, |slash| slash + 1)..]
}

/// The path of a request target, without scheme, host, query and fragment.
fn path_of(target: &[u8]) -> &[u8] {
    let end = target.iter().position(|byte| b"?#".contains(byte));
    let target = &target[..end.unwrap_or(target.len())];
    if target.first() == Some(&b'/') {
        return target;
    }
    let authority = target.windows(3).position(|window| window == b"://");
    match authority {
        Some(at) => {
            let rest = &target[at + 3..];
            let slash = rest.iter().position(|byte| *byte == b'/');
            slash.map_or(b"/", |slash| &rest[slash..])
        }
        None => target,
    }
}

/// Decodes once, as servers and frameworks do.
fn decode(path: &[u8], into: &mut Vec<u8>) {
    if path.contains(&b'%') {
        into.extend(percent_decode(path));
    } else {
        into.extend_from_slice(path);
    }
}

/// Whether there is more than one way to read a decoded path.
fn is_odd(decoded: &[u8]) -> bool {
    decoded.iter().any(|byte| b";\\|\0".contains(byte))
        || decoded
            .split(|byte| *byte == b'/')
            .any(|name| matches!(name.last(), Some(b'.' | b' ')))
}

/// Writes a path with one slash in front of each name and none at the end; the
/// root is `/`.
fn write(decoded: &[u8], reading: Reading, into: &mut Vec<u8>) {
    let start = into.len();
    let lenient = reading == Reading::Lenient;
    let end = decoded.iter().position(|byte| lenient && *byte == 0);
    let is_slash = |byte: &u8| *byte == b'/' || lenient && b"\\|".contains(byte);
    for mut name in decoded[..end.unwrap_or(decoded.len())].split(is_slash) {
        if lenient {
            let end = name.iter().position(|byte| *byte == b';');
            name = &name[..end.unwrap_or(name.len())];
            // What is left of a name of dots alone is one that moves.
            if name != b".." {
                let end = name.iter().rposition(|byte| !b". ".contains(byte));
                name = &name[..end.map_or(0, |end| end + 1)];
            }
        }
        match name {
            b"" => {}
            b"." if reading != Reading::Literal => {}
            b".." if reading != Reading::Literal => {
                let parent = into[start..].iter().rposition(|byte| *byte == b'/');
                into.truncate(start + parent.unwrap_or(0));
            }
            name => {
                into.push(b'/');
                into.extend_from_slice(name);
            }
        }
    }
    if into.len() == start {
        into.push(b'/');
    }
}
