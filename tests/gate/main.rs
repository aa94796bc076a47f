//! The gate without PHP: what rules are about, whom they count, who passes.

mod client;
mod file;
mod hostile;
mod paths;
mod rules;

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::rc::Rc;

use sluice::gate::{Case, File, Gate, Request, Verdict};
use sluice::limit::Micros;
use sluice::store::clock::ManualClock;
use sluice::store::memory::Memory;
use sluice::store::{Enforcement, OnFailure, Store};

/// A request as its variables.
#[derive(Clone, Default)]
pub(crate) struct Variables(HashMap<CString, Vec<u8>>);

impl Request for Variables {
    fn variable(&self, name: &CStr) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }
}

impl Variables {
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = CString::new(name).unwrap();
        self.0.insert(name, value.as_ref().to_vec());
        self
    }
}

/// A GET of this target by a client of the Internet.
pub(crate) fn get(target: impl AsRef<[u8]>) -> Variables {
    Variables::default()
        .with("REQUEST_METHOD", "GET")
        .with("REQUEST_URI", target)
        .with("REMOTE_ADDR", "203.0.113.7")
        .with("HTTP_HOST", "example.com")
        .with("SCRIPT_NAME", "/index.php")
        .with("SCRIPT_FILENAME", "/srv/app/public/index.php")
}

/// A gate, its store and a clock that stands still.
pub(crate) struct Doorman {
    gate: Rc<Gate>,
    store: Box<dyn Store>,
    pub(crate) clock: Rc<ManualClock>,
    pub(crate) case: Case,
}

impl Doorman {
    pub(crate) fn new(toml: &str) -> Self {
        let clock = Rc::new(ManualClock::at(Micros(1_000_000_000)));
        let store = Box::new(Memory::new(Rc::clone(&clock)));
        Self {
            clock,
            ..Self::on(store, toml)
        }
    }

    pub(crate) fn on(store: Box<dyn Store>, toml: &str) -> Self {
        let file = File::parse(toml).unwrap_or_else(|errors| panic!("{errors:?}"));
        Self {
            gate: file.gate.expect("a gate"),
            store,
            clock: Rc::default(),
            case: Case::default(),
        }
    }

    pub(crate) fn judge(&mut self, request: &Variables) -> Verdict {
        let (all, usual) = (Enforcement::default(), OnFailure::default());
        self.gate
            .judge(request, &*self.store, &all, &usual, &mut self.case)
            .unwrap();
        self.case.verdict
    }

    /// The rules that were asked about a request.
    pub(crate) fn rules(&mut self, request: &Variables) -> Vec<String> {
        self.judge(request);
        let asked = self.case.asked(&self.gate);
        asked.map(|asked| asked.rule.name.clone()).collect()
    }

    /// Whom the first rule counted.
    pub(crate) fn key(&mut self, request: &Variables) -> String {
        self.judge(request);
        let asked = self.case.asked(&self.gate).next().expect("a rule");
        String::from_utf8_lossy(asked.key.bytes).into_owned()
    }

    /// What is left of each limit that was asked.
    pub(crate) fn remaining(&self) -> Vec<u32> {
        let answers = self.case.answers.iter();
        answers
            .map(|enforced| enforced.answer.decision.remaining)
            .collect()
    }

    pub(crate) fn observes(&self) -> bool {
        self.case.doubtful
    }
}

/// Whether a rule with this path is about a request.
pub(crate) fn catches(pattern: &str, request: &Variables) -> bool {
    let toml = format!("[[gate.rule]]\nname = \"r\"\npath = '{pattern}'\nlimit = \"1000000/h\"\n");
    Doorman::new(&toml).judge(request) != Verdict::Untouched
}

/// Whether the allow list with this path lets a request pass.
pub(crate) fn passes(pattern: &str, request: &Variables) -> bool {
    let toml = format!(
        "[gate]\nallow = {{ path = ['{pattern}'] }}\n[[gate.rule]]\nname = \"all\"\nlimit = \"0/h\"\n"
    );
    matches!(Doorman::new(&toml).judge(request), Verdict::Passed(_))
}
