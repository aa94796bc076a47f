//! Registering classes, enums and functions with their real types.
//!
//! The macros of ext-php-rs give neither typed readonly properties nor union
//! types nor defaults that Reflection can show, so every class of ours goes
//! through here.

use std::ffi::{CStr, c_int};
use std::mem::offset_of;
use std::sync::atomic::{AtomicPtr, Ordering};

use ext_php_rs::ffi::{
    IS_STRING, ZEND_ACC_FINAL, ZEND_ACC_NO_DYNAMIC_PROPERTIES, ZEND_ACC_NOT_SERIALIZABLE,
    ZEND_ACC_PUBLIC, zend_class_entry, zend_object, zend_object_handlers, zval,
};
use once_cell::sync::OnceCell;

use super::signature::{Function, Type, table};
use super::zend;

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

/// Registers an interface.
pub fn register_interface(name: &str, functions: &[Function<'_>]) -> *mut zend_class_entry {
    // SAFETY: in MINIT; as in `register_class`.
    unsafe {
        let mut template: zend_class_entry = std::mem::zeroed();
        template.name = zend::interned(name);
        template.info.internal.builtin_functions = table(functions);
        zend::raw::zend_register_internal_interface(&raw mut template)
    }
}

/// Registers an enum backed by strings.
pub fn register_enum<T>(
    class: &Class,
    name: &'static CStr,
    cases: &[(T, &'static CStr, &'static str)],
) {
    // SAFETY: in MINIT; names and values live for ever.
    unsafe {
        let entry =
            zend::raw::zend_register_internal_enum(name.as_ptr(), IS_STRING as _, std::ptr::null());
        for (_, case, value) in cases {
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
