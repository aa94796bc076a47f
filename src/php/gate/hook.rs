//! Where the gate stands in PHP's life of a request.
//!
//! It is judged when the SAPI activates it, or already when its body is about to
//! be read, whichever comes first; a refused one is answered in place of the
//! first file that PHP would compile. opcache wraps the compiler after MINIT, so
//! the wrapper around that is put on with the first refusal, in a request.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use ext_php_rs::ffi::{zend_file_handle, zend_op_array};
use once_cell::sync::OnceCell;

use super::requests::{Environment, with_server_variables};
use super::{current, response};
use crate::php::call::SUCCESS;
use crate::php::{policies, zend};

/// How a SAPI tells what is asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    /// By its variables, from the first moment on.
    Environment,
    /// In `$_SERVER`, once PHP has made it.
    ServerArray,
}

/// How far the request is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// None has begun.
    Idle,
    /// It was judged before it was activated, as its body is read first.
    Early,
    /// It was judged.
    Judged,
    /// It was refused, and the answer is out.
    Answered,
    /// It is over but for the SAPI's own cleaning.
    Ending,
}

/// What the SAPI and the engine did before us; set in MINIT or, for the
/// compiler, with the first refusal, and constant from then on.
static SOURCE: OnceCell<Source> = OnceCell::new();
static mut SAPI_ACTIVATE: Option<unsafe extern "C" fn() -> c_int> = None;
static mut SAPI_READ_POST: Option<unsafe extern "C" fn(*mut c_char, usize) -> usize> = None;
static mut COMPILE_FILE: Option<CompileFile> = None;
static COMPILER_WRAPPED: AtomicBool = AtomicBool::new(false);

type CompileFile = unsafe extern "C" fn(*mut zend_file_handle, c_int) -> *mut zend_op_array;

thread_local! {
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Idle) };
    static REFUSED: Cell<bool> = const { Cell::new(false) };
}

/// Hooks the SAPI, if it is one that runs a script per request. In MINIT.
pub fn install() {
    // SAFETY: in MINIT, before any thread or request; PHP's description of its
    // SAPI lives as long as the process.
    unsafe {
        let Some(sapi) = zend::raw::ext_php_rs_sapi_module().as_mut() else {
            return;
        };
        let source = match CStr::from_ptr(sapi.name).to_bytes() {
            b"fpm-fcgi" | b"cgi-fcgi" | b"apache2handler" => Source::Environment,
            b"cli-server" => Source::ServerArray,
            _ => return,
        };
        let _ = SOURCE.set(source);
        // Apache starts PHP again in the same process when it reloads; the
        // compiler's pointer is then PHP's own again.
        COMPILER_WRAPPED.store(false, Relaxed);
        let is_hooked = sapi
            .activate
            .is_some_and(|hook| hook as usize == activate as *const () as usize);
        if source == Source::Environment && !is_hooked {
            SAPI_ACTIVATE = sapi.activate;
            sapi.activate = Some(activate);
            SAPI_READ_POST = sapi.read_post;
            sapi.read_post = Some(read_post);
        }
    }
}

/// Whether requests are judged before any PHP code runs.
pub fn is_installed() -> bool {
    SOURCE.get().is_some()
}

/// Nothing of ours unwinds into C. A request that we fail at goes on.
fn guarded(act: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(act));
}

fn judge_environment(stage: Stage) {
    guarded(|| {
        if policies::gate().is_some()
            && let Some(request) = Environment::now()
        {
            STAGE.set(stage);
            if current::judge(&request) {
                refuse();
            }
        }
    });
}

fn refuse() {
    REFUSED.set(true);
    if !COMPILER_WRAPPED.swap(true, Relaxed) {
        // SAFETY: PHP's function pointer, which is set before the first request;
        // any number of wrappers may stand around it.
        unsafe {
            COMPILE_FILE = zend::zend_compile_file;
            zend::zend_compile_file = Some(compile_file);
        }
    }
}

unsafe extern "C" fn activate() -> c_int {
    if STAGE.get() != Stage::Early {
        REFUSED.set(false);
        judge_environment(Stage::Judged);
    }
    // Also where there is no gate: one that comes while the script runs must
    // not judge it when it reads its body.
    STAGE.set(Stage::Judged);
    // SAFETY: constant after MINIT; called as PHP would have called it.
    unsafe { SAPI_ACTIVATE.map_or(SUCCESS, |original| original()) }
}

unsafe extern "C" fn read_post(buffer: *mut c_char, size: usize) -> usize {
    if STAGE.get() == Stage::Idle {
        judge_environment(Stage::Early);
    }
    if REFUSED.get() && STAGE.get() != Stage::Ending {
        // Nothing to parse, and no file to write.
        return 0;
    }
    // SAFETY: constant after MINIT; called as PHP would have called it.
    unsafe { SAPI_READ_POST.map_or(0, |original| original(buffer, size)) }
}

/// RINIT.
pub fn request_startup() {
    if SOURCE.get() == Some(&Source::ServerArray) {
        guarded(|| {
            if policies::gate().is_some() {
                STAGE.set(Stage::Judged);
                let refused = with_server_variables(|request| current::judge(request));
                if refused == Some(true) {
                    refuse();
                }
            }
        });
    }
    if STAGE.get() == Stage::Judged && !REFUSED.get() {
        guarded(|| {
            for (name, value) in response::headers_of_current() {
                super::send_header(name, &value);
            }
        });
    }
}

unsafe extern "C" fn compile_file(file: *mut zend_file_handle, kind: c_int) -> *mut zend_op_array {
    if REFUSED.get() {
        if STAGE.replace(Stage::Answered) == Stage::Judged {
            guarded(|| {
                if let Some(response) = response::of_current() {
                    response::send(&response);
                }
            });
        }
        return std::ptr::null_mut();
    }
    // SAFETY: set before this function was; called as PHP would have called it.
    unsafe { COMPILE_FILE.map_or(std::ptr::null_mut(), |original| original(file, kind)) }
}

/// RSHUTDOWN: the permits go back, and what is known of the request is forgotten.
pub fn request_shutdown() {
    current::finish();
    if STAGE.get() != Stage::Idle {
        STAGE.set(Stage::Ending);
    }
}

/// Before the SAPI ends the request.
pub fn deactivate() {
    current::abandon();
    if REFUSED.replace(false) && SOURCE.get() == Some(&Source::Environment) {
        STAGE.set(Stage::Ending);
        read_rest();
    }
    STAGE.set(Stage::Idle);
}

/// Reads what is left of a body that nobody wanted: behind it the next request
/// of the connection begins.
fn read_rest() {
    let mut buffer = [0; 16 << 10];
    // SAFETY: the SAPI's own function fills a buffer of that size; the globals
    // are those of this thread's request, and no borrow of them is kept.
    unsafe {
        let globals = zend::raw::ext_php_rs_sapi_globals();
        let Some(read) = SAPI_READ_POST else {
            return;
        };
        while (*globals).post_read == 0
            || (*globals).read_post_bytes < (*globals).request_info.content_length
        {
            let count = read(buffer.as_mut_ptr(), buffer.len());
            (*globals).read_post_bytes += count as i64;
            if count == 0 {
                break;
            }
        }
        (*globals).post_read = 1;
    }
}
