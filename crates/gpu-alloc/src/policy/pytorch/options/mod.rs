//! The options of `PYTORCH_CUDA_ALLOC_CONF`, as far as they decide anything.

mod error;
mod inert;
mod parse;
mod roundup;

use std::fmt;
use std::str::FromStr;

pub use error::OptionsError;
use inert::Inert;
use roundup::Roundup;

const MIB: u64 = 1 << 20;

/// The size of the segments that requests of 1 to 10 MiB share, unless told otherwise.
const LARGE_SEGMENT_MB: u64 = 20;
/// The bytes by which an oversize block may be larger than the request, unless told otherwise.
const NON_SPLIT_ROUNDING_MB: u64 = 20;

/// Options of [`Pytorch`](super::Pytorch), in PyTorch's words.
///
/// It is read from, and shown in, the syntax of `PYTORCH_CUDA_ALLOC_CONF`: `key:value,key:value`.
/// These keys decide something:
///
/// | key | value | effect |
/// | --- | --- | --- |
/// | `max_split_size_mb` | at least 20 | blocks from this size on are neither split nor given to smaller requests |
/// | `max_non_split_rounding_mb` | at least 20 | such a block serves a request that is smaller by less than this; 20 at first |
/// | `roundup_power2_divisions` | a power of two, or `[256:1,512:2,>:8]` | sizes are rounded up to so many steps between powers of two; in a list, from each size in MiB to twice that, the first also below it, and `>` from the last one on |
/// | `garbage_collection_threshold` | between 0 and 1 | beyond this part of the [memory limit](super::Pytorch::set_memory_limit), segments that were not used for long are given back before new ones are taken |
/// | `large_segment_size_mb` | even, 10 to 512 | the segments, or pages, of requests of 1 to 10 MiB; 20 at first |
/// | `expandable_segments` | `True`, `False` | memory is mapped page by page into one range of addresses |
/// | `per_process_memory_fraction` | 0 to 1 | what part of the device's memory may be taken; whoever makes the policy sees to it |
/// | `throw_on_cudamalloc_oom` | `True`, `False` | a request for which more would have to be taken than the [memory limit](super::Pytorch::set_memory_limit) is refused at once: nothing is given back or waited for first |
///
/// These change no decision here, and are accepted: `backend:native`, `release_lock_on_cudamalloc`,
/// `graph_capture_record_stream_reuse`, and all that begins with `pinned_`, as page-locked memory
/// has an allocator of its own; all but the first are [warned](Self::warnings) of where they ask for
/// something. Others that PyTorch knows are refused, as a program that sets them
/// counts on what they do: `backend:cudaMallocAsync` and `expandable_segments_reserve`.
///
/// ```
/// use gpu_alloc::policy::PytorchOptions;
///
/// let options: PytorchOptions = "expandable_segments:True, roundup_power2_divisions:4".parse()?;
/// assert!(options.expandable_segments());
/// assert_eq!(options.to_string(), "roundup_power2_divisions:4,expandable_segments:True");
///
/// let refused = "max_split_size_mb:1".parse::<PytorchOptions>().unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "max_split_size_mb is `1`: it must be a whole number of MiB, 20 or more"
/// );
/// # Ok::<(), gpu_alloc::policy::OptionsError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct PytorchOptions {
    max_split_mb: Option<u64>,
    non_split_rounding_mb: u64,
    roundup: Roundup,
    garbage_collection_threshold: Option<f64>,
    large_segment_mb: u64,
    expandable_segments: bool,
    memory_fraction: Option<f64>,
    rejects: bool,
    /// Options that were set and decide nothing here.
    inert: Inert,
}

impl PytorchOptions {
    /// The options that the environment sets: `PYTORCH_ALLOC_CONF`, or else
    /// `PYTORCH_CUDA_ALLOC_CONF`; nothing if it sets neither. What is inert goes to the log.
    ///
    /// # Errors
    /// [`OptionsError`] if it sets something that is not understood, or not supported.
    pub fn from_environment() -> Result<Option<PytorchOptions>, OptionsError> {
        let set = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let Some(text) = set("PYTORCH_ALLOC_CONF").or_else(|| set("PYTORCH_CUDA_ALLOC_CONF"))
        else {
            return Ok(None);
        };
        let options: PytorchOptions = text.parse()?;
        options.warnings().for_each(|warning| tracing::warn!("{warning}"));
        Ok(Some(options))
    }

    /// The bytes from which on blocks are not split.
    pub fn max_split_size(&self) -> Option<u64> {
        self.max_split_mb.map(in_bytes)
    }

    /// The part of the memory limit beyond which old segments are given back.
    pub fn garbage_collection_threshold(&self) -> Option<f64> {
        self.garbage_collection_threshold
    }

    /// Whether memory is mapped page by page.
    pub fn expandable_segments(&self) -> bool {
        self.expandable_segments
    }

    /// The part of the device's memory that may be taken, if these options limit it.
    pub fn per_process_memory_fraction(&self) -> Option<f64> {
        self.memory_fraction
    }

    /// Whether a request is refused at once that would take more than the memory limit.
    pub fn throw_on_cudamalloc_oom(&self) -> bool {
        self.rejects
    }

    /// Options that are set, and do nothing or harm in this combination.
    pub fn warnings(&self) -> impl Iterator<Item = &'static str> + use<> {
        let collects = self.garbage_collection_threshold.is_some();
        let splits_all = self.max_split_mb.is_none();
        [
            (collects && self.memory_fraction.is_none()).then_some(
                "garbage_collection_threshold does nothing until a memory fraction is set",
            ),
            (self.rejects && self.memory_fraction.is_none())
                .then_some("throw_on_cudamalloc_oom does nothing until a memory fraction is set"),
            (collects && self.expandable_segments)
                .then_some("garbage_collection_threshold does nothing to expandable segments"),
            (splits_all && self.non_split_rounding_mb != NON_SPLIT_ROUNDING_MB)
                .then_some("max_non_split_rounding_mb does nothing without max_split_size_mb"),
            (!splits_all && self.expandable_segments).then_some(
                "with expandable_segments, max_split_size_mb keeps small requests out of large \
                 free blocks, and nothing else",
            ),
        ]
        .into_iter()
        .flatten()
        .chain(self.inert.warnings())
    }

    /// The bytes by which a block that is not split may exceed the request.
    pub(super) fn non_split_rounding(&self) -> u64 {
        in_bytes(self.non_split_rounding_mb)
    }

    /// The segments, or pages, of requests of 1 to 10 MiB.
    pub(super) fn large_segment(&self) -> u64 {
        in_bytes(self.large_segment_mb)
    }

    /// The number of steps that a size is rounded up to between powers of two; 0 or 1 for none.
    pub(super) fn divisions(&self, bytes: u64) -> u64 {
        self.roundup.divisions(bytes)
    }

    /// Turns expandable segments on or off.
    #[must_use]
    pub fn with_expandable_segments(self, expandable_segments: bool) -> Self {
        PytorchOptions { expandable_segments, ..self }
    }
}

impl Default for PytorchOptions {
    /// PyTorch's, when nothing is set.
    fn default() -> Self {
        PytorchOptions {
            max_split_mb: None,
            non_split_rounding_mb: NON_SPLIT_ROUNDING_MB,
            roundup: Roundup::default(),
            garbage_collection_threshold: None,
            large_segment_mb: LARGE_SEGMENT_MB,
            expandable_segments: false,
            memory_fraction: None,
            rejects: false,
            inert: Inert::default(),
        }
    }
}

impl FromStr for PytorchOptions {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        parse::options(text)
    }
}

impl fmt::Display for PytorchOptions {
    /// The options that differ from the default, so that they can be read again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let other = |value: u64, usual: u64| (value != usual).then_some(value);
        let set = [
            self.max_split_mb.map(|mb| format!("max_split_size_mb:{mb}")),
            other(self.non_split_rounding_mb, NON_SPLIT_ROUNDING_MB)
                .map(|mb| format!("max_non_split_rounding_mb:{mb}")),
            self.roundup.is_on().then(|| format!("roundup_power2_divisions:{}", self.roundup)),
            self.garbage_collection_threshold
                .map(|part| format!("garbage_collection_threshold:{part}")),
            other(self.large_segment_mb, LARGE_SEGMENT_MB)
                .map(|mb| format!("large_segment_size_mb:{mb}")),
            self.expandable_segments.then(|| "expandable_segments:True".to_owned()),
            self.memory_fraction.map(|part| format!("per_process_memory_fraction:{part}")),
            self.rejects.then(|| "throw_on_cudamalloc_oom:True".to_owned()),
        ];
        f.write_str(&set.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

fn in_bytes(mb: u64) -> u64 {
    mb.saturating_mul(MIB)
}
