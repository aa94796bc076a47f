//! Which paths a pattern is about, and that there is no way around it.

use crate::{Doorman, catches, get, passes};

#[test]
fn without_a_wildcard_it_is_the_path_itself() {
    for target in [
        "/report",
        "/report/",
        "/report?x=1",
        "/report#top",
        "/report?",
    ] {
        assert!(catches("/report", &get(target)), "{target}");
    }
    for target in [
        "/",
        "/reports",
        "/report/x",
        "/Report",
        "/a/report",
        "/repor",
        "/?/report",
    ] {
        assert!(!catches("/report", &get(target)), "{target}");
    }
}

#[test]
fn wildcards_mean_what_they_say() {
    for (pattern, yes, no) in [
        (
            "/api/*",
            &["/api/x", "/api/x?y/z", "/api/x/"][..],
            &["/api", "/api/x/y", "/apix"][..],
        ),
        (
            "/api/**",
            &["/api", "/api/", "/api/x", "/api/x/y"],
            &["/apix", "/", "/x/api"],
        ),
        ("/**", &["/", "/x", "/x/y"], &[]),
        ("/*/report", &["/a/report"], &["/report", "/a/b/report"]),
        (
            "/**/report",
            &["/report", "/a/report", "/a/b/report"],
            &["/report/x", "/areport"],
        ),
        ("/*", &["/x"], &["/", "/x/y"]),
        ("/r*t", &["/report", "/rt"], &["/r/t", "/ret/x"]),
        ("/v[12]/{a,b}", &["/v1/a", "/v2/b"], &["/v3/a", "/v1/c"]),
        (
            "/report{,.html}",
            &["/report", "/report.html"],
            &["/report.htm", "/reporthtml"],
        ),
        ("/a*/**", &["/ab", "/ab/c", "/a/b/c"], &["/b"]),
        (r"/a\*", &["/a*"], &["/ab"]),
        ("/报表", &["/%E6%8A%A5%E8%A1%A8"], &["/%E6%8A%A5"]),
    ] {
        for target in yes {
            assert!(catches(pattern, &get(target)), "{pattern} {target}");
        }
        for target in no {
            assert!(!catches(pattern, &get(target)), "{pattern} {target}");
        }
    }
}

/// All of these some server or framework takes for `/report`.
const DISGUISES: [&str; 40] = [
    "//report",
    "///report//",
    "/./report",
    "/report/.",
    "/x/../report",
    "/../report",
    "/x/y/../../report",
    "/%72eport",
    "/%72%65%70%6F%72%74",
    "/repor%74",
    "%2Freport",
    "/%2Freport",
    "/%2e/report",
    "/x/%2e%2E/report",
    "/x%2f..%2freport",
    "/report;jsessionid=1",
    "/;x/report",
    "/report;",
    "/report%3Bx",
    "/report%00",
    "/report%00.html",
    "/report.",
    "/report%20",
    "/report...",
    "\\report",
    "/x\\..\\report",
    "http://example.com/report",
    "HTTPS://user@example.com:8443/report?x",
    "report",
    "/index.php/report",
    "/x/index.php/report",
    "/index.php//report/",
    "/index.php/x/../report",
    "/index.php/%72eport",
    "//index.php/./report",
    "/report?x=/other",
    "//example.com/report",
    "//example.com:80/%72eport",
    "|report",
    "/x/%69ndex.php/index.php/report",
];

#[test]
fn a_disguise_is_no_way_around_a_rule() {
    for target in DISGUISES {
        assert!(catches("/report", &get(target)), "{target}");
    }
}

#[test]
fn a_path_above_it_does_not_hide_a_framework_route() {
    // A catch-all route below /files sees the dots as names.
    assert!(catches("/files/**", &get("/files/../x")));
    assert!(catches("/files/**", &get("/files/%2e%2e/x")));
}

#[test]
fn the_allow_list_lets_only_through_what_reads_one_way() {
    for target in ["/health", "/health/", "/health?x", "/%68ealth", "//health"] {
        assert!(passes("/health", &get(target)), "{target}");
    }
    for target in [
        "/report/../health",
        "/health/../report",
        "/health/..;/report",
        "/health;/../report",
        "/report;/../health",
        "/x/index.php/health",
        "/report.php/health",
        "/health%00/report",
        "/report?s=/health",
        "//report/health",
    ] {
        assert!(!passes("/health", &get(target)), "{target}");
    }
    let script = get("/report.php/health").with("SCRIPT_FILENAME", "/srv/report.php");
    assert!(!passes("/health", &script));
    // parse_url() takes the first name for a host.
    assert!(!passes("/health/**", &get("//health/report")));
}

#[test]
fn a_script_is_found_whatever_stands_behind_it() {
    let request = |target: &str| {
        get(target)
            .with("SCRIPT_NAME", "/report.php")
            .with("SCRIPT_FILENAME", "/srv/report.php")
    };
    for target in ["/report.php", "/report.php/x", "/report", "/report%2ephp"] {
        assert!(catches("/report.php", &request(target)), "{target}");
    }
    // What is not a directory's index is no way to the root.
    assert!(!catches("/", &request("/report.php")));
    assert!(catches("/", &get("/index.php")));
    // One script behind all paths makes no other rule match.
    assert!(!catches("/*", &get("/a/b")));
}

#[test]
fn a_script_name_that_is_the_path_is_not_taken_for_a_script() {
    // nginx with one SCRIPT_FILENAME for all paths.
    let request = get("/health").with("SCRIPT_NAME", "/health");
    assert!(!catches("/", &request));
    assert!(passes("/health", &request));
}

#[test]
fn path_info_is_a_path() {
    assert!(catches("/report", &get("/x").with("PATH_INFO", "/report")));
    assert!(!passes(
        "/health",
        &get("/health").with("PATH_INFO", "/report")
    ));
}

#[test]
fn without_a_request_uri_the_script_stands_in_and_without_it_nothing() {
    let mut request = get("");
    request = request
        .with("SCRIPT_NAME", "/index.php")
        .with("PATH_INFO", "/report");
    assert!(catches("/report", &request));
    let none = get("").with("SCRIPT_NAME", "").with("SCRIPT_FILENAME", "");
    for pattern in ["/", "/**", "/report"] {
        assert!(!catches(pattern, &none), "{pattern}");
        assert!(!passes(pattern, &none), "{pattern}");
    }
}

#[test]
fn a_framework_that_routes_by_a_parameter_is_told_of() {
    let toml = "[gate]\npath_parameter = \"s\"\n[[gate.rule]]\nname = \"r\"\npath = \"/report\"\nlimit = \"5/h\"\n";
    let mut gate = Doorman::new(toml);
    for target in [
        "/?s=/report",
        "/index.php?s=report",
        "/x?a=1&s=%2Freport",
        "/x?s=/y&%73=/report",
        "/x?s=/y&s%00x=/report",
        "/x?s=/y&+s=/report",
    ] {
        let query = target.split_once('?').unwrap().1;
        let request = get(target).with("QUERY_STRING", query);
        assert_eq!(gate.rules(&request), ["r"], "{target}");
    }
    assert!(gate.rules(&get("/x?s=/other")).is_empty());
    // PHP stops reading where it has read a thousand.
    let more = "&a".repeat(999);
    let target = format!("/x?s=/report{more}&s=/other");
    assert_eq!(gate.rules(&get(target)), ["r"]);
}

/// The rule that docs/gate.md has for it.
#[test]
fn a_route_of_thinkphp_has_no_other_names() {
    let toml = "[gate]\npath_parameter = \"s\"\nignore_case = true\n[[gate.rule]]\nname = \"r\"\npath = [\"/report/**\", \"/report.html\"]\nlimit = \"5/h\"\n";
    let mut gate = Doorman::new(toml);
    for target in [
        "/report",
        "/Report.HTML",
        "/report/x",
        "/report/.html",
        "/report|x",
        "/report|",
        "/index.php/REPORT/x.html",
        "/?s=report|x",
        "/index.php?s=/report.html",
    ] {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let request = get(target).with("QUERY_STRING", query);
        assert_eq!(gate.rules(&request), ["r"], "{target}");
    }
}

#[test]
fn case_counts_unless_the_file_says_otherwise() {
    let toml = "[gate]\nignore_case = true\nallow = { path = \"/Health\" }\n[[gate.rule]]\nname = \"r\"\npath = [\"/Report\", \"/API/**\", \"/x/*Y\"]\nkey = \"path\"\nlimit = \"5/h\"\n";
    let mut gate = Doorman::new(toml);
    for target in [
        "/report",
        "/REPORT",
        "/%52eport",
        "/api/X",
        "/X/zy",
        "/index.php/RePort",
    ] {
        assert_eq!(gate.rules(&get(target)), ["r"], "{target}");
    }
    assert_eq!(gate.key(&get("/REPORT")), "path=/report");
    assert!(matches!(
        gate.judge(&get("/HEALTH")),
        sluice::gate::Verdict::Passed(_)
    ));
    assert!(!catches("/report", &get("/Report")));
}
