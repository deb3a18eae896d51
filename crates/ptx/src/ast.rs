//! The syntax tree of a module, with names resolved.

use smallvec::SmallVec;

use super::operation::Operation;
use super::types::{RegisterType, StateSpace};

/// A PTX module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Module {
    /// The version of the language.
    pub(crate) version: (u32, u32),
    /// The architecture that the text is for, as 75 for sm_75.
    pub(crate) target: u32,
    /// Variables in global, constant and shared memory, also those declared inside functions.
    pub(crate) variables: Vec<Variable>,
    /// Kernels and functions, declared ones included.
    pub(crate) functions: Vec<Function>,
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) space: StateSpace,
    /// 0 for an array without a size, whose memory the launch provides.
    pub(crate) bytes: usize,
    pub(crate) align: usize,
    pub(crate) initial: Initial,
    pub(crate) pointers: Vec<Pointer>,
}

/// The initial contents of a variable: what the text says of them, and zero everywhere else. It
/// takes no more memory than the text, however large the variable is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Initial {
    /// Where they begin, and what is there; in ascending order, and apart from each other.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl Initial {
    /// Adds what is at an offset behind all that is there already.
    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some((start, piece)) if *start + piece.len() == offset => piece.extend(bytes),
            _ => self.pieces.push((offset, bytes.to_vec())),
        }
    }

    /// The pieces of which something is known, with the offsets at which they begin.
    pub(crate) fn pieces(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.pieces.iter().map(|(start, piece)| (*start, &piece[..]))
    }
}

/// A place in an initial value that holds the address of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    pub(crate) offset: usize,
    /// Index in [`Module::variables`].
    pub(crate) target: usize,
    pub(crate) addend: i64,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
    /// Whether a body was given.
    pub(crate) is_defined: bool,
    /// Indices in `variables`.
    pub(crate) parameters: Vec<usize>,
    /// Indices in `variables`.
    pub(crate) returns: Vec<usize>,
    /// Parameters, return values, arguments of calls, and local arrays.
    pub(crate) variables: Vec<FrameVariable>,
    /// The size of the frame in local memory that `variables` lie in.
    pub(crate) frame_bytes: usize,
    pub(crate) registers: Vec<RegisterType>,
    pub(crate) body: Vec<Instruction>,
    /// Where branches go: indices in `body`, which may be its length.
    pub(crate) targets: Vec<usize>,
    /// The product of `.maxntid` or `.reqntid`, if given.
    pub(crate) max_threads: Option<u32>,
}

/// A variable of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameVariable {
    pub(crate) place: Place,
    /// From the start of the place.
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
    pub(crate) align: usize,
}

/// What a variable of a thread is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The function's frame in the thread's local memory.
    Frame,
    /// The buffer of kernel parameters.
    KernelParameters,
}

/// An instruction, its operands in the order of the text.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    /// The predicate under which it is executed.
    pub(crate) guard: Option<Guard>,
    pub(crate) operation: Operation,
    /// `None` where the result is not wanted.
    pub(crate) destinations: SmallVec<[Option<Register>; 2]>,
    pub(crate) sources: SmallVec<[Operand; 4]>,
    /// In the text, from 1.
    pub(crate) line: u32,
}

/// The predicate before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub(crate) register: Register,
    pub(crate) negated: bool,
}

/// A virtual register: an index in [`Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Register(pub(crate) u32);

impl Register {
    /// The index in [`Function::registers`].
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Register(Register),
    /// The opposite of a predicate.
    Negated(Register),
    /// The bits of a constant of the type that the operation expects.
    Immediate(u64),
    Special(SpecialRegister),
    /// A place in memory.
    Memory(Address),
    /// The address of a variable in its own space.
    AddressOf(VariableRef, i64),
    /// A variable as argument or result of a call.
    Variable(VariableRef),
    /// An index in [`Function::targets`].
    Target(usize),
}

impl Operand {
    /// The register that it reads, if it does.
    pub(crate) fn register(self) -> Option<Register> {
        match self {
            Operand::Register(register) | Operand::Negated(register) => Some(register),
            Operand::Memory(Address { base: AddressBase::Register(register), .. }) => {
                Some(register)
            }
            _ => None,
        }
    }
}

/// An address: a base and a distance in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) base: AddressBase,
    pub(crate) offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressBase {
    Register(Register),
    Variable(VariableRef),
    Absolute,
}

/// A variable that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum VariableRef {
    /// Index in [`Module::variables`].
    Module(usize),
    /// Index in [`Function::variables`].
    Frame(usize),
}

/// A register that the machine sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SpecialRegister {
    ThreadIndex(Axis),
    BlockExtent(Axis),
    BlockIndex(Axis),
    GridExtent(Axis),
    Lane,
    Warp,
    WarpCount,
    LaneMask(LaneRelation),
    Clock,
    ClockHigh,
    Clock64,
    GlobalTimer,
    GlobalTimerLow,
    GlobalTimerHigh,
    Multiprocessor,
    MultiprocessorCount,
    Grid,
    DynamicSharedBytes,
    TotalSharedBytes,
    /// Half of the address of what the blocks of a cooperative launch share, or of null.
    Workspace(Half),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Half {
    Low,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Axis {
    X,
    Y,
    Z,
}

/// Which lanes a lane mask contains, compared with the thread's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LaneRelation {
    Equal,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl SpecialRegister {
    /// The value of a register of that name that always holds the same.
    pub(crate) fn constant(name: &str) -> Option<u64> {
        let name =
            name.strip_suffix(['x', 'y', 'z']).filter(|name| name.ends_with('.')).unwrap_or(name);
        Some(match name {
            "WARP_SZ" => 32,
            "%cluster_nctaid." | "%cluster_nctarank" => 1,
            "%cluster_ctaid." | "%cluster_ctarank" | "%is_explicit_cluster" => 0,
            "%current_graph_exec" => 0,
            _ if name
                .strip_prefix("%envreg")
                .is_some_and(|number| number.parse().is_ok_and(|number: u32| number < 32)) =>
            {
                0
            }
            _ => return None,
        })
    }

    /// The register of that name, `%` included.
    pub(crate) fn from_name(name: &str) -> Option<SpecialRegister> {
        use SpecialRegister::*;
        if let Some((vector, axis)) = name.rsplit_once('.') {
            let axis = match axis {
                "x" => Axis::X,
                "y" => Axis::Y,
                "z" => Axis::Z,
                _ => return None,
            };
            return Some(match vector {
                "%tid" => ThreadIndex(axis),
                "%ntid" => BlockExtent(axis),
                "%ctaid" => BlockIndex(axis),
                "%nctaid" => GridExtent(axis),
                // Each block is a cluster of its own.
                "%clusterid" => BlockIndex(axis),
                "%nclusterid" => GridExtent(axis),
                _ => return None,
            });
        }
        Some(match name {
            "%laneid" => Lane,
            "%warpid" => Warp,
            "%nwarpid" => WarpCount,
            "%lanemask_eq" => LaneMask(LaneRelation::Equal),
            "%lanemask_lt" => LaneMask(LaneRelation::Less),
            "%lanemask_le" => LaneMask(LaneRelation::LessEqual),
            "%lanemask_gt" => LaneMask(LaneRelation::Greater),
            "%lanemask_ge" => LaneMask(LaneRelation::GreaterEqual),
            "%clock" => Clock,
            "%clock_hi" => ClockHigh,
            "%clock64" => Clock64,
            "%globaltimer" => GlobalTimer,
            "%globaltimer_lo" => GlobalTimerLow,
            "%globaltimer_hi" => GlobalTimerHigh,
            "%smid" => Multiprocessor,
            "%nsmid" => MultiprocessorCount,
            "%gridid" => Grid,
            "%dynamic_smem_size" => DynamicSharedBytes,
            "%total_smem_size" | "%aggr_smem_size" => TotalSharedBytes,
            // The meaning of these is the driver's own matter (PTX ISA, `%envreg<32>`); it is what
            // cooperative groups expect of it.
            "%envreg1" => Workspace(Half::High),
            "%envreg2" => Workspace(Half::Low),
            _ => return None,
        })
    }
}
