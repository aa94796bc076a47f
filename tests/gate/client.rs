//! Whose address counts.

use crate::{Doorman, Variables, get};

fn doorman(gate: &str) -> Doorman {
    Doorman::new(&format!(
        "[gate]\n{gate}\n[[gate.rule]]\nname = \"r\"\nkey = \"ip\"\nlimit = \"1000/h\"\n"
    ))
}

fn from(address: &str) -> Variables {
    get("/").with("REMOTE_ADDR", address)
}

#[test]
fn a_client_is_its_address_and_over_ipv6_its_network() {
    let mut gate = doorman("");
    for (address, key) in [
        ("203.0.113.7", "ip=203.0.113.7"),
        ("::ffff:203.0.113.7", "ip=203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "ip=2001:db8:1:2::/64"),
        ("2001:DB8:1:2:ffff::1", "ip=2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "ip=2001:db8:1:3::/64"),
    ] {
        assert_eq!(gate.key(&from(address)), key, "{address}");
        assert!(!gate.observes());
    }
}

#[test]
fn what_an_untrusted_peer_writes_is_not_believed() {
    for setting in [
        "",
        "trusted_proxies = []",
        "trusted_proxies = [\"10.0.0.0/8\"]",
    ] {
        let request = from("203.0.113.7")
            .with("HTTP_X_FORWARDED_FOR", "1.2.3.4")
            .with("HTTP_FORWARDED", "for=1.2.3.4");
        assert_eq!(
            doorman(setting).key(&request),
            "ip=203.0.113.7",
            "{setting}"
        );
    }
}

#[test]
fn the_list_is_walked_from_the_right() {
    let mut gate = doorman("trusted_proxies = [\"10.0.0.0/8\", \"2001:db8::/32\", \"unix\"]");
    for (peer, list, client) in [
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        (
            "10.0.0.1",
            "1.1.1.1, 198.51.100.1, 10.9.9.9",
            "198.51.100.1",
        ),
        ("::ffff:10.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("2001:db8::1", "[2600::1]:4711", "2600::/64"),
        ("10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("unix:", "198.51.100.1", "198.51.100.1"),
        // All of them trusted: the first there is.
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        // What cannot be read ends the walk at who wrote it.
        ("10.0.0.1", "198.51.100.1, nonsense", "10.0.0.1"),
        ("10.0.0.1", "nonsense, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", ",,,", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
    ] {
        let request = from(peer).with("HTTP_X_FORWARDED_FOR", list);
        assert_eq!(gate.key(&request), format!("ip={client}"), "{peer} {list}");
        assert!(!gate.observes());
    }
}

#[test]
fn forwarded_is_read_where_the_file_says_so_and_only_there() {
    let both = from("10.0.0.1")
        .with("HTTP_X_FORWARDED_FOR", "1.1.1.1")
        .with(
            "HTTP_FORWARDED",
            "for=2.2.2.2, For=\"[2600::9]:80\";proto=https;by=10.0.0.2",
        );
    let trust = "trusted_proxies = \"10.0.0.0/8\"\n";
    assert_eq!(doorman(trust).key(&both), "ip=1.1.1.1");
    let forwarded = format!("{trust}client_header = \"Forwarded\"");
    assert_eq!(doorman(&forwarded).key(&both), "ip=2600::/64");
    let real = format!("{trust}client_header = \"X-Real-IP\"");
    assert_eq!(
        doorman(&real).key(&both.with("HTTP_X_REAL_IP", "3.3.3.3")),
        "ip=3.3.3.3"
    );
    let hidden = from("10.0.0.1").with("HTTP_FORWARDED", "for=_hidden");
    assert_eq!(doorman(&forwarded).key(&hidden), "ip=10.0.0.1");
}

#[test]
fn behind_a_proxy_that_nobody_declared_rules_by_address_only_observe() {
    for peer in [
        "10.0.0.1",
        "127.0.0.1",
        "192.168.1.1",
        "172.31.0.1",
        "100.64.0.1",
        "::1",
        "fd00::1",
        "fe80::1",
        "unix:",
        "",
        "nonsense",
    ] {
        let request = from(peer).with("HTTP_X_FORWARDED_FOR", "198.51.100.1");
        let mut gate = Doorman::new(
            "[[gate.rule]]\nname = \"r\"\nkey = \"ip\"\nlimit = \"0/h\"\n[[gate.rule]]\nname = \"s\"\nlimit = \"5/h\"\n",
        );
        assert_eq!(
            gate.judge(&request),
            sluice::gate::Verdict::Allowed,
            "{peer}"
        );
        assert!(gate.observes(), "{peer}");
    }
    // Nobody forwarded it, or somebody said that there are no proxies.
    let mut gate = doorman("");
    gate.key(&from("10.0.0.1"));
    assert!(!gate.observes());
    let mut gate = doorman("trusted_proxies = []");
    gate.key(&from("10.0.0.1").with("HTTP_X_FORWARDED_FOR", "198.51.100.1"));
    assert!(!gate.observes());
}

#[test]
fn an_address_in_doubt_is_on_no_list() {
    let toml = |list: &str| {
        format!(
            "[gate]\n{list} = {{ ip = \"10.0.0.0/8\" }}\n[[gate.rule]]\nname = \"r\"\nlimit = \"9/h\"\n"
        )
    };
    let ingress = from("10.0.0.1").with("HTTP_X_FORWARDED_FOR", "198.51.100.1");
    for list in ["allow", "deny"] {
        let mut gate = Doorman::new(&toml(list));
        assert_eq!(
            gate.judge(&ingress),
            sluice::gate::Verdict::Allowed,
            "{list}"
        );
        assert_ne!(
            gate.judge(&from("10.0.0.1")),
            sluice::gate::Verdict::Allowed,
            "{list}"
        );
    }
}
