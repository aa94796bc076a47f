//! One call from PHP: arguments in, a result out, panics turned into errors.
//!
//! Arguments go through PHP's own helpers, so they are coerced or refused as
//! the caller's `strict_types` says, with PHP's own messages.

use std::ffi::{CString, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use ext_php_rs::ffi::{
    _zend_expected_type_Z_EXPECTED_BOOL, _zend_expected_type_Z_EXPECTED_DOUBLE,
    _zend_expected_type_Z_EXPECTED_LONG, _zend_expected_type_Z_EXPECTED_STRING, IS_DOUBLE,
    IS_FALSE, IS_LONG, IS_NULL, IS_STRING, IS_TRUE, IS_UNDEF, zend_execute_data, zend_string, zval,
};

use super::class::{Native, payload_of};
use super::{errors, zend};
use crate::limit::Number;

/// `Z_EXPECTED_NUMBER`, which ext-php-rs does not bind. In every version it
/// comes after `Z_EXPECTED_DOUBLE` and `Z_EXPECTED_DOUBLE_OR_NULL`.
const EXPECTED_NUMBER: u32 = _zend_expected_type_Z_EXPECTED_DOUBLE + 2;

/// An exception of PHP is pending; the call returns at once.
#[derive(Debug)]
pub struct Thrown;

/// What a function of ours gives back.
pub type Result<T = ()> = std::result::Result<T, Thrown>;

/// The arguments, the object and the result of one call.
pub struct Call<'a> {
    frame: &'a mut zend_execute_data,
    result: &'a mut zval,
}

impl<'a> Call<'a> {
    /// Runs `body` as the handler of a function.
    ///
    /// # Safety
    /// Both pointers are what PHP handed to the handler.
    pub unsafe fn enter(
        frame: *mut zend_execute_data,
        result: *mut zval,
        body: impl FnOnce(&mut Call<'_>) -> Result,
    ) {
        // SAFETY: the caller's promise; both live through the call.
        let mut call = unsafe {
            Call {
                frame: &mut *frame,
                result: &mut *result,
            }
        };
        if catch_unwind(AssertUnwindSafe(|| body(&mut call))).is_err() {
            errors::throw_internal();
        }
    }

    /// How many arguments were given.
    pub fn count(&self) -> usize {
        // SAFETY: for a call frame this member of the union is the count.
        unsafe { self.frame.This.u2.num_args as usize }
    }

    /// Refuses a call with too few or too many arguments.
    pub fn expect(&self, least: u32, most: u32) -> Result {
        if (least as usize..=most as usize).contains(&self.count()) {
            return Ok(());
        }
        // SAFETY: throws for the function being called, which is ours.
        unsafe { zend::raw::zend_wrong_parameters_count_error(least, most) };
        Err(Thrown)
    }

    /// Refuses arguments by names that a variadic function has no use for.
    pub fn expect_no_names(&self) -> Result {
        const HAS_EXTRA_NAMED_PARAMS: u32 = 1 << 27;
        // SAFETY: for a call frame this member of the union is its flags.
        let flags = unsafe { self.frame.This.u1.type_info };
        if flags & HAS_EXTRA_NAMED_PARAMS == 0 {
            return Ok(());
        }
        Err(errors::throw_error(
            "attemptAll() does not accept named arguments",
        ))
    }

    /// The value of argument `number`, counted from 1.
    pub fn argument(&self, number: usize) -> *mut zval {
        debug_assert!((1..=self.count()).contains(&number));
        // SAFETY: the arguments follow the frame, and `number` is one of them.
        unsafe {
            std::ptr::from_ref(self.frame)
                .cast_mut()
                .cast::<zval>()
                .add(zend::FRAME_SLOTS + number - 1)
        }
    }

    fn type_of(&self, number: usize) -> u32 {
        // SAFETY: every argument is an initialised value.
        unsafe { u32::from((*self.argument(number)).u1.v.type_) }
    }

    /// Whether argument `number` was given at all.
    pub fn has(&self, number: usize) -> bool {
        self.count() >= number && self.type_of(number) != IS_UNDEF
    }

    /// Whether argument `number` is missing or null.
    pub fn is_null(&self, number: usize) -> bool {
        !self.has(number) || self.type_of(number) == IS_NULL
    }

    /// A `string`. It is valid for the rest of the call.
    #[inline]
    pub fn bytes(&self, number: usize) -> Result<&'a [u8]> {
        self.try_bytes(number)
            .ok_or_else(|| self.wrong(number, _zend_expected_type_Z_EXPECTED_STRING))
    }

    /// A `string` where other types are allowed too, and have been ruled out.
    pub fn bytes_or(&self, number: usize, allowed: &str) -> Result<&'a [u8]> {
        self.try_bytes(number)
            .ok_or_else(|| self.type_error(number, allowed))
    }

    #[inline]
    fn try_bytes(&self, number: usize) -> Option<&'a [u8]> {
        let arg = self.argument(number);
        let mut string: *mut zend_string = std::ptr::null_mut();
        // SAFETY: `arg` is a value; after the helper, or if it was a string,
        // the string belongs to the argument and lives as long as the call.
        unsafe {
            if self.type_of(number) == IS_STRING {
                string = (*arg).value.str_;
            } else if !zend::zend_parse_arg_str_slow(arg, &raw mut string, number as u32) {
                return None;
            }
            Some(zend::bytes_of(string))
        }
    }

    /// An `int`.
    pub fn long(&self, number: usize) -> Result<i64> {
        let arg = self.argument(number);
        if self.type_of(number) == IS_LONG {
            // SAFETY: its type says so.
            return Ok(unsafe { (*arg).value.lval });
        }
        let mut long = 0;
        // SAFETY: `arg` is a value.
        if unsafe { zend::zend_parse_arg_long_slow(arg, &raw mut long, number as u32) } {
            Ok(long)
        } else {
            Err(self.wrong(number, _zend_expected_type_Z_EXPECTED_LONG))
        }
    }

    /// A `float`.
    pub fn double(&self, number: usize) -> Result<f64> {
        self.try_double(number)
            .ok_or_else(|| self.wrong(number, _zend_expected_type_Z_EXPECTED_DOUBLE))
    }

    /// A `float` where other types are allowed too, and have been ruled out.
    pub fn double_or(&self, number: usize, allowed: &str) -> Result<f64> {
        self.try_double(number)
            .ok_or_else(|| self.type_error(number, allowed))
    }

    fn try_double(&self, number: usize) -> Option<f64> {
        let arg = self.argument(number);
        if self.type_of(number) == IS_DOUBLE {
            // SAFETY: its type says so.
            return Some(unsafe { (*arg).value.dval });
        }
        let mut double = 0.0;
        // SAFETY: `arg` is a value.
        unsafe { zend::zend_parse_arg_double_slow(arg, &raw mut double, number as u32) }
            .then_some(double)
    }

    /// A `bool`.
    pub fn boolean(&self, number: usize) -> Result<bool> {
        let arg = self.argument(number);
        match self.type_of(number) {
            IS_TRUE => return Ok(true),
            IS_FALSE => return Ok(false),
            _ => {}
        }
        let mut boolean = false;
        // SAFETY: `arg` is a value.
        if unsafe { zend::zend_parse_arg_bool_slow(arg, &raw mut boolean, number as u32) } {
            Ok(boolean)
        } else {
            Err(self.wrong(number, _zend_expected_type_Z_EXPECTED_BOOL))
        }
    }

    /// An `int|float`.
    pub fn number(&self, number: usize) -> Result<Number> {
        let mut arg = self.argument(number);
        if !matches!(self.type_of(number), IS_LONG | IS_DOUBLE) {
            // SAFETY: `arg` is a value; the helper leaves an int or a float
            // where it points `arg` to.
            let parsed =
                unsafe { zend::zend_parse_arg_number_slow(arg, &raw mut arg, number as u32) };
            if !parsed {
                return Err(self.wrong(number, EXPECTED_NUMBER));
            }
        }
        // SAFETY: `arg` is an int or a float.
        Ok(unsafe {
            if u32::from((*arg).u1.v.type_) == IS_LONG {
                Number::Int((*arg).value.lval)
            } else {
                Number::Float((*arg).value.dval)
            }
        })
    }

    /// The Rust side of `$this`.
    pub fn this<T: Native>(&self) -> Result<&'a T> {
        // SAFETY: a method of a class is called on an object of that class,
        // which the engine keeps alive through the call.
        unsafe { payload_of::<T>(self.frame.This.value.obj) }.ok_or_else(|| {
            errors::throw_error("the object was never constructed");
            Thrown
        })
    }

    /// `$this`, for a constructor to fill.
    pub fn this_object(&self) -> *mut zend::raw::zend_object {
        // SAFETY: as in `this`.
        unsafe { self.frame.This.value.obj }
    }

    #[cold]
    fn wrong(&self, number: usize, expected: u32) -> Thrown {
        if errors::none_pending() {
            // SAFETY: throws a TypeError for this argument.
            unsafe {
                zend::zend_wrong_parameter_error(
                    zend::WRONG_ARGUMENT,
                    number as u32,
                    std::ptr::null_mut(),
                    expected,
                    self.argument(number),
                );
            }
        }
        Thrown
    }

    /// Throws a `TypeError` about argument `number`, unless its conversion has
    /// thrown already.
    pub fn type_error(&self, number: usize, expected: &str) -> Thrown {
        if !errors::none_pending() {
            return Thrown;
        }
        // SAFETY: the argument is a value.
        let given = unsafe { zend::type_name(self.argument(number)) };
        let message = format!("must be of type {expected}, {given} given");
        let message = CString::new(message).unwrap_or_default();
        // SAFETY: a format with one string, and that string.
        unsafe {
            zend::zend_argument_type_error(number as u32, c"%s".as_ptr(), message.as_ptr());
        }
        Thrown
    }

    /// Where the result goes; null until it is written.
    pub fn result(&mut self) -> &mut zval {
        self.result
    }
}

/// Makes C functions of methods written in Rust.
macro_rules! handlers {
    ($($name:ident = $body:path;)*) => {
        $(unsafe extern "C" fn $name(
            frame: *mut ext_php_rs::ffi::zend_execute_data,
            result: *mut ext_php_rs::ffi::zval,
        ) {
            // SAFETY: PHP calls a handler with its own frame and result.
            unsafe { $crate::php::call::Call::enter(frame, result, $body) }
        })*
    };
}
pub(super) use handlers;

/// The type of a handler.
pub type Handler = unsafe extern "C" fn(*mut zend_execute_data, *mut zval);

/// `SUCCESS` of a callback of PHP.
pub const SUCCESS: c_int = 0;
/// `FAILURE` of a callback of PHP.
pub const FAILURE: c_int = -1;
