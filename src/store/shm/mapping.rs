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

use super::circuits::Circuit;
use super::layout::{Array, Layout, PAGE};
use super::near::Near;
use super::permits::Block;
use super::windows::Record;
use super::worker::Desk;
use crate::limit::{MOST_CELLS, Micros};
use crate::store::unix_now;

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
    made_at_unix: u64,
    claims: AtomicU64,
    evictions: AtomicU64,
    /// Records of the reserve that were taken.
    reserve_taken: AtomicU64,
}

/// Mappings this process has made.
static MAPPED: AtomicU64 = AtomicU64::new(0);

const MAGIC: [u8; 8] = *b"sluice\0\0";
/// Changes whenever the header, a slot or the hash does.
const LAYOUT: u64 = 3;

/// A shared mapping with a header. Unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    /// Not the address: another mapping may come to lie there.
    id: u64,
    base: NonNull<u8>,
    layout: Layout,
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
        let mapping = Self::map(Layout::of(size), None)?;
        mapping.initialise(made_at)?;
        Ok(mapping)
    }

    /// The table in the file at `path`, made if it is not there or is not of
    /// this boot, layout and size.
    ///
    /// # Errors
    /// Where the file cannot be opened, locked or filled.
    pub fn file(path: &Path, size: usize, made_at: Micros) -> Result<Self, MappingError> {
        let layout = Layout::of(size);
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
            if ours.len() == layout.size as u64 {
                let mut mapping = Self::map(layout, Some(&file))?;
                if mapping.header().matches(layout.size) {
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
            let made = Self::fresh_file(&fresh, layout, made_at)
                .and_then(|mapping| fs::rename(&fresh, path).map_err(fail).map(|()| mapping));
            if made.is_err() {
                let _ = fs::remove_file(&fresh);
            }
            let mut mapping = made?;
            mapping.path = Some(path.to_owned());
            return Ok(mapping);
        }
    }

    fn fresh_file(path: &Path, layout: Layout, made_at: Micros) -> Result<Self, MappingError> {
        let fail = |error: io::Error| MappingError::new(&path.display().to_string(), &error);
        let _ = fs::remove_file(path);
        // Made here and now, or not at all: in a folder that others may write
        // to, one of theirs could stand in its place.
        let file = options().create_new(true).open(path).map_err(fail)?;
        // Room is taken now: a write to a hole on a full disk would be SIGBUS.
        // SAFETY: a call on an open descriptor; it touches no memory of ours.
        let error =
            unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, layout.size as libc::off_t) };
        if error != 0 {
            return Err(fail(io::Error::from_raw_os_error(error)));
        }
        let mapping = Self::map(layout, Some(&file))?;
        mapping.initialise(made_at)?;
        Ok(mapping)
    }

    fn map(layout: Layout, file: Option<&File>) -> Result<Self, MappingError> {
        if !AtomicU128::is_lock_free() {
            return Err(MappingError {
                message: "this processor has no 128-bit compare-and-swap, \
                          which shared memory needs; set sluice.store to a Redis DSN"
                    .into(),
            });
        }
        let size = layout.size;
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
            id: MAPPED.fetch_add(1, Relaxed),
            base,
            layout,
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
            size: self.layout.size as u64,
            boot: boot_id(),
            _pad: [0; 4],
            secret: [first, second],
            made_at: made_at.0,
            made_at_unix: unix_now().0,
            claims: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            reserve_taken: AtomicU64::new(0),
        };
        // SAFETY: the mapping is page-aligned, larger than a header, and not
        // yet seen by anyone else.
        unsafe { self.base.cast::<Header>().write(header) };
        for (number, desk) in self.desks().iter().enumerate() {
            desk.initialise();
            desk.spare
                .store((self.heads().len() + number) as u32, Relaxed);
        }
        Ok(())
    }

    fn header(&self) -> &Header {
        // SAFETY: the mapping lives as long as `self`, starts on a page and is
        // larger than a header; any bytes are a valid `Header`, and those that
        // change are atomic.
        unsafe { self.base.cast::<Header>().as_ref() }
    }

    /// The elements of an array.
    ///
    /// # Safety
    /// `T` is what the layout made the array of; any bytes are a valid `T`, and
    /// all of it that changes is atomic.
    unsafe fn array<T>(&self, array: Array) -> &[T] {
        // SAFETY: the mapping lives as long as `self`; the layout keeps the
        // array inside it and on a page; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts(self.base.add(array.at).cast().as_ptr(), array.count) }
    }

    /// The slots, a whole number of cache lines.
    #[inline(always)]
    pub(super) fn slots(&self) -> &[AtomicU128] {
        // SAFETY: an array of atomics, as laid out.
        unsafe { self.array(self.layout.slots) }
    }

    /// The heads of sliding windows.
    pub(super) fn heads(&self) -> &[AtomicU128] {
        // SAFETY: an array of atomics, as laid out.
        unsafe { self.array(self.layout.heads) }
    }

    /// The records of sliding windows: one for each head, one for each desk,
    /// and a reserve.
    fn records(&self) -> &[Record] {
        // SAFETY: an array of records, which are atomic throughout.
        unsafe { self.array(self.layout.records) }
    }

    /// The record of this number. A file that something else has written to
    /// may hold any number; it then counts wrong, and ends nobody.
    pub(super) fn record(&self, number: u32) -> &Record {
        let records = self.records();
        &records[number as usize % records.len()]
    }

    /// The heads of blocks of permits.
    pub(super) fn block_heads(&self) -> &[AtomicU128] {
        // SAFETY: an array of atomics, as laid out.
        unsafe { self.array(self.layout.block_heads) }
    }

    /// The blocks of permits.
    pub(super) fn blocks(&self) -> &[Block] {
        // SAFETY: an array of blocks, which are atomic throughout.
        unsafe { self.array(self.layout.blocks) }
    }

    /// The workers' desks.
    pub(super) fn desks(&self) -> &[Desk] {
        // SAFETY: an array of desks; their mutexes are made before anyone else
        // sees them and only used through calls.
        unsafe { self.array(self.layout.desks) }
    }

    /// What Redis last said of buckets, fixed windows and quotas.
    #[inline(always)]
    pub(in crate::store) fn near(&self) -> Near<'_, 1> {
        // SAFETY: an array of entries, which are atomic throughout.
        Near(unsafe { self.array(self.layout.near) })
    }

    /// What Redis last said of sliding windows.
    pub(in crate::store) fn near_windows(&self) -> Near<'_, MOST_CELLS> {
        // SAFETY: an array of entries, which are atomic throughout.
        Near(unsafe { self.array(self.layout.near_windows) })
    }

    /// The tokens that this host holds.
    pub(super) fn leases(&self) -> &[AtomicU128] {
        // SAFETY: an array of atomics, as laid out.
        unsafe { self.array(self.layout.leases) }
    }

    /// Which servers are away.
    pub(super) fn circuits(&self) -> &[Circuit] {
        // SAFETY: an array of circuits, which are atomic throughout.
        unsafe { self.array(self.layout.circuits) }
    }

    /// A record that no head and no desk ever had.
    pub(super) fn take_from_reserve(&self) -> Option<u32> {
        let taken = self.header().reserve_taken.fetch_add(1, Relaxed) as usize;
        let first = self.layout.heads.count + self.layout.desks.count;
        (taken < self.layout.reserve).then(|| (first + taken) as u32)
    }

    /// The slots on pages that were ever written to. Looking at the others
    /// would take memory for them.
    pub(super) fn touched_slots(&self) -> impl Iterator<Item = &AtomicU128> {
        let mut resident = vec![0_u8; self.layout.size / PAGE];
        // SAFETY: one byte per page of a mapping that is a whole number of
        // pages long.
        let told = unsafe {
            libc::mincore(
                self.base.as_ptr().cast(),
                self.layout.size,
                resident.as_mut_ptr(),
            )
        };
        if told != 0 {
            resident.fill(1);
        }
        let first = self.layout.slots.at / PAGE;
        self.slots()
            .chunks(PAGE / size_of::<AtomicU128>())
            .zip(resident.into_iter().skip(first))
            .filter(|(_, resident)| resident & 1 == 1)
            .flat_map(|(page, _)| page)
    }

    /// What tells it from the other mappings of this process.
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn secret(&self) -> (u64, u64) {
        let [first, second] = self.header().secret;
        (first, second)
    }

    pub(super) fn made_at(&self) -> Micros {
        Micros(self.header().made_at)
    }

    /// Unix time when the mapping was made.
    pub(super) fn made_at_unix(&self) -> Micros {
        Micros(self.header().made_at_unix)
    }

    /// A number no other claim on this table has.
    pub(super) fn next_claim(&self) -> u32 {
        self.header().claims.fetch_add(1, Relaxed) as u32
    }

    pub(super) fn evictions(&self) -> &AtomicU64 {
        &self.header().evictions
    }

    pub(super) fn size(&self) -> usize {
        self.layout.size
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        self.leave_desk();
        // SAFETY: mapped by us with this size; every borrow of it has ended.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.layout.size) };
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
