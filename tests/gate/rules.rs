//! Methods, hosts, keys, lists, and several rules at once.

use std::sync::Arc;

use sluice::gate::{Reason, Verdict};
use sluice::limit::Micros;
use sluice::store::shm::{Mapping, SharedMemory, Table};

use crate::{Doorman, get};

#[test]
fn a_method_is_the_one_that_runs() {
    let mut gate = Doorman::new(
        "[[gate.rule]]\nname = \"get\"\nmethod = \"GET\"\nlimit = \"99/h\"\n[[gate.rule]]\nname = \"write\"\nmethod = [\"POST\", \"delete\"]\nlimit = \"99/h\"\n",
    );
    for (method, rules) in [
        ("GET", &["get"][..]),
        ("get", &["get"]),
        ("HEAD", &["get"]),
        ("POST", &["write"]),
        ("DELETE", &["write"]),
        ("PUT", &[]),
    ] {
        assert_eq!(
            gate.rules(&get("/").with("REQUEST_METHOD", method)),
            rules,
            "{method}"
        );
    }
    let overridden = get("/")
        .with("REQUEST_METHOD", "PUT")
        .with("HTTP_X_HTTP_METHOD_OVERRIDE", "DELETE");
    assert_eq!(gate.rules(&overridden), ["write"]);
    let by_query = get("/")
        .with("REQUEST_METHOD", "PUT")
        .with("QUERY_STRING", "_method=delete");
    assert_eq!(gate.rules(&by_query), ["write"]);
}

#[test]
fn a_host_has_neither_case_nor_port_nor_final_dot() {
    let mut gate = Doorman::new(
        "[[gate.rule]]\nname = \"one\"\nhost = \"Example.com\"\nlimit = \"99/h\"\n[[gate.rule]]\nname = \"below\"\nhost = \"*.example.com\"\nlimit = \"99/h\"\n[[gate.rule]]\nname = \"six\"\nhost = \"[::1]\"\nlimit = \"99/h\"\n",
    );
    for (host, rules) in [
        ("example.com", &["one"][..]),
        ("EXAMPLE.com:8080", &["one"]),
        ("example.com.", &["one"]),
        ("a.example.com", &["below"]),
        ("a.b.example.com.:80", &["below"]),
        (".example.com", &[]),
        ("badexample.com", &[]),
        ("[::1]:80", &["six"]),
        ("", &[]),
    ] {
        assert_eq!(
            gate.rules(&get("/").with("HTTP_HOST", host)),
            rules,
            "{host}"
        );
    }
    let none = get("/")
        .with("HTTP_HOST", "")
        .with("SERVER_NAME", "example.com");
    assert_eq!(gate.rules(&none), ["one"]);
}

#[test]
fn a_key_is_made_of_its_parts() {
    let request = get("/a//b?token=t%31&x=1&token=t2")
        .with("QUERY_STRING", "token=t%31&x=1&token=t2")
        .with("HTTP_X_API_KEY", " secret ")
        .with("HTTP_COOKIE", "a=1; sid=s%20+1; sid=other")
        .with("CONTENT_TYPE", "text/html");
    for (key, expected) in [
        ("\"header:X-Api-Key\"", "header:x-api-key=secret"),
        ("\"header:Content-Type\"", "header:content-type=text/html"),
        ("\"cookie:sid\"", "cookie:sid=s +1"),
        ("\"query:token\"", "query:token=t2"),
        ("\"path\"", "path=/a/b"),
        ("\"host\"", "host=example.com"),
        ("[\"ip\", \"query:x\"]", "ip,query:x=11:203.0.113.7,1:1"),
        ("\"header:X-Other\"", "header:x-other="),
    ] {
        let mut gate = Doorman::new(&format!(
            "[[gate.rule]]\nname = \"r\"\nkey = {key}\nlimit = \"9/h\"\n"
        ));
        assert_eq!(gate.key(&request), expected);
    }
    let mut gate = Doorman::new("[[gate.rule]]\nname = \"r\"\nlimit = \"9/h\"\n");
    assert_eq!(gate.key(&request), "");
}

/// As `$_COOKIE` and `$_GET` have them, or a client has as many keys as it likes.
#[test]
fn a_value_is_the_one_that_php_sees() {
    let mut gate =
        Doorman::new("[[gate.rule]]\nname = \"r\"\nkey = \"cookie:my_sid\"\nlimit = \"9/h\"\n");
    for (cookies, value) in [
        ("my.sid=real; my_sid=new", "real"),
        ("my[sid=real; my_sid=new", "real"),
        ("my sid=real; my_sid=new", "real"),
        ("\x0b my_sid=real; my_sid=new", "real"),
        ("my_sid%00=new; my_sid=real", "real"),
        ("my_sid[]=new; my_sid=other", ""),
        ("my_sid=a+b", "a+b"),
        ("my_sid=a%2Bb", "a+b"),
    ] {
        let key = gate.key(&get("/").with("HTTP_COOKIE", cookies));
        assert_eq!(key, format!("cookie:my_sid={value}"), "{cookies}");
    }
    let mut gate =
        Doorman::new("[[gate.rule]]\nname = \"r\"\nkey = \"cookie:__Host-sid\"\nlimit = \"9/h\"\n");
    let request = get("/").with("HTTP_COOKIE", "..Host-sid=new; __Host-sid=real");
    assert_eq!(gate.key(&request), "cookie:__Host-sid=real");
    let mut gate =
        Doorman::new("[[gate.rule]]\nname = \"r\"\nkey = \"query:my_id\"\nlimit = \"9/h\"\n");
    for (query, value) in [
        ("my_id=new&my.id=real", "real"),
        ("my_id=new&my[id=real", "real"),
        ("my_id=new&my_id%00x=real", "real"),
        ("my_id=new&my_id[x]=real", ""),
        ("my_id=real&[my_id]=new", "real"),
        (
            &format!("my_id=real{}&my_id=new", "&&a".repeat(999)),
            "real",
        ),
    ] {
        let key = gate.key(&get("/").with("QUERY_STRING", query));
        assert_eq!(key, format!("query:my_id={value}"), "{query}");
    }
}

#[test]
fn a_disguise_of_a_path_is_no_new_key() {
    for path in ["path = \"/report\"\n", "path = \"/**\"\n", ""] {
        let mut gate = Doorman::new(&format!(
            "[[gate.rule]]\nname = \"r\"\n{path}key = \"path\"\nlimit = \"9/h\"\n"
        ));
        for target in [
            "/report",
            "//report/",
            "/report;1",
            "/x/../report",
            "/x;y/../report.",
            "/a/index.php/report",
            "/index.php/report",
            "/report%00x",
        ] {
            assert_eq!(gate.key(&get(target)), "path=/report", "{path}{target}");
        }
    }
}

#[test]
fn no_two_clients_meet_in_one_key() {
    let mut gate = Doorman::new(
        "[[gate.rule]]\nname = \"r\"\nkey = [\"header:A\", \"header:B\"]\nlimit = \"9/h\"\n",
    );
    let mut seen = std::collections::HashSet::new();
    for (a, b) in [
        ("a", "b"),
        ("a,1:b", ""),
        ("", "a,1:b"),
        ("ab", ""),
        ("", "ab"),
        ("", ""),
        ("a", ""),
        ("", "a"),
    ] {
        let request = get("/").with("HTTP_A", a).with("HTTP_B", b);
        assert!(seen.insert(gate.key(&request)), "{a} {b}");
    }
}

#[test]
fn who_leaves_the_key_out_does_not_escape() {
    let mut gate =
        Doorman::new("[[gate.rule]]\nname = \"r\"\nkey = \"header:X-Api-Key\"\nlimit = \"2/h\"\n");
    let verdicts: Vec<_> = (0..3).map(|_| gate.judge(&get("/"))).collect();
    assert_eq!(
        verdicts,
        [Verdict::Allowed, Verdict::Allowed, Verdict::Refused]
    );
    assert_eq!(
        gate.judge(&get("/").with("HTTP_X_API_KEY", "k")),
        Verdict::Allowed
    );
}

#[test]
fn all_rules_about_a_request_are_charged_or_none_is() {
    let mut gate = Doorman::new(
        "[limits]\nshared = \"10/h\"\n[[gate.rule]]\nname = \"wide\"\nlimit = \"shared\"\n[[gate.rule]]\nname = \"narrow\"\npath = \"/report\"\nlimit = [\"3/h\", \"1/m\"]\n",
    );
    assert_eq!(gate.judge(&get("/report")), Verdict::Allowed);
    assert_eq!(gate.remaining(), [9, 2, 0]);
    for _ in 0..5 {
        assert_eq!(gate.judge(&get("/report")), Verdict::Refused);
        assert_eq!(gate.remaining(), [9, 2, 0], "a refusal charged something");
    }
    assert_eq!(gate.case.speaker(), Some(2));
    assert_eq!(gate.judge(&get("/")), Verdict::Allowed);
    assert_eq!(gate.remaining(), [8]);
    gate.clock.advance(Micros(60_000_000));
    assert_eq!(gate.judge(&get("/report")), Verdict::Allowed);
}

#[test]
fn one_count_is_charged_once_by_a_request() {
    let mut gate = Doorman::new(
        "[limits]\ncore = \"10/h\"\nslots = \"3 concurrent\"\n[[gate.rule]]\nname = \"a\"\nkey = \"ip\"\nlimit = [\"core\", \"slots\"]\n[[gate.rule]]\nname = \"b\"\nkey = \"ip\"\nlimit = [\"core\", \"slots\"]\n[[gate.rule]]\nname = \"c\"\nkey = \"host\"\nlimit = \"core\"\n",
    );
    assert_eq!(gate.rules(&get("/")), ["a", "a", "c"]);
    assert_eq!(gate.remaining(), [9, 2, 9]);
    assert!(gate.case.answers[1].answer.permit.is_some());
}

#[test]
fn limits_of_one_rule_have_counts_of_their_own() {
    let mut gate =
        Doorman::new("[[gate.rule]]\nname = \"r\"\nlimit = [\"5/s burst 5\", \"9/s burst 9\"]\n");
    assert_eq!(gate.judge(&get("/")), Verdict::Allowed);
    assert_eq!(gate.remaining(), [4, 8]);
}

#[test]
fn a_dry_run_refuses_nobody_and_keeps_the_others_counting() {
    let mut gate = Doorman::new(
        "[[gate.rule]]\nname = \"tried\"\nlimit = \"0/h\"\ndry_run = true\n[[gate.rule]]\nname = \"real\"\nlimit = \"2/h\"\n",
    );
    let verdicts: Vec<_> = (0..3).map(|_| gate.judge(&get("/"))).collect();
    assert_eq!(
        verdicts,
        [Verdict::Allowed, Verdict::Allowed, Verdict::Refused]
    );
    assert!(gate.case.answers[0].would_deny);
}

#[test]
fn the_allow_list_comes_first_then_the_deny_list_then_the_rules() {
    let mut gate = Doorman::new(
        "[gate]\nallow = { ip = [\"203.0.113.7\", \"2001:db8::/32\"], path = \"/health\", header = { X-Token = [\"first\", \"second\"] } }\ndeny = { ip = \"203.0.113.0/24\", path = \"/old/**\", header = { User-Agent = \"bad\" } }\n[[gate.rule]]\nname = \"r\"\nlimit = \"0/h\"\n",
    );
    let from = |address: &str| get("/").with("REMOTE_ADDR", address);
    for (request, verdict) in [
        (from("203.0.113.7"), Verdict::Passed(Reason::Address)),
        (from("::ffff:203.0.113.7"), Verdict::Passed(Reason::Address)),
        (from("203.0.113.8"), Verdict::Denied(Reason::Address)),
        (from("2001:db8::5"), Verdict::Passed(Reason::Address)),
        (from("198.51.100.1"), Verdict::Refused),
        (
            from("203.0.113.8").with("REQUEST_URI", "/health"),
            Verdict::Passed(Reason::Path),
        ),
        (
            from("203.0.113.8").with("HTTP_X_TOKEN", "second"),
            Verdict::Passed(Reason::Header),
        ),
        (
            from("198.51.100.1").with("HTTP_X_TOKEN", "secon"),
            Verdict::Refused,
        ),
        (
            from("198.51.100.1").with("HTTP_X_TOKEN", "second2"),
            Verdict::Refused,
        ),
        (
            from("198.51.100.1").with("HTTP_X_TOKEN", ""),
            Verdict::Refused,
        ),
        (
            from("198.51.100.1").with("HTTP_USER_AGENT", "bad"),
            Verdict::Denied(Reason::Header),
        ),
        (
            from("198.51.100.1").with("REQUEST_URI", "/x/../old/y"),
            Verdict::Denied(Reason::Path),
        ),
    ] {
        assert_eq!(gate.judge(&request), verdict);
    }
}

#[test]
fn a_hundred_thousand_clients_are_counted_apart_in_the_default_memory() {
    let mapping = Mapping::anonymous(32 << 20, Micros::ZERO).expect("a mapping");
    let store = SharedMemory::new(Arc::new(Table::new(mapping)));
    let rule = "[[gate.rule]]\nname = \"r\"\nkey = \"header:K\"\nlimit = \"1/h burst 1\"\n";
    let mut gate = Doorman::on(Box::new(store), rule);
    let mut all = |verdict| {
        for client in 0..100_000 {
            let request = get("/").with("HTTP_K", client.to_string());
            assert_eq!(gate.judge(&request), verdict, "{client}");
        }
    };
    all(Verdict::Allowed);
    all(Verdict::Refused);
}
