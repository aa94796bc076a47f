//! Whatever bytes a client sends: no panic, no way around a rule.

use proptest::collection::vec;
use proptest::prelude::*;
use sluice::gate::{PathPattern, Verdict};

use crate::{Doorman, Variables, catches, get, passes};

/// One way to write a byte of a path.
fn written(byte: u8, how: u8) -> Vec<u8> {
    match how % 3 {
        0 => format!("%{byte:02X}").into_bytes(),
        1 => format!("%{byte:02x}").into_bytes(),
        _ => vec![byte],
    }
}

/// What may stand for a slash, without changing where the path leads.
const SLASHES: [&str; 9] = [
    "/",
    "//",
    "/./",
    "/x/../",
    "/%2e/",
    "%2F",
    "/x/%2E%2e/",
    "/x/y/../../",
    "/;p=1/",
];

/// What may stand behind a path.
const TAILS: [&str; 9] = ["", "/", "?a=b", "#x", ";v=1", "/.", "%00", "?", "//"];

/// What may stand in front of it.
const HEADS: [&str; 4] = ["", "http://example.com/", "/index.php", "/a/b/index.php"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_spelling_of_a_path_escapes_its_rule(
        hows in vec(0u8..6, 11),
        slashes in vec(0..SLASHES.len(), 2),
        tail in 0..TAILS.len(),
        head in 0..HEADS.len(),
    ) {
        let mut target = HEADS[head].as_bytes().to_vec();
        let mut hows = hows.into_iter();
        for (name, slash) in ["api", "reports"].iter().zip(slashes) {
            target.extend(SLASHES[slash].bytes());
            for byte in name.bytes() {
                target.extend(written(byte, hows.next().unwrap_or(2)));
            }
        }
        target.extend(TAILS[tail].bytes());
        for pattern in ["/api/reports", "/api/*", "/api/**", "/**/reports", "/*/rep*"] {
            prop_assert!(
                catches(pattern, &get(&target)),
                "{pattern} {}", String::from_utf8_lossy(&target)
            );
        }
    }

    #[test]
    fn any_bytes_anywhere_are_taken(
        values in vec(vec(any::<u8>(), 0..80), 10),
        odd in vec(prop::sample::select(b"/.%;?#\\:=&+,[]\"\0 af26-".to_vec()), 0..200),
    ) {
        const NAMES: [&str; 10] = [
            "REQUEST_METHOD", "REQUEST_URI", "REMOTE_ADDR", "HTTP_HOST", "SCRIPT_NAME",
            "PATH_INFO", "HTTP_COOKIE", "QUERY_STRING", "HTTP_X_FORWARDED_FOR", "SCRIPT_FILENAME",
        ];
        let toml = "[gate]\ntrusted_proxies = [\"0.0.0.0/0\", \"unix\"]\npath_parameter = \"s\"\nallow = { path = \"/h/*\", ip = \"::1\" }\ndeny = { path = \"/d/**\" }\n[[gate.rule]]\nname = \"r\"\npath = [\"/**/a*\", \"/b\"]\nhost = [\"*.a\", \"a\"]\nkey = [\"ip\", \"cookie:a\", \"query:a\", \"path\", \"host\"]\nlimit = \"9/h\"\n[[gate.rule]]\nname = \"s\"\nkey = \"ip\"\nlimit = \"9/h\"\n";
        let mut gate = Doorman::new(toml);
        let mut request = Variables::default();
        for (name, value) in NAMES.iter().zip(&values) {
            request = request.with(name, value);
        }
        gate.judge(&request);
        for name in NAMES {
            request = request.with(name, &odd);
            gate.judge(&request);
        }
    }

    /// What the allow list lets pass, a rule on the same path is about.
    #[test]
    fn what_passes_is_what_was_meant(
        odd in vec(prop::sample::select(vec![
            "/", "health", "report", ".", "..", "%2e", ";", "%2F", "index.php", "%00", "\\", " ", "?", "#", "x",
        ]), 0..8),
    ) {
        let target = format!("/{}", odd.concat());
        if passes("/health", &get(&target)) {
            prop_assert!(catches("/health", &get(&target)), "{target}");
            prop_assert!(!catches("/report", &get(&target)), "{target}");
        }
    }

    /// The glob agrees with the slowest and plainest one there is.
    #[test]
    fn wildcards_agree_with_their_definition(
        pattern in vec(prop::sample::select(vec!["a", "b", "ab", "*", "a*", "*b", "a*b*", "**"]), 1..5),
        path in vec(prop::sample::select(vec!["a", "b", "ab", "ba", "aabb", "c"]), 0..6),
    ) {
        let text = format!("/{}", pattern.join("/"));
        let compiled = PathPattern::parse(&text).unwrap();
        let joined = format!("/{}", path.join("/"));
        prop_assert_eq!(
            compiled.matches(joined.as_bytes()), names_match(&pattern, &path),
            "{} {}", text, joined
        );
    }
}

fn names_match(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => path.is_empty(),
        (Some((&"**", rest)), _) => (0..=path.len()).any(|skip| names_match(rest, &path[skip..])),
        (Some((name, rest)), Some((given, more))) => {
            name_matches(name.as_bytes(), given.as_bytes()) && names_match(rest, more)
        }
        (Some(_), None) => false,
    }
}

fn name_matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|skip| name_matches(rest, &name[skip..])),
        Some((byte, rest)) => name.first() == Some(byte) && name_matches(rest, &name[1..]),
    }
}

#[test]
fn a_megabyte_is_a_path_like_any_other() {
    for long in [
        "/".repeat(1 << 20),
        "/a".repeat(1 << 19),
        "/..".repeat(1 << 18),
        "%2f".repeat(1 << 18),
        "/index.php".repeat(100_000),
        ";".repeat(1 << 20),
    ] {
        assert!(catches("/report", &get(format!("/report?{long}"))));
        assert!(catches("/**/x", &get(format!("{long}/x"))));
        assert!(!passes("/health", &get(format!("{long}/report"))));
    }
    let mut gate = Doorman::new(
        "[[gate.rule]]\nname = \"r\"\nkey = [\"path\", \"cookie:a\", \"query:a\"]\nlimit = \"9/h\"\n",
    );
    let long = "a=b;&".repeat(200_000);
    let request = get(&long)
        .with("HTTP_COOKIE", &long)
        .with("QUERY_STRING", &long);
    assert_eq!(gate.judge(&request), Verdict::Allowed);
}
