//! Link settings of the extension.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // PHP unloads extensions before the process ends. A thread that still waits
    // for a slow name server then would return into code that is gone.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
