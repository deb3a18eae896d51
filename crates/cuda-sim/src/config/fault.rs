//! Faults by name: what can be made to go wrong, and the texts that say so.

use std::fmt;
use std::str::FromStr;

use cuda_sys::CUresult;

use super::size::bytes;

/// A fault that is made on demand.
///
/// Its text is what `CUDA_SIM_FAULTS` understands, several with semicolons between them.
/// Errors go by their names in cuda.h without `CUDA_ERROR_`, or by their numbers.
///
/// | text | what goes wrong |
/// |---|---|
/// | `call:cuMemAlloc_v2@3=OUT_OF_MEMORY` | the third call of that function |
/// | `launch:0@2=LAUNCH_FAILED` | the second launch on device 0, when its turn comes |
/// | `copy:0@1=ECC_UNCORRECTABLE` | the first copy in a stream of device 0, likewise |
/// | `fill:0@1=UNKNOWN` | the first fill, likewise |
/// | `memory:0=64MiB` | device 0 has only so much memory |
/// | `slow:0-1=8` | the way between devices 0 and 1 takes 8 times as long |
/// | `slow:host-0=4` | so does the way between the host and device 0 |
/// | `peer:0-1=errors` | devices 0 and 1 do not reach each other |
/// | `peer:0-1=corrupt` | copies between devices 0 and 1 deliver wrong bytes |
/// | `dead:1=ECC_UNCORRECTABLE` | device 1 is lost |
///
/// ```
/// use cuda_sim::control::{InjectedFault, WorkKind};
/// use cuda_sys::CUresult;
///
/// let fault: InjectedFault = "launch:0@2=LAUNCH_FAILED".parse()?;
/// let result = CUresult::CUDA_ERROR_LAUNCH_FAILED;
/// assert_eq!(fault, InjectedFault::Work { kind: WorkKind::Launch, device: 0, nth: 2, result });
/// assert_eq!(fault.to_string(), "launch:0@2=LAUNCH_FAILED");
/// # Ok::<(), cuda_sim::control::FaultError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectedFault {
    /// A call returns an error instead of doing anything; see [`fail`](crate::control::fail).
    Call {
        /// The function's exported name.
        name: String,
        /// The number of the call that fails, of its calls from now, counted from 1.
        nth: u64,
        /// The error that it returns.
        result: CUresult,
    },
    /// Work on a device fails when its turn comes, and the device is lost.
    Work {
        /// The kind of work.
        kind: WorkKind,
        /// The device in whose streams it is enqueued.
        device: usize,
        /// The number of the work that fails, of what is enqueued from now, counted from 1.
        nth: u64,
        /// The sticky error.
        result: CUresult,
    },
    /// A device has less memory; see [`set_memory_limit`](crate::control::set_memory_limit).
    Memory {
        /// The device.
        device: usize,
        /// The number of bytes that it has.
        bytes: u64,
    },
    /// A way takes longer, in both directions: in virtual time, and otherwise by as much as it
    /// would on an H200.
    Slow {
        /// The link that is slow.
        link: Link,
        /// The factor by which it takes longer.
        times: u32,
    },
    /// The way between two devices is broken.
    Peer {
        /// One device.
        one: usize,
        /// The other.
        other: usize,
        /// The way in which it is broken.
        fault: PeerFault,
    },
    /// A device is lost.
    Dead {
        /// The device.
        device: usize,
        /// The sticky error.
        result: CUresult,
    },
}

/// Kinds of work that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// Launches of kernels.
    Launch,
    /// Copies.
    Copy,
    /// Fills.
    Fill,
}

/// A way that copies take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// The link between the host and a device.
    Host(usize),
    /// The link between two devices.
    Devices(usize, usize),
}

/// The ways in which the link between two devices can be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PeerFault {
    /// The devices say that they do not reach each other, kernels fault on each other's memory, and
    /// copies between them lose the device whose stream they are in.
    Errors,
    /// Copies deliver wrong bytes. What kernels read is right.
    Corrupt,
}

/// A text that names no fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no fault; there are {SYNTAX}")]
pub struct FaultError {
    /// The text.
    pub text: String,
}

const SYNTAX: &str = "call:NAME@NTH=ERROR, launch:DEVICE@NTH=ERROR, copy:…, fill:…, \
    memory:DEVICE=SIZE, slow:DEVICE-DEVICE=TIMES, slow:host-DEVICE=TIMES, \
    peer:DEVICE-DEVICE=errors, peer:DEVICE-DEVICE=corrupt and dead:DEVICE=ERROR";

impl InjectedFault {
    /// Several faults, with semicolons between them.
    pub(crate) fn list(text: &str) -> Option<Vec<InjectedFault>> {
        let parts = text.split(';').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| part.parse().ok()).collect()
    }
}

impl FromStr for InjectedFault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<InjectedFault, FaultError> {
        parse(text.trim()).ok_or_else(|| FaultError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<InjectedFault> {
    let (kind, rest) = text.split_once(':')?;
    let (what, how) = rest.split_once('=')?;
    let work = |kind| {
        let (device, nth) = counted(what)?;
        Some(InjectedFault::Work { kind, device: device.parse().ok()?, nth, result: result(how)? })
    };
    match kind {
        "call" => {
            let (name, nth) = counted(what)?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let name = Some(name).filter(|name| !name.is_empty() && name.chars().all(is_word))?;
            Some(InjectedFault::Call { name: name.to_owned(), nth, result: result(how)? })
        }
        "launch" => work(WorkKind::Launch),
        "copy" => work(WorkKind::Copy),
        "fill" => work(WorkKind::Fill),
        "memory" => Some(InjectedFault::Memory { device: what.parse().ok()?, bytes: bytes(how)? }),
        "slow" => {
            let times = how.parse().ok().filter(|&times| times > 0)?;
            let link = match what.strip_prefix("host-") {
                Some(device) => Link::Host(device.parse().ok()?),
                None => pair(what).map(|(one, other)| Link::Devices(one, other))?,
            };
            Some(InjectedFault::Slow { link, times })
        }
        "peer" => {
            let (one, other) = pair(what)?;
            let fault = match how {
                "errors" => PeerFault::Errors,
                "corrupt" => PeerFault::Corrupt,
                _ => return None,
            };
            Some(InjectedFault::Peer { one, other, fault })
        }
        "dead" => Some(InjectedFault::Dead { device: what.parse().ok()?, result: result(how)? }),
        _ => None,
    }
}

/// A name and a count, from 1.
fn counted(text: &str) -> Option<(&str, u64)> {
    let (name, nth) = text.split_once('@')?;
    Some((name, nth.parse().ok().filter(|&nth| nth > 0)?))
}

fn pair(text: &str) -> Option<(usize, usize)> {
    let (one, other) = text.split_once('-')?;
    let (one, other) = (one.parse().ok()?, other.parse().ok()?);
    (one != other).then_some((one, other))
}

const PREFIX: &str = "CUDA_ERROR_";

fn result(text: &str) -> Option<CUresult> {
    /// The results that cuda.h names are below this.
    const END: u32 = 1000;
    let named = |code: &u32| {
        let name = CUresult(*code).name();
        name.and_then(|name| name.strip_prefix(PREFIX)).is_some_and(|name| name == text)
    };
    let code = (1..END).find(named).or_else(|| text.parse().ok().filter(|&code| code > 0));
    code.map(CUresult)
}

struct ErrorName(CUresult);

impl fmt::Display for ErrorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.name().and_then(|name| name.strip_prefix(PREFIX)) {
            Some(name) => f.write_str(name),
            None => write!(f, "{}", self.0.0),
        }
    }
}

impl fmt::Display for InjectedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InjectedFault::Call { name, nth, result } => {
                write!(f, "call:{name}@{nth}={}", ErrorName(*result))
            }
            InjectedFault::Work { kind, device, nth, result } => {
                let kind = match kind {
                    WorkKind::Launch => "launch",
                    WorkKind::Copy => "copy",
                    WorkKind::Fill => "fill",
                };
                write!(f, "{kind}:{device}@{nth}={}", ErrorName(*result))
            }
            InjectedFault::Memory { device, bytes } => write!(f, "memory:{device}={bytes}"),
            InjectedFault::Slow { link: Link::Host(device), times } => {
                write!(f, "slow:host-{device}={times}")
            }
            InjectedFault::Slow { link: Link::Devices(one, other), times } => {
                write!(f, "slow:{one}-{other}={times}")
            }
            InjectedFault::Peer { one, other, fault } => {
                let fault = match fault {
                    PeerFault::Errors => "errors",
                    PeerFault::Corrupt => "corrupt",
                };
                write!(f, "peer:{one}-{other}={fault}")
            }
            InjectedFault::Dead { device, result } => {
                write!(f, "dead:{device}={}", ErrorName(*result))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fault() -> impl Strategy<Value = InjectedFault> {
        let device = || 0..70_usize;
        let pair = || (device(), device()).prop_filter("two devices", |(one, other)| one != other);
        let result = || (1..1200_u32).prop_map(CUresult);
        let nth = || 1..u64::MAX;
        let kinds = [WorkKind::Launch, WorkKind::Copy, WorkKind::Fill];
        let links = prop_oneof![
            device().prop_map(Link::Host),
            pair().prop_map(|(one, other)| Link::Devices(one, other)),
        ];
        let faults = prop::sample::select(vec![PeerFault::Errors, PeerFault::Corrupt]);
        prop_oneof![
            ("[a-zA-Z0-9_]{1,30}", nth(), result())
                .prop_map(|(name, nth, result)| InjectedFault::Call { name, nth, result }),
            (prop::sample::select(kinds.to_vec()), device(), nth(), result()).prop_map(
                |(kind, device, nth, result)| InjectedFault::Work { kind, device, nth, result }
            ),
            (device(), any::<u64>())
                .prop_map(|(device, bytes)| InjectedFault::Memory { device, bytes }),
            (links, 1..u32::MAX).prop_map(|(link, times)| InjectedFault::Slow { link, times }),
            (pair(), faults).prop_map(|((one, other), fault)| InjectedFault::Peer {
                one,
                other,
                fault
            }),
            (device(), result())
                .prop_map(|(device, result)| InjectedFault::Dead { device, result }),
        ]
    }

    proptest! {
        #[test]
        fn every_list_of_faults_is_what_its_text_says(
            faults in prop::collection::vec(fault(), 0..6)
        ) {
            let texts: Vec<String> = faults.iter().map(InjectedFault::to_string).collect();
            prop_assert_eq!(InjectedFault::list(&texts.join("; ")), Some(faults));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(call|copy|slow|peer|dead):[-a-z0-9@=]{0,20}") {
            let _ = text.parse::<InjectedFault>();
        }
    }

    #[test]
    fn a_text_that_names_no_fault_is_an_error_that_says_what_would() {
        for text in [
            "",
            "call:cuInit",
            "call:@1=UNKNOWN",
            "call:cuInit@0=UNKNOWN",
            "launch:0@1=NO_SUCH_ERROR",
            "launch:0@1=0",
            "memory:0=much",
            "slow:0-0=2",
            "slow:host-0=0",
            "peer:0-1=maybe",
            "dead:-1=UNKNOWN",
        ] {
            let error = text.parse::<InjectedFault>().expect_err("no fault");
            assert!(error.to_string().contains("slow:host-DEVICE=TIMES"), "{error}");
        }
    }
}
