//! The memory itself: a header and slots, anonymous or behind a file.
//!
//! A file lets pools, CLI tools and a reloaded master share one table. It is
//! good for one boot (BOOTTIME starts again with the next) and one layout; a
//! file that does not match is replaced by a new one under the same name, so
//! that whoever still has the old one mapped keeps it whole.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use portable_atomic::AtomicU128;

use crate::limit::Micros;

/// What a mapping starts with. Written once, before anyone else can see it;
/// after that only the atomics change.
#[repr(C)]
#[derive(Debug)]
struct Header {
    magic: [u8; 8],
    layout: u64,
    size: u64,
    boot: [u8; 36],
    _pad: [u8; 4],
    secret: [u64; 2],
    made_at: u64,
    claims: AtomicU64,
    evictions: AtomicU64,
}

const MAGIC: [u8; 8] = *b"sluice\0\0";
/// Changes whenever the header, a slot or the hash does.
const LAYOUT: u64 = 1;
/// The header has a page of its own, and slots start on a cache line.
const HEADER: usize = 4096;
const SLOT: usize = size_of::<AtomicU128>();

/// The smallest table: 64 KiB.
pub const MIN_SIZE: usize = 64 << 10;
/// The largest table: 64 GiB.
pub const MAX_SIZE: usize = 64 << 30;

/// A shared mapping with a header. Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    base: NonNull<u8>,
    size: usize,
    path: Option<PathBuf>,
}

// SAFETY: the mapping is plain memory; the header is only read once it is
// published, and everything that changes is atomic.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

/// Why there is no shared memory.
#[derive(Debug)]
pub struct MappingError {
    message: String,
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MappingError {}

impl MappingError {
    fn new(what: &str, error: &io::Error) -> Self {
        Self {
            message: format!("{what}: {error}"),
        }
    }
}

impl Mapping {
    /// Memory that this process shares with the children it forks.
    ///
    /// Pages are taken from the system when they are first used. `made_at` is
    /// the time from which instants count.
    ///
    /// # Errors
    /// Where the system has no memory, or no lock-free 128-bit atomics.
    pub fn anonymous(size: usize, made_at: Micros) -> Result<Self, MappingError> {
        let mapping = Self::map(rounded(size), None)?;
        mapping.initialise(made_at)?;
        Ok(mapping)
    }

    /// The table in the file at `path`, made if it is not there or is not of
    /// this boot, layout and size.
    ///
    /// # Errors
    /// Where the file cannot be opened, locked or filled.
    pub fn file(path: &Path, size: usize, made_at: Micros) -> Result<Self, MappingError> {
        let size = rounded(size);
        let fail = |error: io::Error| MappingError::new(&path.display().to_string(), &error);
        loop {
            let file = options().create(true).open(path).map_err(fail)?;
            // Held while one looks or makes the file, and by nobody for longer:
            // the kernel takes it from a process that dies.
            file.lock().map_err(fail)?;
            // While we waited, its holder may have put a new file
            // in this one's place.
            let ours = file.metadata().map_err(fail)?;
            match fs::symlink_metadata(path) {
                Ok(now) if (now.dev(), now.ino()) == (ours.dev(), ours.ino()) => {}
                _ => continue,
            }
            if !ours.is_file() {
                return Err(fail(io::Error::other("is not a regular file")));
            }
            if ours.len() == size as u64 {
                let mut mapping = Self::map(size, Some(&file))?;
                if mapping.header().matches(size) {
                    mapping.path = Some(path.to_owned());
                    // The mapping keeps the open file, and so the lock, for as
                    // long as it lives.
                    file.unlock().map_err(fail)?;
                    return Ok(mapping);
                }
            }
            // Beside it, under a name of its own: two paths may differ in what
            // looks like an extension only.
            let mut fresh = path.as_os_str().to_owned();
            fresh.push(format!(".new.{}", std::process::id()));
            let fresh = PathBuf::from(fresh);
            let made = Self::fresh_file(&fresh, size, made_at)
                .and_then(|mapping| fs::rename(&fresh, path).map_err(fail).map(|()| mapping));
            if made.is_err() {
                let _ = fs::remove_file(&fresh);
            }
            let mut mapping = made?;
            mapping.path = Some(path.to_owned());
            return Ok(mapping);
        }
    }

    fn fresh_file(path: &Path, size: usize, made_at: Micros) -> Result<Self, MappingError> {
        let fail = |error: io::Error| MappingError::new(&path.display().to_string(), &error);
        let _ = fs::remove_file(path);
        // Made here and now, or not at all: in a folder that others may write
        // to, one of theirs could stand in its place.
        let file = options().create_new(true).open(path).map_err(fail)?;
        // Room is taken now: a write to a hole on a full disk would be SIGBUS.
        // SAFETY: a call on an open descriptor; it touches no memory of ours.
        let error = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, size as libc::off_t) };
        if error != 0 {
            return Err(fail(io::Error::from_raw_os_error(error)));
        }
        let mapping = Self::map(size, Some(&file))?;
        mapping.initialise(made_at)?;
        Ok(mapping)
    }

    fn map(size: usize, file: Option<&File>) -> Result<Self, MappingError> {
        if !AtomicU128::is_lock_free() {
            return Err(MappingError {
                message: "this processor has no 128-bit compare-and-swap, \
                          which shared memory needs; set sluice.store to a Redis DSN"
                    .into(),
            });
        }
        let (flags, fd) = match file {
            Some(file) => (libc::MAP_SHARED, file.as_raw_fd()),
            None => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
        };
        // SAFETY: a new mapping at an address of the kernel's choice; nothing
        // of ours is there.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                fd,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            let what = format!("cannot map {size} bytes of shared memory");
            return Err(MappingError::new(&what, &io::Error::last_os_error()));
        }
        let base = NonNull::new(base.cast())
            .ok_or_else(|| MappingError::new("mmap", &io::Error::other("gave address 0")))?;
        Ok(Self {
            base,
            size,
            path: None,
        })
    }

    fn initialise(&self, made_at: Micros) -> Result<(), MappingError> {
        let mut secret = [0; 16];
        File::open("/dev/urandom")
            .and_then(|random| random.read_exact_at(&mut secret, 0))
            .map_err(|error| MappingError::new("/dev/urandom", &error))?;
        let [first, second] =
            [0, 8].map(|at| u64::from_ne_bytes(std::array::from_fn(|byte| secret[at + byte])));
        let header = Header {
            magic: MAGIC,
            layout: LAYOUT,
            size: self.size as u64,
            boot: boot_id(),
            _pad: [0; 4],
            secret: [first, second],
            made_at: made_at.0,
            claims: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        };
        // SAFETY: the mapping is page-aligned, larger than a header, and not
        // yet seen by anyone else.
        unsafe { self.base.cast::<Header>().write(header) };
        Ok(())
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping lives as long as `self`, starts on a page and is
        // larger than a header; any bytes are a valid `Header`, and those that
        // change are atomic.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// The slots, a whole number of cache lines.
    pub(super) fn slots(&self) -> &[AtomicU128] {
        let count = (self.size - HEADER) / SLOT;
        // SAFETY: the mapping lives as long as `self` and holds `count` slots
        // from HEADER on, aligned to a page; every bit pattern is a valid
        // atomic, and all processes go through atomics.
        unsafe { std::slice::from_raw_parts(self.base.add(HEADER).cast().as_ptr(), count) }
    }

    /// The slots on pages that were ever written to. Looking at the others
    /// would take memory for them.
    pub(super) fn touched_slots(&self) -> impl Iterator<Item = &AtomicU128> {
        let mut resident = vec![0_u8; self.size / HEADER];
        // SAFETY: one byte per page of a mapping that is a whole number of
        // pages long.
        let told =
            unsafe { libc::mincore(self.base.as_ptr().cast(), self.size, resident.as_mut_ptr()) };
        if told != 0 {
            resident.fill(1);
        }
        self.slots()
            .chunks(HEADER / SLOT)
            .zip(resident.into_iter().skip(1))
            .filter(|(_, resident)| resident & 1 == 1)
            .flat_map(|(page, _)| page)
    }

    pub(super) fn secret(&self) -> (u64, u64) {
        let [first, second] = self.header().secret;
        (first, second)
    }

    pub(super) fn made_at(&self) -> Micros {
        Micros(self.header().made_at)
    }

    /// A number no other claim on this table has.
    pub(super) fn next_claim(&self) -> u32 {
        self.header().claims.fetch_add(1, Relaxed) as u32
    }

    pub(super) fn evictions(&self) -> &AtomicU64 {
        &self.header().evictions
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this size; every borrow of it has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.size) };
    }
}

impl Header {
    fn matches(&self, size: usize) -> bool {
        self.magic == MAGIC
            && self.layout == LAYOUT
            && self.size == size as u64
            && self.boot == boot_id()
    }
}

/// Whole pages, so that slots fill whole lines.
fn rounded(size: usize) -> usize {
    size.clamp(MIN_SIZE, MAX_SIZE).next_multiple_of(HEADER)
}

/// Names this boot of the kernel; zeros where it does not tell.
fn boot_id() -> [u8; 36] {
    let mut id = [0; 36];
    if let Ok(text) = fs::read("/proc/sys/kernel/random/boot_id") {
        let length = text.len().min(id.len());
        id[..length].copy_from_slice(&text[..length]);
    }
    id
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .mode(0o660)
        .custom_flags(libc::O_NOFOLLOW);
    options
}
