//! The few symbols of PHP that ext-php-rs does not bind, and values written in
//! place.
//!
//! Everything `unsafe` that the rest of this room needs of Zend's structures
//! and that has a name of its own stands here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use ext_php_rs::ffi::{
    HashTable, IS_OBJECT_EX, IS_STRING_EX, zend_class_entry, zend_empty_array, zend_execute_data,
    zend_function_entry, zend_ini_entry, zend_module_entry, zend_object, zend_string, zend_type,
    zval,
};

pub use ext_php_rs::ffi as raw;
use parking_lot::Mutex;

unsafe extern "C" {
    pub fn zend_parse_arg_long_slow(arg: *mut zval, into: *mut i64, number: u32) -> bool;
    pub fn zend_parse_arg_bool_slow(arg: *mut zval, into: *mut bool, number: u32) -> bool;
    pub fn zend_parse_arg_number_slow(arg: *mut zval, into: *mut *mut zval, number: u32) -> bool;
    pub fn zend_parse_arg_double_slow(arg: *mut zval, into: *mut f64, number: u32) -> bool;
    pub fn zend_parse_arg_str_slow(
        arg: *mut zval,
        into: *mut *mut zend_string,
        number: u32,
    ) -> bool;
    pub fn zend_wrong_parameter_error(
        code: c_int,
        number: u32,
        name: *mut c_char,
        expected: u32,
        arg: *mut zval,
    );
    pub fn zend_argument_error(
        class: *mut zend_class_entry,
        number: u32,
        format: *const c_char,
        ...
    );
    pub fn zend_argument_value_error(number: u32, format: *const c_char, ...);
    pub fn zend_argument_type_error(number: u32, format: *const c_char, ...);
    pub fn zend_declare_typed_property(
        class: *mut zend_class_entry,
        name: *mut zend_string,
        default: *mut zval,
        access: c_int,
        doc: *mut zend_string,
        ty: zend_type,
    ) -> *mut c_void;
    pub fn zend_register_functions(
        scope: *mut zend_class_entry,
        functions: *const zend_function_entry,
        table: *mut HashTable,
        kind: c_int,
    ) -> c_int;
    pub fn zend_add_attribute(
        attributes: *mut *mut HashTable,
        name: *mut zend_string,
        argc: u32,
        flags: u32,
        offset: u32,
        line: u32,
    ) -> *mut c_void;
    pub fn zend_register_class_alias_ex(
        name: *const c_char,
        length: usize,
        class: *mut zend_class_entry,
        persistent: bool,
    ) -> c_int;
    pub fn zend_class_implements(class: *mut zend_class_entry, count: c_int, ...);
    pub fn zend_enum_add_case_cstr(
        class: *mut zend_class_entry,
        name: *const c_char,
        value: *mut zval,
    );
    pub fn zend_enum_get_case_cstr(
        class: *mut zend_class_entry,
        name: *const c_char,
    ) -> *mut zend_object;
    pub fn object_init_ex(value: *mut zval, class: *mut zend_class_entry) -> c_int;
    pub fn instanceof_function_slow(
        class: *const zend_class_entry,
        of: *const zend_class_entry,
    ) -> bool;
    pub fn zend_zval_type_name(value: *const zval) -> *const c_char;
    pub fn display_ini_entries(module: *mut zend_module_entry);
    pub fn zend_ini_string_ex(
        name: *const c_char,
        length: usize,
        original: c_int,
        exists: *mut bool,
    ) -> *const c_char;
    pub fn php_log_err_with_severity(message: *const c_char, severity: c_int);
    pub fn php_check_open_basedir(path: *const c_char) -> c_int;
    pub fn cfg_get_entry(name: *const c_char, length: usize) -> *mut zval;

    pub static mut zend_compile_file:
        Option<unsafe extern "C" fn(*mut raw::zend_file_handle, c_int) -> *mut raw::zend_op_array>;
    pub static mut zend_autoload:
        Option<unsafe extern "C" fn(*mut zend_string, *mut zend_string) -> *mut zend_class_entry>;
    pub fn php_date_get_interface_ce() -> *mut zend_class_entry;

    pub static mut php_json_serializable_ce: *mut zend_class_entry;
    pub static mut spl_ce_RuntimeException: *mut zend_class_entry;
    pub static mut spl_ce_InvalidArgumentException: *mut zend_class_entry;
}

/// `ZPP_ERROR_WRONG_ARG`.
pub const WRONG_ARGUMENT: c_int = 9;

/// A string that lives as long as the process, for names.
pub fn interned(text: &str) -> *mut zend_string {
    // SAFETY: called in MINIT, where PHP's function pointer is set; it copies
    // the bytes.
    unsafe {
        raw::zend_string_init_interned.map_or(std::ptr::null_mut(), |init| {
            init(text.as_ptr().cast(), text.len(), true)
        })
    }
}

/// A C string that lives as long as the process, for tables that PHP keeps.
pub fn kept(text: &str) -> *const c_char {
    keep(CString::new(text).unwrap_or_default()).as_ptr()
}

/// Keeps a value for as long as the process lives, within reach: what PHP only
/// points into the middle of would look lost to a leak checker.
pub fn keep<T: Send + Sync>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<&'static (dyn Sync + Send)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    KEPT.lock().push(value);
    value
}

/// The bytes of a string of PHP.
///
/// # Safety
/// `string` is a live string, and lives for `'a`.
pub unsafe fn bytes_of<'a>(string: *const zend_string) -> &'a [u8] {
    // SAFETY: the caller's promise; a zend_string holds `len` bytes at `val`.
    unsafe { std::slice::from_raw_parts((*string).val.as_ptr().cast(), (*string).len) }
}

/// Writes an object into a value, taking a reference of its own.
///
/// # Safety
/// `into` holds nothing that must be freed; `object` is live.
pub unsafe fn put_object(into: *mut zval, object: *mut zend_object) {
    // SAFETY: the caller's promises; objects are always counted.
    unsafe {
        (*object).gc.refcount += 1;
        (*into).value.obj = object;
        (*into).u1.type_info = IS_OBJECT_EX;
    }
}

/// Writes another reference to the same string.
///
/// # Safety
/// `into` holds nothing that must be freed; `from` holds a string.
pub unsafe fn put_same_string(into: *mut zval, from: *const zval) {
    // SAFETY: the caller's promises; an interned string is not counted, which
    // its value's type says.
    unsafe {
        (*into).value = (*from).value;
        (*into).u1.type_info = (*from).u1.type_info;
        if (*from).u1.v.type_flags != 0 {
            (*(*from).value.str_).gc.refcount += 1;
        }
    }
}

/// Writes a new string.
///
/// # Safety
/// `into` holds nothing that must be freed.
pub unsafe fn put_string(into: *mut zval, bytes: &[u8]) {
    // SAFETY: the bytes are copied. Strings of up to one byte are PHP's own
    // and not counted.
    unsafe {
        let string = raw::ext_php_rs_zend_string_init(bytes.as_ptr().cast(), bytes.len(), false);
        (*into).value.str_ = string;
        (*into).u1.type_info = if bytes.len() <= 1 {
            raw::IS_STRING
        } else {
            IS_STRING_EX
        };
    }
}

/// Writes the empty array that everybody shares.
///
/// # Safety
/// `into` holds nothing that must be freed.
pub unsafe fn put_empty_array(into: *mut zval) {
    // SAFETY: the caller's promise; this array is immutable and not counted.
    unsafe {
        (*into).value.arr = (&raw const zend_empty_array).cast_mut();
        (*into).u1.type_info = raw::IS_ARRAY;
    }
}

/// Reports a warning as PHP's own functions do.
pub fn warn(message: &str) {
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: a format with one string, and that string.
    unsafe {
        raw::php_error_docref(
            std::ptr::null(),
            raw::E_WARNING as c_int,
            c"%s".as_ptr(),
            message.as_ptr(),
        );
    }
}

/// Writes to PHP's error log, and never into a response.
pub fn log(message: &str) {
    const NOTICE: c_int = 5;
    let message = CString::new(message.replace('\0', "\\0")).unwrap_or_default();
    // SAFETY: a C string, which is copied.
    unsafe { php_log_err_with_severity(message.as_ptr(), NOTICE) };
}

/// Prints bytes into the response.
pub fn print(text: &[u8]) {
    // SAFETY: the bytes are copied into PHP's output layer.
    unsafe { raw::php_output_write(text.as_ptr().cast(), text.len()) };
}

/// The current value of a directive, as PHP keeps it.
///
/// # Safety
/// `entry` is the entry PHP hands to a displayer.
pub unsafe fn value_of_entry(entry: *const zend_ini_entry, original: bool) -> Vec<u8> {
    // SAFETY: the caller's promise; both values may be missing.
    unsafe {
        let value = if original && !(*entry).orig_value.is_null() {
            (*entry).orig_value
        } else {
            (*entry).value
        };
        if value.is_null() {
            Vec::new()
        } else {
            bytes_of(value).to_vec()
        }
    }
}

/// The first slot of a call's arguments: `ZEND_CALL_FRAME_SLOT`.
pub const FRAME_SLOTS: usize = size_of::<zend_execute_data>().div_ceil(size_of::<zval>());

/// The type name PHP uses in its messages.
///
/// # Safety
/// `value` is a live value.
pub unsafe fn type_name(value: *const zval) -> String {
    // SAFETY: the caller's promise; the name is a C string that PHP owns.
    unsafe {
        if (*value).u1.v.type_ == raw::IS_OBJECT as u8 {
            let class = (*(*value).value.obj).ce;
            // The name of an anonymous class goes on behind a NUL.
            let name = bytes_of((*class).name).split(|byte| *byte == 0).next();
            return String::from_utf8_lossy(name.unwrap_or_default()).into_owned();
        }
        CStr::from_ptr(zend_zval_type_name(value))
            .to_string_lossy()
            .into_owned()
    }
}
