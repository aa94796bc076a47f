//! What keys are called in Redis: so that operators can read them, ACLs can name
//! them, and two keys whose tags meet are still two.

use sha2::{Digest, Sha256};
use sluice::limit::{Ask, Key, Limit};
use sluice::store::Store;
use sluice::store::redis::Redis;

use crate::support::limits::{bucket, question, window};
use crate::support::redis_server::{PATIENT, RedisServer};

/// The name that a key gets, without the hash in its tag.
fn name_of(server: &RedisServer, options: &str, key: Key<'_>, limit: &Limit) -> String {
    server.command(&["FLUSHALL"]);
    let store = Redis::new(server.dsn_with(options), PATIENT);
    let answer = store.decide(&question(key, limit, Ask::take(1)));
    assert!(answer.is_ok(), "{answer:?}");
    let name = server.command(&["KEYS", "*"]);
    let (start, rest) = name.split_once('{').expect("a tag");
    let (tag, rest) = rest.split_once('}').expect("the end of the tag");
    assert_eq!(tag.len(), 16, "{name}");
    assert!(tag.chars().all(|c| c.is_ascii_hexdigit()), "{name}");
    format!("{start}{{}}{rest}")
}

#[test]
fn a_name_says_kind_window_policy_and_key() {
    let server = RedisServer::start();
    let name = |key, limit| name_of(&server, "", key, &limit);
    let key = Key::unnamed(b"report:7");
    assert_eq!(name(key, bucket(10, 1)), "sluice:{}b:0:0::=report:7");
    assert_eq!(
        name(key, window(10, 60)),
        "sluice:{}f:60000000:0::=report:7"
    );
    let key = Key {
        name: b"login",
        bytes: b"{alice}",
    };
    assert_eq!(name(key, bucket(10, 1)), "sluice:{}b:0:5:login:={alice}");
}

#[test]
fn a_name_starts_with_the_prefix_of_the_dsn() {
    let server = RedisServer::start();
    let name = |prefix| name_of(&server, prefix, Key::unnamed(b"k"), &bucket(10, 1));
    assert_eq!(name("?prefix=app1:"), "app1:{}b:0:0::=k");
    assert_eq!(name("?prefix="), "{}b:0:0::=k");
}

#[test]
fn a_long_key_is_named_by_its_sha_256() {
    let server = RedisServer::start();
    let long = [b'x'; 201];
    let name = |key| name_of(&server, "", Key::unnamed(key), &bucket(10, 1));
    assert_eq!(
        name(&long[..200]),
        format!("sluice:{{}}b:0:0::={}", "x".repeat(200))
    );
    assert_eq!(
        name(&long),
        format!("sluice:{{}}b:0:0::#{:x}", Sha256::digest(long))
    );
}

#[test]
fn all_limits_of_one_key_have_one_tag() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn(), PATIENT);
    for (name, limit) in [
        (&b""[..], bucket(10, 1)),
        (b"login", window(10, 60)),
        (b"search", bucket(5, 2)),
    ] {
        let key = Key { name, bytes: b"k" };
        assert!(store.decide(&question(key, &limit, Ask::take(1))).is_ok());
    }
    let names = server.command(&["KEYS", "*"]);
    let tags: Vec<_> = names.lines().map(|name| name.split('}').next()).collect();
    assert_eq!(tags.len(), 3, "{names}");
    assert!(tags.iter().all(|tag| *tag == tags[0]), "{names}");
}
