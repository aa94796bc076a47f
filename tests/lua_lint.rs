//! The scripts touch no key that their caller did not name, and say in their
//! heads what they take and what they answer.
//!
//! Redis Cluster routes a call by the keys in it, and ACLs check those; a key
//! that a script makes up goes past both. So each command is written with its
//! name as a literal and its key as `KEYS[n]`, where a reader sees them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Commands without a key.
const NO_KEY: &[&str] = &["TIME"];

/// Commands with exactly one key, their first argument. One that is missing
/// here is looked up once and added.
const ONE_KEY: &[&str] = &[
    "GET",
    "SET",
    "ZADD",
    "ZCOUNT",
    "ZREM",
    "ZREMRANGEBYSCORE",
    "ZREVRANGE",
    "ZSCORE",
    "PTTL",
    "PEXPIRE",
    "INCRBY",
    "DECRBY",
    "HGET",
    "HSET",
    "HMGET",
    "HGETALL",
];

#[test]
fn every_script_keeps_to_its_keys_and_says_what_it_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lua");
    let mut scripts = 0;
    for entry in fs::read_dir(&folder).expect("the folder of scripts") {
        let path = entry.expect("a file").path();
        let source = fs::read_to_string(&path).expect("a text");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let faults = faults_of(&name, &source);
        assert!(faults.is_empty(), "{}: {faults:#?}", path.display());
        scripts += usize::from(code_of(&source).contains("KEYS"));
    }
    assert!(
        scripts >= 2,
        "only {scripts} scripts in {}",
        folder.display()
    );
}

#[test]
fn what_is_wrong_is_seen() {
    let good = "-- sample: does something.\n--\n-- KEYS[1]  the state\n-- ARGV[1]  a number\n\
                -- reply    what was there\n";
    let body = "return redis.call('GET', KEYS[1]) or ARGV[1]\n";
    let none: Vec<String> = Vec::new();
    assert_eq!(faults_of("sample", &format!("{good}{body}")), none);

    for (line, fault) in [
        ("redis.call('GET', key)", "no literal KEYS[n]"),
        (
            "redis.pcall('SET', 'a' .. KEYS[1], 1)",
            "no literal KEYS[n]",
        ),
        ("redis.call('GET', KEYS[1] .. 'a')", "no literal KEYS[n]"),
        ("redis.call('GET', KEYS[n])", "no literal KEYS[n]"),
        ("redis.call(\n  'GET',\n  'k'\n)", "no literal KEYS[n]"),
        ("redis.call(command, KEYS[1])", "no literal command"),
        ("redis.call('DEL', KEYS[1], 'other')", "neither list"),
        ("redis.call('EVAL', KEYS[1])", "neither list"),
        ("redis.call 'TIME'", "not called as it is"),
        ("local call = redis.call", "not called as it is"),
        ("redis['call']('GET', KEYS[1])", "not called as it is"),
        ("local r = redis", "not called as it is"),
        ("local keys = KEYS", "KEYS without a literal index"),
        (
            "for _, key in ipairs(KEYS) do end",
            "KEYS without a literal index",
        ),
        ("local x = KEYS[i]", "KEYS without a literal index"),
        ("local x = KEYS[2]", "KEYS[2] is not in the head"),
        ("local x = ARGV[2]", "ARGV[2] is not in the head"),
    ] {
        let faults = faults_of("sample", &format!("{good}{line}\n{body}"));
        assert!(
            faults.iter().any(|found| found.contains(fault)),
            "{line} passes for {fault}: {faults:?}"
        );
    }

    for (source, fault) in [
        (body.to_owned(), "no head"),
        (
            good.replace("sample", "other") + body,
            "does not start with",
        ),
        (
            good.replace("-- reply", "-- gives") + body,
            "reply is not in",
        ),
        (
            good.replace("-- KEYS[1]", "-- KEYS[2]") + body,
            "KEYS[2] is not in the code",
        ),
        (
            good.replace("-- ARGV[1]", "-- ARGV[1], ARGV[7]") + body,
            "ARGV[7] is not in the code",
        ),
    ] {
        let faults = faults_of("sample", &source);
        assert!(
            faults.iter().any(|found| found.contains(fault)),
            "{source} passes for {fault}: {faults:?}"
        );
    }
}

#[test]
fn words_in_comments_and_strings_are_no_code() {
    let source = "-- sample: says redis.call(x) and KEYS.\n\
                  local text = 'KEYS and redis' -- redis.call(KEYS)\n\
                  --[[ redis.call(KEYS)\n redis ]]\n\
                  return text\n";
    assert_eq!(faults_of("sample", source), Vec::<String>::new());
}

/// All that is wrong with a script or a part of one.
fn faults_of(name: &str, source: &str) -> Vec<String> {
    let code = code_of(source);
    let mut faults = calls(source, &code);
    faults.extend(bare_keys(&code));
    faults.extend(head(name, source, &code));
    faults
}

/// The source with spaces where comments and the insides of strings were, so
/// that places in one are places in the other.
fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("--[[") {
            rest.find("]]").map_or(rest.len(), |end| end + 2)
        } else if rest.starts_with("--") {
            rest.find('\n').unwrap_or(rest.len())
        } else if first == '\'' || first == '"' {
            rest[1..].find(first).map_or(rest.len(), |end| end + 2)
        } else {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let is_string = first != '-';
        for (index, byte) in rest[..length].bytes().enumerate() {
            let quote = is_string && (index == 0 || index + 1 == length);
            code.push(match byte {
                b'\n' => '\n',
                _ if quote => first,
                _ => ' ',
            });
        }
        rest = &rest[length..];
    }
    code
}

/// Each use of `redis`: a call of a known command on a literal key.
fn calls(source: &str, code: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for at in words(code, "redis") {
        let mut fault = |what: &str| {
            let line = source[at..].lines().next().unwrap_or_default();
            faults.push(format!("{what}: {line}"));
        };
        let Some(rest) = ["redis.call(", "redis.pcall("]
            .iter()
            .find(|start| code[at..].starts_with(**start))
            .map(|start| source[at + start.len()..].trim_start())
        else {
            fault("not called as it is");
            continue;
        };
        let command = rest
            .strip_prefix('\'')
            .and_then(|rest| rest.split_once('\''));
        let Some((command, rest)) = command else {
            fault("no literal command");
            continue;
        };
        if ONE_KEY.contains(&command) {
            if !has_literal_key(rest) {
                fault("no literal KEYS[n]");
            }
        } else if !NO_KEY.contains(&command) {
            fault("a command in neither list");
        }
    }
    faults
}

/// Whether what follows a command's name is `, KEYS[n]` and the next argument
/// or the end.
fn has_literal_key(rest: &str) -> bool {
    let key = rest.trim_start().strip_prefix(',').map(str::trim_start);
    let index = key.and_then(|key| key.strip_prefix("KEYS["));
    index
        .and_then(|index| index.split_once(']'))
        .is_some_and(|(number, after)| {
            number.parse::<u32>().is_ok() && after.trim_start().starts_with([',', ')'])
        })
}

/// Each use of `KEYS` that is not an element by its number.
fn bare_keys(code: &str) -> Vec<String> {
    words(code, "KEYS")
        .filter(|at| numbered(&code[*at..]).is_none())
        .map(|at| format!("KEYS without a literal index at {at}"))
        .collect()
}

/// What the comment at the start says, against what the code uses.
fn head(name: &str, source: &str, code: &str) -> Vec<String> {
    let lines = source.lines().take_while(|line| line.starts_with("--"));
    let head = lines.collect::<Vec<_>>().join("\n");
    if head.is_empty() {
        return vec!["no head".into()];
    }
    let mut faults = Vec::new();
    let title = format!("-- {}:", name.replace('_', " "));
    if !head.starts_with(&title) {
        faults.push(format!("does not start with {title}"));
    }
    // A part of every script takes nothing and answers nothing by itself.
    let used = elements(code);
    if used.is_empty() {
        return faults;
    }
    let told = elements(&head);
    for missing in used.difference(&told) {
        faults.push(format!("{missing} is not in the head"));
    }
    for missing in told.difference(&used) {
        faults.push(format!("{missing} is not in the code"));
    }
    if !head.lines().any(|line| line.starts_with("-- reply ")) {
        faults.push("the reply is not in the head".into());
    }
    faults
}

/// All of `KEYS[n]` and `ARGV[n]`.
fn elements(text: &str) -> BTreeSet<String> {
    ["KEYS", "ARGV"]
        .iter()
        .flat_map(|array| words(text, array))
        .filter_map(|at| numbered(&text[at..]))
        .collect()
}

/// `KEYS[1]` where the text starts so.
fn numbered(text: &str) -> Option<String> {
    let (array, rest) = text.split_at_checked(4)?;
    let (number, _) = rest.strip_prefix('[')?.split_once(']')?;
    let number: u32 = number.parse().ok()?;
    Some(format!("{array}[{number}]"))
}

/// Where a name stands by itself.
fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).filter_map(move |(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        (!before.is_some_and(in_name) && !after.is_some_and(in_name)).then_some(at)
    })
}
