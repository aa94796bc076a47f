//! Logins that fail: an answer by the policy, a reason in words, no password.

use std::cell::RefCell;
use std::rc::Rc;

use redis::Connection;
use sluice::store::redis::Redis;

use crate::support::limits::by_policy;
use crate::support::redis_server::RedisServer;
use crate::troubles::{BUDGET, Trouble, every_policy_answers, take};

const SECRET: &str = "correct-horse";

/// A server, and a connection that was there before any password was.
struct Guarded {
    server: RedisServer,
    admin: RefCell<Connection>,
}

impl Guarded {
    fn by(command: &str) -> Rc<Self> {
        let server = RedisServer::start();
        let admin = RefCell::new(server.connect());
        let guarded = Self { server, admin };
        guarded.command(command);
        Rc::new(guarded)
    }

    fn command(&self, command: &str) {
        let mut words = command.split(' ');
        let mut command = redis::cmd(words.next().unwrap_or_default());
        words.for_each(|word| {
            command.arg(word);
        });
        command
            .exec(&mut self.admin.borrow_mut())
            .expect("the server does as it is told");
    }

    /// What a call says that logs in with these options of a DSN.
    fn refusal(&self, login: &str) -> String {
        let store = Redis::new(self.server.dsn_with(login), BUDGET);
        let fault = take(&store, &by_policy::THROW).expect_err("it is not let in");
        assert!(!fault.message.contains(SECRET), "{fault}");
        fault.to_string()
    }
}

/// A login that is refused until a command lets it in.
fn refused(guard: &str, login: &str, open: &'static str) -> Trouble {
    let guarded = Guarded::by(guard);
    let mut trouble = Trouble::at(guarded.server.dsn_with(login));
    trouble.well_at_first = false;
    trouble.heal = Box::new(move || guarded.command(open));
    trouble
}

#[test]
fn a_wrong_password() {
    let open = "CONFIG SET requirepass correct-horse";
    every_policy_answers(|| {
        refused(
            "CONFIG SET requirepass another",
            "?password=correct-horse",
            open,
        )
    });
    let guarded = Guarded::by("CONFIG SET requirepass another");
    let message = guarded.refusal("?password=correct-horse");
    assert!(
        message.contains("AUTH was answered with WRONGPASS"),
        "{message}"
    );
}

#[test]
fn no_password_where_one_is_wanted() {
    every_policy_answers(|| {
        refused(
            "CONFIG SET requirepass correct-horse",
            "",
            "ACL SETUSER default nopass",
        )
    });
    let message = Guarded::by("CONFIG SET requirepass correct-horse").refusal("");
    assert!(message.contains("NOAUTH"), "{message}");
}

#[test]
fn a_password_where_none_is_wanted() {
    let message = Guarded::by("PING").refusal("?password=correct-horse");
    assert!(message.contains("AUTH was answered with"), "{message}");
}

#[test]
fn a_user_who_may_not_run_scripts() {
    every_policy_answers(|| {
        refused(
            "ACL SETUSER app on >correct-horse ~* +@all -@scripting",
            "?user=app&password=correct-horse",
            "ACL SETUSER app +@scripting",
        )
    });
}

#[test]
fn a_user_who_may_not_use_these_keys() {
    let guard = "ACL SETUSER app on >correct-horse ~elsewhere:* +@all";
    let login = "?user=app&password=correct-horse";
    every_policy_answers(|| refused(guard, login, "ACL SETUSER app ~sluice:*"));
    let message = Guarded::by(guard).refusal(login);
    assert!(message.contains("answered with"), "{message}");
}

#[test]
fn a_database_that_is_not_there() {
    let message = Guarded::by("PING").refusal("?db=9999");
    assert!(
        message.contains("SELECT was answered with ERR"),
        "{message}"
    );
}

#[test]
fn a_database_of_its_own() {
    let server = RedisServer::start();
    let store = Redis::new(server.dsn_with("?db=3"), BUDGET);
    assert!(take(&store, &by_policy::THROW).is_ok());
    let keyspace = server.command(&["INFO", "keyspace"]);
    assert!(keyspace.contains("db3:keys=1"), "{keyspace}");
    assert!(!keyspace.contains("db0"), "{keyspace}");
}
