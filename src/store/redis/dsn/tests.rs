//! The grammar, by example.

use super::*;

fn tcp(text: &str) -> (String, u16, u32) {
    let dsn = Dsn::parse(text).unwrap();
    let Place::One(Address::Tcp { host, port }) = dsn.place else {
        panic!("{text} is not TCP");
    };
    (host, port, dsn.database)
}

#[test]
fn hosts_ports_and_databases() {
    assert_eq!(tcp("redis://127.0.0.1"), ("127.0.0.1".into(), 6379, 0));
    assert_eq!(tcp("redis://cache:7000/3"), ("cache".into(), 7000, 3));
    assert_eq!(tcp("redis://[::1]:7000/"), ("::1".into(), 7000, 0));
    assert_eq!(tcp("redis://cache?db=4"), ("cache".into(), 6379, 4));
    let unix = Dsn::parse("unix:///run/redis.sock?db=2").unwrap();
    assert_eq!(
        unix.place,
        Place::One(Address::Unix("/run/redis.sock".into()))
    );
    assert_eq!(unix.database, 2);
}

#[test]
fn logins_and_options() {
    let dsn = Dsn::parse("redis://app:p%40ss@cache/1?timeout=20ms&connect_timeout=0.01&prefix=x:")
        .unwrap();
    assert_eq!(dsn.login.user.as_deref(), Some("app"));
    assert_eq!(dsn.login.password.as_ref().unwrap().reveal(), "p@ss");
    assert_eq!(dsn.timeout, Some(Duration::from_millis(20)));
    assert_eq!(dsn.connect_timeout, Some(Duration::from_millis(10)));
    assert_eq!(dsn.prefix.as_deref(), Some(&b"x:"[..]));
    let alone = Dsn::parse("redis://:secret@cache").unwrap();
    assert_eq!(
        (alone.login.user, alone.login.password.unwrap().reveal()),
        (None, "secret")
    );
}

#[test]
fn what_is_not_a_dsn_says_why_and_never_the_password() {
    for (text, reason) in [
        ("", "no scheme"),
        ("127.0.0.1:6379", "no scheme"),
        ("http://user:hunter2@host", "neither redis nor unix"),
        ("redis://:hunter2@host,other", "several hosts"),
        ("redis://:hunter2@[::1", "without a ]"),
        ("redis://:hunter2@[::1]x:1", "between ]"),
        ("redis://:hunter2@[cache]", "no IPv6 address"),
        ("redis://:hunter2@1.2.3.400", "no IPv4 address"),
        ("redis://:hunter2@ho st", "is no name"),
        ("redis://:hunter2@host:0", "port"),
        ("redis+sentinel://:hunter2@host", "names no master"),
        ("redis+sentinel://:hunter2@host//1", "names no master"),
        ("redis+sentinel://:hunter2@host/m/x", "database"),
        ("redis+sentinel://:hunter2@a,,b/m", "no host"),
        ("redis+sentinel://:hunter2@h/m?ca=/x", "ca goes with rediss"),
        ("redis+cluster://:hunter2@host/1", "only database 0"),
        (
            "redis+cluster://:hunter2@h?sentinel_user=x",
            "which is none of db, user",
        ),
        ("redis://:hunter2@host?verify=no", "verify goes with rediss"),
        ("rediss://:hunter2@host?verify=perhaps", "yes or no"),
        ("rediss://:hunter2@host?tiemout=1", "server_name, verify"),
        ("redis://", "no host"),
        ("redis:///3", "no host"),
        ("redis://:hunter2@", "host"),
        ("redis://:hunter2@host:port", "port"),
        ("redis://:hunter2@host:99999", "port"),
        ("redis://hunter2@host", "user without a password"),
        ("redis://:hunter2@host/x", "database"),
        ("redis://:hunter2@host/-1", "database"),
        ("redis://:hunter2@host/99999999999", "database"),
        ("redis://:hunter2@host?tiemout=1s", "\"tiemout\""),
        ("redis://:hunter2@host?timeout=50", "1ms to 60s"),
        ("redis://:hunter2@host?timeout=fast", "1ms to 60s"),
        ("redis://:hunter2@host?timeout=0", "1ms to 60s"),
        ("redis://:hun#ter2@host", ""),
        ("redis://host?password=a&hunter2", "%3F and %26"),
        ("redis://host?password=a&hunter2=b", "%3F and %26"),
        ("redis://user:?hunter2@host", "%3F and %26"),
        ("redis://user:12?hunter2@host/0", "%3F and %26"),
        ("redis://user:1?hunter2=3@host", "%3F and %26"),
        ("unix://run/redis.sock", "absolute path"),
        ("unix:///run/\0redis.sock", "NUL"),
        ("redis://us%00er:hunter2@host", "NUL"),
    ] {
        let message = match Dsn::parse(text) {
            Ok(dsn) if text.contains("=50") => {
                assert_eq!(dsn.timeout, Some(Duration::from_secs(50)));
                continue;
            }
            Ok(dsn) => panic!("{text} became {dsn}"),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(reason), "{text}: {message}");
        assert!(
            !message.contains("hunter2") && !message.contains("hun#"),
            "{message}"
        );
    }
}

#[test]
fn printing_hides_the_password() {
    let dsn = Dsn::parse("redis://app:hunter2@cache/1").unwrap();
    assert_eq!(dsn.to_string(), "redis://app:***@cache:6379/1");
    assert_eq!(
        format!("{dsn:?} {:?}", dsn.login.password),
        "redis://app:***@cache:6379/1 Some(***)"
    );
}

fn hosts(addresses: &[Address]) -> Vec<String> {
    addresses.iter().map(Address::to_string).collect()
}

#[test]
fn sentinels_and_their_master() {
    let dsn = Dsn::parse(
        "rediss+sentinel://app:a%2Cb@h1,[::1]:26380,10.0.0.1/my%20master/2\
         ?sentinel_user=s&sentinel_password=t%26+u",
    )
    .unwrap();
    let Place::Sentinel {
        sentinels,
        master,
        login,
    } = &dsn.place
    else {
        panic!("{dsn} names Sentinels");
    };
    assert_eq!(
        hosts(sentinels),
        ["h1:26379", "[::1]:26380", "10.0.0.1:26379"]
    );
    assert_eq!(master, "my master");
    assert_eq!(login.user.as_deref(), Some("s"));
    // Only % has a meaning in a value: a + is one.
    assert_eq!(login.password.as_ref().unwrap().reveal(), "t&+u");
    assert_eq!(dsn.login.password.as_ref().unwrap().reveal(), "a,b");
    assert_eq!((dsn.database, dsn.topology()), (2, "sentinel"));
}

#[test]
fn nodes_of_a_cluster() {
    let dsn = Dsn::parse("redis+cluster://:pw@h1:7000,h2,[fe80::2]:7002?timeout=5ms").unwrap();
    let Place::Cluster(nodes) = &dsn.place else {
        panic!("{dsn} names nodes");
    };
    assert_eq!(hosts(nodes), ["h1:7000", "h2:6379", "[fe80::2]:7002"]);
    assert_eq!((dsn.topology(), dsn.tls), ("cluster", None));
}

#[test]
fn tls_is_verified_unless_it_is_said_and_then_it_shows() {
    let dsn = Dsn::parse("rediss://cache?ca=/etc/ca.pem&cert=/c.pem&key=/k.pem&server_name=redis")
        .unwrap();
    let tls = dsn.tls.clone().unwrap();
    assert!(tls.verify && !dsn.is_unverified());
    assert_eq!(tls.ca, Some("/etc/ca.pem".into()));
    assert_eq!(tls.certificate, Some("/c.pem".into()));
    assert_eq!(tls.key, Some("/k.pem".into()));
    assert_eq!(tls.server_name.as_deref(), Some("redis"));
    assert_eq!(dsn.to_string(), "rediss://cache:6379/0");
    let open = Dsn::parse("rediss+cluster://cache?verify=no").unwrap();
    assert!(open.is_unverified());
    assert_eq!(open.to_string(), "rediss+cluster://cache:6379?verify=no");
}

#[test]
fn printing_hides_every_password() {
    for text in [
        "redis+sentinel://app:hunter2@h1,h2/m/1?sentinel_user=s&sentinel_password=hunter2",
        "redis+cluster://app@h1?password=hunter2",
        "redis+cluster://app:hunter2@h1",
        "rediss://h1?password=hunter2",
        "unix:///run/x?password=hunter2",
    ] {
        if let Ok(dsn) = Dsn::parse(text) {
            let shown = format!("{dsn} {dsn:?} {:?} {:?}", dsn.place, dsn.login);
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
    let dsn = Dsn::parse("redis+sentinel://app:hunter2@h1,h2/m/1").unwrap();
    assert_eq!(
        dsn.to_string(),
        "redis+sentinel://app:***@h1:26379,h2:26379/m/1"
    );
}
