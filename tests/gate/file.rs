//! What a file may say, and what is said about one that is wrong.

use sluice::gate::File;

#[test]
fn a_file_without_work_for_a_gate_has_none() {
    for toml in [
        "",
        "[limits]\na = \"5/m\"\n",
        "[gate]\n",
        "[gate]\ntrusted_proxies = [\"10.0.0.0/8\"]\nallow = { path = \"/health\" }\n",
    ] {
        assert!(File::parse(toml).unwrap().gate.is_none(), "{toml}");
    }
    assert!(
        File::parse("[gate]\ndeny = { ip = \"192.0.2.1\" }\n")
            .unwrap()
            .gate
            .is_some()
    );
}

#[test]
fn a_policy_where_there_are_none() {
    let toml = "[[gate.rule]]\nname = \"r\"\nlimit = \"core\"\n";
    let errors = File::parse(toml).unwrap_err();
    let error = errors[0].to_string();
    assert_eq!((errors[0].line, errors[0].column), (3, 9), "{error}");
    assert!(
        error.contains("or a policy, and [limits] has none, found \"core\""),
        "{error}"
    );
}

#[test]
fn an_answer_has_no_headers_that_contradict_it() {
    for name in ["status", "Content-Length", "TRANSFER-ENCODING"] {
        let text = format!(
            "[[gate.rule]]\nname = \"r\"\nlimit = \"5/m\"\nanswer = {{ headers = {{ {name} = \"1\" }} }}\n"
        );
        let errors = File::parse(&text).unwrap_err();
        assert!(
            errors[0].to_string().contains("no such header"),
            "{errors:?}"
        );
    }
}

#[test]
fn an_error_names_its_place_and_what_is_allowed() {
    let rule = |line: &str| format!("[[gate.rule]]\nname = \"r\"\nlimit = \"5/m\"\n{line}\n");
    for (toml, place, expected) in [
        (rule("pth = \"/x\""), (4, 1), "expected name, path, host"),
        (rule("path = \"x\""), (4, 8), "starts with /"),
        (rule("path = \"/x?y=1\""), (4, 8), "without a query"),
        (rule("path = [\"/a\", \"/b/../c\"]"), (4, 15), "normal form"),
        (rule("path = \"/b%20c\""), (4, 8), "decoded"),
        (rule("path = \"//x\""), (4, 8), "normal form"),
        (rule("path = \"/a**\""), (4, 8), "whole name"),
        (rule("path = \"/[a\""), (4, 8), "unclosed"),
        (rule("path = []"), (4, 8), "leave it out"),
        (rule("path = 5"), (4, 8), "expected a path, found integer"),
        (rule("method = \"GET POST\""), (4, 10), "a method"),
        (rule("host = \"https://a.b\""), (4, 8), "a host such as"),
        (rule("host = \"a.*.b\""), (4, 8), "a host such as"),
        (rule("key = \"ipp\""), (4, 7), "\"cookie:NAME\""),
        (rule("key = \"header:\""), (4, 7), "\"header:NAME\""),
        (rule("dry_run = 1"), (4, 11), "true or false"),
        (rule("on_failure = \"open\""), (4, 14), "\"deny\""),
        (
            rule("answer = { status = 200 }"),
            (4, 21),
            "from 400 to 599",
        ),
        (
            rule("answer = { statsu = 429 }"),
            (4, 12),
            "expected status, json",
        ),
        (
            rule("answer = { json = \"{}\", text = \"x\" }"),
            (4, 25),
            "not both",
        ),
        (
            rule("answer = { headers = { \"X Y\" = \"z\" } }"),
            (4, 24),
            "on one line",
        ),
        (
            rule("answer = { headers = { X = \"a\\nb\" } }"),
            (4, 24),
            "on one line",
        ),
        ("[[gate.rule]]\nlimit = \"5/m\"\n".into(), (1, 1), "a name"),
        ("[[gate.rule]]\nname = \"r\"\n".into(), (1, 1), "a limit"),
        (
            "[[gate.rule]]\nname = \"allow\"\nlimit = \"5/m\"\n".into(),
            (2, 8),
            "the lists",
        ),
        (
            "[[gate.rule]]\nname = \"1\"\nlimit = \"5/m\"\n".into(),
            (2, 8),
            "not starting with a digit",
        ),
        (
            "[limits]\na = \"5/m\"\n[[gate.rule]]\nname = \"r\"\nlimit = \"b\"\n".into(),
            (5, 9),
            "(a), found \"b\"",
        ),
        (
            "[limits]\nr = \"5/m\"\n[[gate.rule]]\nname = \"r\"\nlimit = \"5/m\"\n".into(),
            (5, 9),
            "another limit of that name",
        ),
        (
            "[[gate.rule]]\nname = \"r\"\nlimit = \"5\"\n".into(),
            (3, 9),
            "\"per\"",
        ),
        (
            "[gate]\nrules = []\n".into(),
            (2, 1),
            "expected trusted_proxies",
        ),
        (
            "[gate]\ntrusted_proxies = \"10.0.0.0/33\"\n".into(),
            (2, 19),
            "a network such as",
        ),
        (
            "[gate]\nallow = { header = { X = [\"\"] } }\n".into(),
            (2, 27),
            "not empty",
        ),
        (
            "[gate]\nallow = { answer = { status = 403 } }\n".into(),
            (2, 11),
            "expected ip, path, header or log",
        ),
        ("[gates]\n".into(), (1, 2), "[limits] or [gate]"),
    ] {
        let errors = File::parse(&toml).unwrap_err();
        let error = &errors[0];
        assert_eq!((error.line, error.column), place, "{toml}{error}");
        assert!(error.to_string().contains(expected), "{toml}{error}");
    }
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let errors = File::parse("[[gate.rule]]\nname = \"a\"\n[[gate.rule]]\nname = \"b\"\nlimit = \"5/m\"\nkey = 1\n[[gate.rule]]\nname = \"c\"\nlimit = \"5/m\"\n").unwrap_err();
    let lines: Vec<_> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, [1, 6]);
}

#[test]
fn a_token_is_never_in_an_error() {
    for toml in [
        "[gate]\nallow = { header = { X = [\"topsecret\", 5] } }\n",
        "[gate]\nallow = { header = { \"X Y\" = \"topsecret\" } }\n",
    ] {
        let errors = File::parse(toml).unwrap_err();
        assert!(!format!("{errors:?}").contains("topsecret"));
    }
}
