//! Registering classes, enums and functions with their real types.
//!
//! The macros of ext-php-rs give neither typed readonly properties nor union
//! types nor defaults that Reflection can show, so every class of ours goes
//! through here.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::ffi::{
    _ZEND_TYPE_NAME_BIT, IS_DOUBLE, IS_LONG, IS_NULL, IS_STRING, MAY_BE_BOOL, ZEND_ACC_FINAL,
    ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_NOT_SERIALIZABLE, ZEND_ACC_PRIVATE, ZEND_ACC_PUBLIC,
    ZEND_ACC_STATIC, ZEND_MODULE_API_NO, zend_class_entry, zend_function_entry,
    zend_internal_arg_info, zend_object, zend_object_handlers, zend_type, zval,
};
use once_cell::sync::OnceCell;

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
    fn at_property(self) -> zend_type {
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
    sensitive: bool,
}

pub const fn required(name: &'static str, ty: Type) -> Parameter {
    Parameter {
        name,
        ty,
        default: None,
        sensitive: false,
    }
}

pub const fn optional(name: &'static str, ty: Type, default: &'static str) -> Parameter {
    Parameter {
        name,
        ty,
        default: Some(default),
        sensitive: false,
    }
}

impl Parameter {
    /// Keeps the argument out of stack traces (`#[SensitiveParameter]`).
    pub const fn sensitive(mut self) -> Self {
        self.sensitive = true;
        self
    }
}

/// A function or method.
pub struct Function<'a> {
    name: &'static str,
    handler: Handler,
    flags: u32,
    parameters: &'a [Parameter],
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

    /// A method that only we may call: a constructor that nobody may.
    pub const fn private(mut self) -> Self {
        self.flags = ZEND_ACC_PRIVATE;
        self
    }

    fn entry(&self) -> zend_function_entry {
        let required = self
            .parameters
            .iter()
            .filter(|p| p.default.is_none())
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
                    type_: parameter.ty.in_arguments(),
                    default_value: parameter.default.map_or(std::ptr::null(), zend::kept),
                }),
        );
        let mut entry = end();
        entry.fname = zend::kept(self.name);
        entry.handler = Some(self.handler);
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

fn table(functions: &[Function<'_>]) -> *const zend_function_entry {
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

/// Registers global functions.
pub fn register_functions(functions: &[Function<'_>]) {
    const MODULE_PERSISTENT: c_int = 1;
    // SAFETY: in MINIT; the table lives for ever and ends with zeros.
    unsafe {
        zend::zend_register_functions(
            std::ptr::null_mut(),
            table(functions),
            std::ptr::null_mut(),
            MODULE_PERSISTENT,
        );
    }
}

/// A readonly public property.
pub struct Property {
    pub name: &'static str,
    pub ty: Type,
}

/// A registered class: its entry, and the handlers of its objects.
#[derive(Default)]
pub struct Class {
    entry: AtomicPtr<zend_class_entry>,
    handlers: OnceCell<zend_object_handlers>,
}

impl Class {
    pub const fn new() -> Self {
        Self {
            entry: AtomicPtr::new(std::ptr::null_mut()),
            handlers: OnceCell::new(),
        }
    }

    /// Remembers the entry of a class that was registered elsewhere.
    pub fn set(&self, entry: *mut zend_class_entry) {
        self.entry.store(entry, Ordering::Relaxed);
    }

    /// The class entry; null before MINIT.
    pub fn entry(&self) -> *mut zend_class_entry {
        self.entry.load(Ordering::Relaxed)
    }
}

/// A type of Rust that lives inside the objects of a final class.
pub trait Native: Sized + 'static {
    fn class() -> &'static Class;
}

/// An object with a Rust value in front of it.
#[repr(C)]
struct Object<T> {
    payload: Option<T>,
    std: zend_object,
}

/// Registers a final class whose objects hold a `T`.
pub fn register<T: Native>(name: &str, functions: &[Function<'_>], properties: &[Property]) {
    let class = register_class(
        name,
        functions,
        std::ptr::null_mut(),
        ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE,
    );
    // SAFETY: in MINIT, and `class` was registered just now.
    unsafe {
        (*class).__bindgen_anon_2.create_object = Some(create::<T>);
        for property in properties {
            declare(class, property);
        }
    }
    T::class().handlers.get_or_init(|| {
        // SAFETY: PHP's own table, constant after start.
        let mut handlers = unsafe { zend::raw::std_object_handlers };
        handlers.offset = offset_of!(Object<T>, std) as c_int;
        handlers.free_obj = Some(free::<T>);
        handlers.clone_obj = None;
        handlers
    });
    T::class().set(class);
}

unsafe fn declare(class: *mut zend_class_entry, property: &Property) {
    const READONLY: u32 = 1 << 7;
    let mut unset = zval {
        value: zend::raw::zend_value { lval: 0 },
        u1: zend::raw::_zval_struct__bindgen_ty_1 { type_info: 0 },
        u2: zend::raw::_zval_struct__bindgen_ty_2 { next: 0 },
    };
    // SAFETY: the caller registers `class` in MINIT; the name is interned.
    unsafe {
        zend::zend_declare_typed_property(
            class,
            zend::interned(property.name),
            &raw mut unset,
            (ZEND_ACC_PUBLIC | READONLY) as c_int,
            std::ptr::null_mut(),
            property.ty.at_property(),
        );
    }
}

/// Registers a class that may have a parent.
pub fn register_class(
    name: &str,
    functions: &[Function<'_>],
    parent: *mut zend_class_entry,
    flags: u32,
) -> *mut zend_class_entry {
    // SAFETY: in MINIT. A template needs only its name and its functions; the
    // engine copies it.
    unsafe {
        let mut template: zend_class_entry = std::mem::zeroed();
        template.name = zend::interned(name);
        template.info.internal.builtin_functions = table(functions);
        let class = zend::raw::zend_register_internal_class_ex(&raw mut template, parent);
        (*class).ce_flags |= flags;
        for function in functions {
            mark_sensitive(class, function);
        }
        class
    }
}

/// Adds `#[SensitiveParameter]` where a parameter asks for it.
unsafe fn mark_sensitive(class: *mut zend_class_entry, function: &Function<'_>) {
    for (index, _) in function
        .parameters
        .iter()
        .enumerate()
        .filter(|(_, parameter)| parameter.sensitive)
    {
        let name = function.name.to_ascii_lowercase();
        // SAFETY: the class was registered just now, with this method in its
        // table under its lower-case name.
        unsafe {
            let method = zend::raw::zend_hash_str_find(
                &raw const (*class).function_table,
                name.as_ptr().cast(),
                name.len(),
            );
            let Some(method) = method.as_ref() else {
                return;
            };
            let method = &mut (*method.value.func).internal_function;
            zend::zend_add_attribute(
                &raw mut method.attributes,
                zend::interned("SensitiveParameter"),
                0,
                1, // ZEND_ATTRIBUTE_PERSISTENT
                index as u32 + 1,
                0,
            );
        }
    }
}

/// Registers an enum backed by strings.
pub fn register_enum(class: &Class, name: &'static CStr, cases: &[(&'static CStr, &str)]) {
    // SAFETY: in MINIT; names and values live for ever.
    unsafe {
        let entry =
            zend::raw::zend_register_internal_enum(name.as_ptr(), IS_STRING as _, std::ptr::null());
        for (case, value) in cases {
            let mut backing: zval = std::mem::zeroed();
            backing.value.str_ = zend::interned(value);
            backing.u1.type_info = IS_STRING;
            zend::zend_enum_add_case_cstr(entry, case.as_ptr(), &raw mut backing);
        }
        // As enums written in PHP are.
        (*entry).ce_flags |= ZEND_ACC_FINAL;
        class.set(entry);
    }
}

unsafe extern "C" fn create<T: Native>(class: *mut zend_class_entry) -> *mut zend_object {
    // SAFETY: PHP asks for an object of this class: room for the payload in
    // front of the standard object, whose properties follow it.
    unsafe {
        let object = zend::raw::ext_php_rs_zend_object_alloc(size_of::<Object<T>>(), class)
            .cast::<Object<T>>();
        (&raw mut (*object).payload).write(None);
        let std = &raw mut (*object).std;
        zend::raw::zend_object_std_init(std, class);
        zend::raw::object_properties_init(std, class);
        if let Some(handlers) = T::class().handlers.get() {
            (*std).handlers = handlers;
        }
        std
    }
}

unsafe extern "C" fn free<T: Native>(object: *mut zend_object) {
    // SAFETY: PHP frees an object that `create` made, once.
    unsafe {
        drop((*owner::<T>(object)).payload.take());
        zend::raw::zend_object_std_dtor(object);
    }
}

unsafe fn owner<T>(object: *mut zend_object) -> *mut Object<T> {
    // SAFETY: the caller has an object that `create::<T>` made.
    unsafe { object.byte_sub(offset_of!(Object<T>, std)).cast() }
}

/// The Rust side of an object; `None` before its constructor has run.
///
/// # Safety
/// `object` is a live object of `T`'s class.
pub unsafe fn payload_of<'a, T: Native>(object: *mut zend_object) -> Option<&'a T> {
    // SAFETY: the caller's promise; the class is final, so `create` made it.
    unsafe { (*owner::<T>(object)).payload.as_ref() }
}

/// Gives an object its Rust side.
///
/// # Safety
/// As [`payload_of`]; and no reference to an earlier payload is in use.
pub unsafe fn set_payload<T: Native>(object: *mut zend_object, payload: T) {
    // SAFETY: the caller's promises.
    unsafe { (*owner::<T>(object)).payload = Some(payload) };
}

/// Makes a new object of `T`'s class in `into`, and gives its properties.
///
/// # Safety
/// In a request; `into` holds nothing that must be freed.
pub unsafe fn instantiate<T: Native>(into: *mut zval, payload: T) -> *mut zval {
    // SAFETY: the caller's promises; a final class of ours can always be made.
    unsafe {
        zend::object_init_ex(into, T::class().entry());
        let object = (*into).value.obj;
        set_payload(object, payload);
        (&raw mut (*object).properties_table).cast()
    }
}
