//! What a function of PHP takes and gives: types, parameters, defaults.

use std::ffi::{c_char, c_void};

use ext_php_rs::ffi::{
    _ZEND_IS_VARIADIC_BIT, _ZEND_TYPE_NAME_BIT, IS_DOUBLE, IS_LONG, IS_NULL, IS_STRING,
    MAY_BE_BOOL, ZEND_ACC_ABSTRACT, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC, ZEND_ACC_STATIC,
    ZEND_MODULE_API_NO, zend_function_entry, zend_internal_arg_info, zend_type,
};

use super::call::Handler;
use super::zend;

/// A type as PHP declares it: builtin types as bits, and class names.
#[derive(Clone, Copy)]
pub struct Type {
    mask: u32,
    /// One name, or several with `|` between them.
    classes: Option<&'static str>,
}

impl Type {
    pub const NONE: Self = Self::builtin(0);
    pub const BOOL: Self = Self::builtin(MAY_BE_BOOL);
    pub const INT: Self = Self::builtin(1 << IS_LONG);
    pub const FLOAT: Self = Self::builtin(1 << IS_DOUBLE);
    pub const NUMBER: Self = Self::builtin(1 << IS_LONG | 1 << IS_DOUBLE);
    pub const STRING: Self = Self::builtin(1 << IS_STRING);
    pub const MIXED: Self = Self::builtin(ext_php_rs::ffi::MAY_BE_ANY);
    pub const CALLABLE: Self = Self::builtin(1 << ext_php_rs::ffi::IS_CALLABLE);
    pub const ARRAY: Self = Self::builtin(1 << ext_php_rs::ffi::IS_ARRAY);
    pub const VOID: Self = Self::builtin(1 << ext_php_rs::ffi::IS_VOID);

    const fn builtin(mask: u32) -> Self {
        Self {
            mask,
            classes: None,
        }
    }

    pub const fn class(name: &'static str) -> Self {
        Self {
            mask: 0,
            classes: Some(name),
        }
    }

    pub const fn or(self, other: Self) -> Self {
        Self {
            mask: self.mask | other.mask,
            classes: match self.classes {
                Some(_) => self.classes,
                None => other.classes,
            },
        }
    }

    pub const fn or_null(self) -> Self {
        self.or(Self::builtin(1 << IS_NULL))
    }

    /// As it stands in a function's argument list: class names are C strings.
    fn in_arguments(self) -> zend_type {
        // PHP 8.3 gave names that are C strings a bit of their own.
        const LITERAL_NAME: u32 = if ZEND_MODULE_API_NO >= 20_230_831 {
            1 << 23
        } else {
            _ZEND_TYPE_NAME_BIT
        };
        self.with_names(LITERAL_NAME, |name| zend::kept(name).cast_mut().cast())
    }

    /// As it stands at a property: a class name is a string of PHP.
    pub fn at_property(self) -> zend_type {
        self.with_names(_ZEND_TYPE_NAME_BIT, |name| zend::interned(name).cast())
    }

    fn with_names(self, bit: u32, name: impl FnOnce(&str) -> *mut c_void) -> zend_type {
        match self.classes {
            Some(classes) => zend_type {
                ptr: name(classes),
                type_mask: self.mask | bit,
            },
            None => zend_type {
                ptr: std::ptr::null_mut(),
                type_mask: self.mask,
            },
        }
    }
}

/// A parameter: name, type, and the default as PHP code.
pub struct Parameter {
    name: &'static str,
    ty: Type,
    default: Option<&'static str>,
    pub sensitive: bool,
    variadic: bool,
}

pub const fn required(name: &'static str, ty: Type) -> Parameter {
    Parameter {
        name,
        ty,
        default: None,
        sensitive: false,
        variadic: false,
    }
}

pub const fn optional(name: &'static str, ty: Type, default: &'static str) -> Parameter {
    Parameter {
        name,
        ty,
        default: Some(default),
        sensitive: false,
        variadic: false,
    }
}

/// `Type ...$name`: all arguments from here on.
pub const fn variadic(name: &'static str, ty: Type) -> Parameter {
    Parameter {
        variadic: true,
        ..required(name, ty)
    }
}

impl Parameter {
    fn in_arguments(&self) -> zend_type {
        let mut ty = self.ty.in_arguments();
        if self.variadic {
            ty.type_mask |= _ZEND_IS_VARIADIC_BIT;
        }
        ty
    }

    /// Keeps the argument out of stack traces (`#[SensitiveParameter]`).
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }
}

/// A function or method.
pub struct Function<'a> {
    pub name: &'static str,
    handler: Handler,
    flags: u32,
    pub parameters: &'a [Parameter],
    returns: Type,
}

/// A public method, or a global function.
pub const fn function<'a>(
    name: &'static str,
    handler: Handler,
    parameters: &'a [Parameter],
    returns: Type,
) -> Function<'a> {
    Function {
        name,
        handler,
        flags: ZEND_ACC_PUBLIC,
        parameters,
        returns,
    }
}

impl Function<'_> {
    /// A static method.
    pub const fn for_class(mut self) -> Self {
        self.flags |= ZEND_ACC_STATIC;
        self
    }

    /// A method of an interface.
    pub const fn of_interface(mut self) -> Self {
        self.flags |= ZEND_ACC_ABSTRACT;
        self
    }

    /// A method that only we may call: a constructor that nobody may.
    pub const fn private(mut self) -> Self {
        self.flags = ZEND_ACC_PRIVATE;
        self
    }

    fn entry(&self) -> zend_function_entry {
        let required = self
            .parameters
            .iter()
            .filter(|p| p.default.is_none() && !p.variadic)
            .count();
        // The first entry is the return type; its name is the number of
        // required parameters.
        let mut arguments = vec![zend_internal_arg_info {
            name: required as *const c_char,
            type_: self.returns.in_arguments(),
            default_value: std::ptr::null(),
        }];
        arguments.extend(
            self.parameters
                .iter()
                .map(|parameter| zend_internal_arg_info {
                    name: zend::kept(parameter.name),
                    type_: parameter.in_arguments(),
                    default_value: parameter.default.map_or(std::ptr::null(), zend::kept),
                }),
        );
        let mut entry = end();
        entry.fname = zend::kept(self.name);
        entry.handler = (self.flags & ZEND_ACC_ABSTRACT == 0).then_some(self.handler);
        // All of them: PHP takes a variadic one off by itself.
        entry.num_args = self.parameters.len() as u32;
        entry.flags = self.flags as _;
        entry.arg_info = zend::keep(Kept(arguments)).0.as_ptr();
        entry
    }
}

fn end() -> zend_function_entry {
    // SAFETY: a table ends with an entry of zeros; all members may be zero.
    unsafe { std::mem::zeroed() }
}

/// The table of functions as PHP reads it.
pub fn table(functions: &[Function<'_>]) -> *const zend_function_entry {
    let mut entries: Vec<_> = functions.iter().map(Function::entry).collect();
    entries.push(end());
    zend::keep(Kept(entries)).0.as_ptr()
}

/// A table that PHP reads for as long as the process lives.
struct Kept<T>(Vec<T>);

// SAFETY: made in MINIT, before there are threads, and never changed after.
unsafe impl<T> Send for Kept<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Kept<T> {}
