//! The one argument of every limiter's constructor: which store it asks.

use std::ffi::CStr;
use std::rc::Rc;

use ext_php_rs::ffi::{IS_OBJECT, zend_object, zval};
use ext_php_rs::types::{ZendObject, Zval};

use super::decision::{self, KeyValue, Made};
use super::permit;
use super::store::StoreHandle;
use crate::limit::{Ask, Key, Limit};
use crate::php::call::{Call, Result, Thrown};
use crate::php::class::{Native, payload_of};
use crate::php::permits::HeldPermit;
use crate::php::settings::Hot;
use crate::php::signature::{Parameter, Type, optional};
use crate::php::stores::AnyStore;
use crate::php::{errors, settings, stores, zend};
use crate::store::redis::{Address, Dsn};
use crate::store::{Enforced, OnFailure, Question, Store};

/// What a limiter asks.
pub enum Target {
    /// Whatever the default is when it is asked.
    Default,
    /// A store of its own.
    Own(Rc<AnyStore>),
}

/// `string|\Redis|Sluice\Store|null $store = null`. A DSN holds a password, so
/// it stays out of stack traces.
pub const PARAMETER: Parameter = optional(
    "store",
    Type::class("Redis|Sluice\\Store")
        .or(Type::STRING)
        .or_null(),
    "null",
)
.sensitive();

/// The parameter's types as PHP names them in its messages.
const TYPES: &str = "Redis|Sluice\\Store|string|null";

impl Target {
    /// Reads the constructor's argument.
    pub fn of(call: &Call<'_>) -> Result<Self> {
        call.expect(0, 1)?;
        if call.is_null(1) {
            return Ok(Self::Default);
        }
        // SAFETY: argument 1 was given.
        let value = unsafe { &*call.argument(1) };
        // SAFETY: every value knows its type.
        if u32::from(unsafe { value.u1.v.type_ }) == IS_OBJECT
            && let Some(own) = Self::of_object(value)?
        {
            return Ok(own);
        }
        // An object that can be a string is one, for callers that coerce.
        let store = match std::str::from_utf8(call.bytes_or(1, TYPES)?) {
            Ok(text) => stores::redis_at(text).map_err(|error| error.to_string()),
            Err(_) => Err("it is not UTF-8".to_owned()),
        };
        store
            .map(Self::Own)
            .map_err(|message| errors::throw_config(1, &format!("must be a DSN: {message}")))
    }

    /// A store of ours, or a `\Redis`.
    fn of_object(value: &zval) -> Result<Option<Self>> {
        // SAFETY: the value is an object, alive through the call; one of class
        // Store was made by us.
        unsafe {
            let object = value.value.obj;
            if (*object).ce == StoreHandle::class().entry() {
                let handle = payload_of::<StoreHandle>(object).ok_or(Thrown)?;
                return Ok(Some(Self::Own(Rc::clone(&handle.0))));
            }
            if is_a(c"Redis", object) {
                return of_phpredis(&*object).map(Self::Own).map(Some);
            }
            for (class, scheme) in CLIENTS_OF_MANY {
                if is_a(class, object) {
                    return Err(errors::throw_config(
                        1,
                        &format!(
                            "must be a Redis object or a DSN, {} given, which does not tell how it \
                             logs in; pass {scheme}",
                            class.to_string_lossy()
                        ),
                    ));
                }
            }
        }
        Ok(None)
    }

    /// Puts a question, enforces the answer, and turns a fault into an
    /// exception.
    ///
    /// `read` picks what the caller needs right where the answer is made: what
    /// `allow()` does not read, the compiler then does not work out.
    #[inline(always)]
    pub fn ask<T>(&self, asked: &Asked<'_>, read: impl FnOnce(&Enforced) -> T) -> Result<T> {
        // Aside, so that what is handed back and forth fits in a register.
        let mut fault = None;
        let read = settings::with_hot(|hot| {
            let question = asked.question(hot);
            self.with(|store| match hot.enforcement.decide(store, &question) {
                Ok(enforced) => Some(read(&enforced)),
                Err(error) => match hot.enforcement.answer_by_policy(&question, error) {
                    Ok(enforced) => Some(read(&enforced)),
                    Err(error) => {
                        fault = Some(error);
                        None
                    }
                },
            })
        });
        read.ok_or_else(|| {
            let message = fault.map_or_else(Box::default, |fault| fault.message);
            errors::throw_store(&message)
        })
    }

    /// `allow()`: takes, and answers with a bool.
    #[inline(always)]
    pub fn allow(&self, call: &mut Call<'_>, asked: &Asked<'_>) -> Result {
        let allowed = self.ask(asked, |enforced| enforced.answer.decision.allowed)?;
        Zval::set_bool(call.result(), allowed);
        Ok(())
    }

    /// `attempt()` and the like: answers with a decision.
    pub fn decide(&self, call: &mut Call<'_>, asked: &Asked<'_>) -> Result {
        let key = KeyValue::Same(call.argument(1));
        let enforced = self.ask(asked, |enforced| *enforced)?;
        self.give(call.result(), &enforced, asked, &key);
        Ok(())
    }

    /// Makes the decision that PHP gets.
    pub fn give(
        &self,
        into: &mut zval,
        enforced: &Enforced,
        asked: &Asked<'_>,
        key: &KeyValue<'_>,
    ) {
        let store = self.store();
        let permit = enforced.answer.held().map(|held| {
            let kept = HeldPermit::keep(Rc::clone(&store), asked.limit.clone(), asked.key, held);
            permit::object(kept, asked.key.bytes)
        });
        let made = Made {
            enforced: *enforced,
            limit: asked.limit.clone(),
            ask: asked.ask,
            unix: store.unix_time(),
            store,
        };
        decision::put(into, made, key, asked.key.name, permit, None);
    }

    /// `reset()`.
    ///
    /// Where Redis cannot be reached, the host's own count is forgotten and,
    /// unless the policy is to throw, that is all.
    pub fn reset(&self, key: Key<'_>, limit: &Limit) -> Result {
        stores::unless_thrown(self.with(|store| store.reset(key, limit)), ())
    }

    /// The store itself.
    pub fn store(&self) -> Rc<AnyStore> {
        match self {
            Self::Default => stores::default(),
            Self::Own(store) => Rc::clone(store),
        }
    }

    #[inline(always)]
    fn with<T>(&self, use_it: impl FnOnce(&AnyStore) -> T) -> T {
        match self {
            Self::Default => stores::with_default(use_it),
            Self::Own(store) => use_it(store),
        }
    }
}

/// A question as a call of PHP puts it.
pub struct Asked<'a> {
    pub key: Key<'a>,
    pub limit: &'a Limit,
    pub ask: Ask,
    pub dry_run: bool,
    /// If not what php.ini says.
    pub on_failure: Option<OnFailure>,
}

impl<'a> Asked<'a> {
    /// About a limit that has no more to it than its numbers.
    #[inline(always)]
    pub fn plain(key: &'a [u8], limit: &'a Limit, ask: Ask) -> Self {
        Self {
            key: Key::unnamed(key),
            limit,
            ask,
            dry_run: false,
            on_failure: None,
        }
    }

    #[inline(always)]
    pub fn question<'q>(&'q self, hot: &'q Hot) -> Question<'q> {
        Question {
            key: self.key,
            limit: self.limit,
            ask: self.ask,
            on_failure: self.on_failure.as_ref().unwrap_or(&hot.on_failure),
            dry_run: self.dry_run,
        }
    }
}

/// The number of tokens asked for: argument `number`, 1 if it is missing.
pub fn cost(call: &Call<'_>, number: usize) -> Result<u64> {
    if !call.has(number) {
        return Ok(1);
    }
    let cost = call.long(number)?;
    u64::try_from(cost).map_err(|_| {
        errors::throw_value(number, &format!("must be 0 or more tokens, {cost} given"))
    })
}

/// Clients of phpredis for more than one server, and what to use instead.
const CLIENTS_OF_MANY: [(&CStr, &str); 3] = [
    (c"RedisCluster", "redis+cluster://host,host"),
    (c"RedisSentinel", "redis+sentinel://host,host/master"),
    (c"RedisArray", "redis://host"),
];

/// Whether this is an object of a class of that name, or of a child of it.
unsafe fn is_a(name: &CStr, object: *mut zend_object) -> bool {
    const NO_AUTOLOAD: u32 = 0x80;
    // SAFETY: looks up a class by name, in a request; the caller has a live
    // object.
    unsafe {
        let length = name.to_bytes().len();
        let name = zend::raw::ext_php_rs_zend_string_init(name.as_ptr(), length, false);
        let class = zend::raw::zend_lookup_class_ex(name, std::ptr::null_mut(), NO_AUTOLOAD);
        zend::raw::ext_php_rs_zend_string_release(name);
        !class.is_null()
            && ((*object).ce == class || zend::instanceof_function_slow((*object).ce, class))
    }
}

/// The server that a connected `\Redis` talks to. Its socket stays its own:
/// two users of one would read each other's replies.
fn of_phpredis(object: &ZendObject) -> Result<Rc<AnyStore>> {
    let cannot = |why: &str| {
        errors::throw_config(
            1,
            &format!(
                "must be a connected Redis object, and this one {why}; connect it first, or pass a DSN"
            ),
        )
    };
    let ask = |method: &str| -> Result<Zval> {
        object
            .try_call_method(method, vec![])
            .map_err(|_| cannot("does not tell where it is connected"))
    };
    if ask("isConnected")?.bool() != Some(true) {
        return Err(cannot("is not connected"));
    }
    let host = ask("getHost")?.string().filter(|host| !host.is_empty());
    let host = host.ok_or_else(|| cannot("does not tell its host"))?;
    if host.starts_with("tls://") || host.starts_with("ssl://") {
        return Err(cannot(
            "is connected over TLS, whose settings it does not tell",
        ));
    }
    let host = host
        .trim_start_matches("tcp://")
        .trim_start_matches("unix://");
    let address = if host.starts_with('/') {
        Address::Unix(host.into())
    } else {
        let port = ask("getPort")?.long();
        Address::Tcp {
            host: host.to_owned(),
            port: port
                .and_then(|port| u16::try_from(port).ok())
                .filter(|port| *port > 0)
                .ok_or_else(|| cannot("does not tell its port"))?,
        }
    };
    let mut dsn = Dsn::at(address);
    let database = ask("getDbNum")?.long();
    dsn.database = database
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| cannot("does not tell its database"))?;
    let auth = ask("getAuth")?;
    if let Some(password) = auth.string() {
        set_login(&mut dsn, None, &password);
    } else if let Some(parts) = auth.array() {
        let parts: Vec<String> = parts.values().filter_map(Zval::string).collect();
        match parts.as_slice() {
            [password] => set_login(&mut dsn, None, password),
            [user, password] => set_login(&mut dsn, Some(user), password),
            _ => {}
        }
    }
    // Redis::OPT_PREFIX is 2.
    let option = Zval::try_from(2_i64).map_err(|_| Thrown)?;
    let prefix = object
        .try_call_method("getOption", vec![&option])
        .ok()
        .and_then(|value| value.string())
        .unwrap_or_default();
    let ours = settings::get(|settings| settings.prefix.clone());
    dsn.prefix = Some(format!("{prefix}{ours}").into_bytes());
    let identity = format!(
        "{dsn}\0{prefix}\0{:?}\0{}",
        dsn.login.user,
        dsn.login
            .password
            .as_ref()
            .map_or("", |secret| secret.reveal())
    );
    stores::redis(dsn, &identity).map_err(|error| cannot(&error.to_string()))
}

fn set_login(dsn: &mut Dsn, user: Option<&str>, password: &str) {
    // Both options take any text.
    let _ = user.map(|user| dsn.set("user", user));
    let _ = dsn.set("password", password);
}
