//! A write to a connection that the server has closed is a fault, not the end
//! of the worker: whoever embeds PHP may leave SIGPIPE as it is.

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{SigHandler, Signal, signal};
use sluice::store::redis::Redis;

use crate::support::fake_server::FakeServer;
use crate::support::limits::by_policy;
use crate::troubles::{BUDGET, take};

/// Set for the process that this test starts, since signals are its own.
const ALONE: &str = "SLUICE_TEST_SIGNALS";

#[test]
fn a_broken_pipe_ends_nothing() {
    if std::env::var(ALONE).is_ok() {
        return write_to_a_broken_pipe();
    }
    let this = std::env::current_exe().expect("the path of this test");
    let output = Command::new(this)
        .args(["--exact", "signals::a_broken_pipe_ends_nothing"])
        .env(ALONE, "1")
        .output()
        .expect("the test runs once more");
    assert!(output.status.success(), "{output:?}");
}

fn write_to_a_broken_pipe() {
    // SAFETY: no handler of ours, only what the kernel does by itself.
    unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) }.expect("it is a signal");
    let server = FakeServer::start(|connection, peer| {
        if connection == 1 {
            peer.serve_some(1);
        } else {
            peer.serve();
        }
    });
    let store = Redis::new(server.dsn(), BUDGET);
    for _ in 0..3 {
        // The server hangs up after the first; the second finds that out.
        let _ = take(&store, &by_policy::THROW);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(take(&store, &by_policy::THROW).is_ok());
}
