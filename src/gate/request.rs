//! What the gate reads of a request: the variables of CGI, and nothing else.

use std::ffi::{CStr, CString};

use percent_encoding::percent_decode;

/// A request as its server describes it.
pub trait Request {
    /// A variable of CGI (RFC 3875), such as `REMOTE_ADDR` or `HTTP_COOKIE`;
    /// `None` if the server did not send it.
    fn variable(&self, name: &CStr) -> Option<&[u8]>;

    /// The same, if it is not empty.
    fn filled(&self, name: &CStr) -> Option<&[u8]> {
        self.variable(name).filter(|value| !value.is_empty())
    }

    /// How many variables PHP takes from a query or from cookies
    /// (`max_input_vars`). It does not see what stands behind them.
    fn most_variables(&self) -> usize {
        1000
    }
}

/// The name of a header, and the variable that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// As people write it.
    pub name: String,
    variable: CString,
}

impl Header {
    /// A header by its name; `None` if no header can be called so.
    pub fn new(name: &str) -> Option<Self> {
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let upper = name.to_ascii_uppercase().replace('-', "_");
        let variable = match upper.as_str() {
            "CONTENT_TYPE" | "CONTENT_LENGTH" => upper,
            _ => format!("HTTP_{upper}"),
        };
        is_name.then(|| Self {
            name: name.to_owned(),
            variable: CString::new(variable).unwrap_or_default(),
        })
    }

    /// Its value in a request, without the space around it.
    pub fn of<'r, R: Request + ?Sized>(&self, request: &'r R) -> Option<&'r [u8]> {
        request.filled(&self.variable).map(<[u8]>::trim_ascii)
    }
}

/// The host that a request is for: lower case, without port and final dot.
pub fn host<R: Request + ?Sized>(request: &R, into: &mut Vec<u8>) {
    into.clear();
    let given = request
        .filled(c"HTTP_HOST")
        .or_else(|| request.filled(c"SERVER_NAME"));
    if let Some(given) = given {
        normal_host(given, into);
    }
}

/// Writes a host in the form in which hosts are compared.
pub fn normal_host(given: &[u8], into: &mut Vec<u8>) {
    let given = given.trim_ascii();
    let name = if given.first() == Some(&b'[') {
        let end = given.iter().position(|byte| *byte == b']');
        end.map_or(given, |end| &given[..=end])
    } else {
        let end = given.iter().position(|byte| *byte == b':');
        end.map_or(given, |end| &given[..end])
    };
    let name = name.strip_suffix(b".").unwrap_or(name);
    into.extend(name.iter().map(u8::to_ascii_lowercase));
}

/// The value of a cookie, decoded. Of several the first, as in `$_COOKIE`.
pub fn cookie<R: Request + ?Sized>(request: &R, name: &[u8]) -> Option<Vec<u8>> {
    const SPACE: [u8; 6] = *b" \t\n\x0b\x0c\r";
    let wanted = PhpName::of(name.iter().copied()).name;
    let pairs = request.filled(c"HTTP_COOKIE")?.split(|byte| *byte == b';');
    pairs
        .map(|pair| {
            let start = pair.iter().position(|byte| !SPACE.contains(byte));
            &pair[start.unwrap_or(pair.len())..]
        })
        .filter(|pair| !matches!(pair.first(), None | Some(b'=')))
        .take(request.most_variables())
        .find_map(|pair| {
            let (raw, value) = split_pair(pair);
            let given = PhpName::of(raw.iter().copied());
            // Nobody gets these prefixes by way of a dot.
            let is_forged = given.name != raw
                && (given.name.starts_with(b"__Host-") || given.name.starts_with(b"__Secure-"));
            // A plus is a plus in a cookie.
            (given.name == wanted && !is_forged).then(|| given.value(percent_decode(value)))
        })
}

/// The value of a query parameter, decoded. Of several the last, as in `$_GET`.
pub fn query<R: Request + ?Sized>(request: &R, name: &[u8]) -> Option<Vec<u8>> {
    let all = request.filled(c"QUERY_STRING").or_else(|| {
        let target = request.filled(c"REQUEST_URI")?;
        let at = target.iter().position(|byte| *byte == b'?')?;
        Some(&target[at + 1..])
    })?;
    let wanted = PhpName::of(name.iter().copied()).name;
    all.split(|byte| *byte == b'&')
        .filter(|pair| !pair.is_empty())
        .take(request.most_variables())
        .filter_map(|pair| {
            let (raw, value) = split_pair(pair);
            let given = PhpName::of(form_decoded(raw));
            (given.name == wanted).then_some((given, value))
        })
        .last()
        .map(|(given, value)| given.value(form_decoded(value)))
}

/// The name under which PHP files a variable: up to a NUL, without leading
/// spaces, and with an underscore for what a name cannot have. Who asks for
/// `sid` is also given `sid[x]`, an array.
struct PhpName {
    name: Vec<u8>,
    is_array: bool,
}

impl PhpName {
    fn of(given: impl Iterator<Item = u8>) -> Self {
        let up_to_nul = given.take_while(|byte| *byte != 0);
        let mut name: Vec<u8> = up_to_nul.skip_while(|byte| *byte == b' ').collect();
        let bracket = name.iter().position(|byte| *byte == b'[');
        let closed = bracket.filter(|at| name[at + 1..].contains(&b']'));
        name.truncate(closed.unwrap_or(name.len()));
        for byte in &mut name {
            if b" .[".contains(byte) {
                *byte = b'_';
            }
        }
        Self {
            name,
            is_array: closed.is_some(),
        }
    }

    /// Its value. An array is no value that anybody could be counted by.
    fn value(&self, text: impl Iterator<Item = u8>) -> Vec<u8> {
        if self.is_array {
            Vec::new()
        } else {
            text.collect()
        }
    }
}

fn split_pair(pair: &[u8]) -> (&[u8], &[u8]) {
    match pair.iter().position(|byte| *byte == b'=') {
        Some(at) => (&pair[..at], &pair[at + 1..]),
        None => (pair, b""),
    }
}

fn form_decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    // A plus is a space only where it is not itself encoded.
    text.split_inclusive(|byte| *byte == b'+').flat_map(|part| {
        let (part, space) = match part.strip_suffix(b"+") {
            Some(part) => (part, Some(b' ')),
            None => (part, None),
        };
        percent_decode(part).chain(space)
    })
}
