//! The syntax tree of a module, with names resolved.

use smallvec::SmallVec;

use super::operation::Operation;
use super::types::{RegisterType, StateSpace};

/// A PTX module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// The version of the language.
    pub version: (u32, u32),
    /// The architecture that the text is for, as 75 for sm_75.
    pub target: u32,
    /// Variables in global, constant and shared memory, also those declared inside functions.
    pub variables: Vec<Variable>,
    /// Kernels and functions, declared ones included.
    pub functions: Vec<Function>,
}

/// A variable of the module.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The name, as the text spells it.
    pub name: String,
    /// The state space: global, constant or shared memory.
    pub space: StateSpace,
    /// The size; 0 for an array without one, whose memory the launch provides.
    pub bytes: usize,
    /// The alignment in bytes.
    pub align: usize,
    /// Whether the host reaches it too (`.attribute(.managed)`).
    pub managed: bool,
    /// The contents before the first launch.
    pub initial: Initial,
    /// Addresses in the initial value, which are known only where the module is loaded.
    pub pointers: Vec<Pointer>,
}

/// The initial contents of a variable: what the text says of them, and zero everywhere else. It
/// takes no more memory than the text, however large the variable is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Initial {
    /// Offsets and the bytes that begin there, in ascending order and apart from each other.
    pieces: Vec<(usize, Vec<u8>)>,
}

impl Initial {
    /// Adds bytes at an offset behind all that were added before.
    pub(super) fn put(&mut self, offset: usize, bytes: &[u8]) {
        match self.pieces.last_mut() {
            Some((start, piece)) if *start + piece.len() == offset => piece.extend(bytes),
            _ => self.pieces.push((offset, bytes.to_vec())),
        }
    }

    /// The bytes that the text gives, in pieces with the offsets at which they begin.
    pub fn pieces(&self) -> impl Iterator<Item = (usize, &[u8])> {
        self.pieces.iter().map(|(start, piece)| (*start, &piece[..]))
    }
}

/// A part of an initial value that holds the address of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// The offset in the variable that holds the address, in bytes.
    pub offset: usize,
    /// An index in [`Module::variables`].
    pub target: usize,
    /// The number of bytes that is added to the address of the target.
    pub addend: i64,
}

/// A kernel or a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// The name, as the text spells it.
    pub name: String,
    /// Whether it was declared with `.entry`, so that it can be launched.
    pub is_kernel: bool,
    /// Whether it has a body.
    pub is_defined: bool,
    /// The variables that hold them: indices in `variables`.
    pub parameters: Vec<usize>,
    /// The variables that hold them: indices in `variables`.
    pub returns: Vec<usize>,
    /// Parameters, return values, arguments of calls, and local arrays.
    pub variables: Vec<FrameVariable>,
    /// The size of the frame in local memory that `variables` lie in.
    pub frame_bytes: usize,
    /// The type of each virtual register.
    pub registers: Vec<RegisterType>,
    /// The instructions, in the order of the text.
    pub body: Vec<Instruction>,
    /// The targets of branches: indices in `body`, which may be its length.
    pub targets: Vec<usize>,
    /// The product of `.maxntid` or `.reqntid`, if given.
    pub max_threads: Option<u32>,
    /// The number of `.maxnreg`, if given.
    pub max_registers: Option<u32>,
}

/// Frames begin at multiples of this, which suits every access.
pub const FRAME_ALIGN: usize = 32;

/// A variable of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameVariable {
    /// The memory that it is a part of.
    pub memory: ThreadMemory,
    /// The offset from the start of that memory.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// The alignment in bytes.
    pub align: usize,
}

/// The memory that a variable of a thread is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadMemory {
    /// The function's frame in the thread's local memory.
    Frame,
    /// The buffer of kernel parameters.
    KernelParameters,
}

/// An instruction, its operands in the order of the text.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The predicate under which it is executed.
    pub guard: Option<Guard>,
    /// The operation, with its types and modifiers.
    pub operation: Operation,
    /// The registers that it writes; `None` where a result is not wanted.
    pub destinations: SmallVec<[Option<Register>; 2]>,
    /// The values that it reads.
    pub sources: SmallVec<[Operand; 4]>,
    /// The line in the text, from 1.
    pub line: u32,
}

impl Instruction {
    /// An instruction without a guard.
    pub(super) fn new(
        operation: Operation,
        destinations: &[Option<Register>],
        sources: &[Operand],
        line: u32,
    ) -> Instruction {
        let (destinations, sources) = (destinations.into(), sources.into());
        Instruction { guard: None, operation, destinations, sources, line }
    }
}

/// The predicate before an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// A predicate register.
    pub register: Register,
    /// `@!%p`: it is executed where the predicate is false.
    pub negated: bool,
}

/// A virtual register: an index in [`Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u32);

impl Register {
    /// The index in [`Function::registers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The value of a register.
    Register(Register),
    /// The opposite of a predicate.
    Negated(Register),
    /// The bits of a constant of the type that the operation expects.
    Immediate(u64),
    /// The value of a register that the machine sets, such as `%tid.x`.
    Special(SpecialRegister),
    /// A location in memory.
    Memory(MemoryOperand),
    /// The address of a variable in its own space.
    AddressOf(VariableRef, i64),
    /// A variable as argument or result of a call.
    Variable(VariableRef),
    /// An index in [`Function::targets`].
    Target(usize),
}

impl Operand {
    /// The register that it reads, if it does.
    pub fn register(self) -> Option<Register> {
        match self {
            Operand::Register(register) | Operand::Negated(register) => Some(register),
            Operand::Memory(MemoryOperand { base: AddressBase::Register(register), .. }) => {
                Some(register)
            }
            _ => None,
        }
    }
}

/// An address: a base and a distance in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryOperand {
    /// The address that the distance is counted from.
    pub base: AddressBase,
    /// The distance, in bytes.
    pub offset: i64,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressBase {
    /// The address that a register holds.
    Register(Register),
    /// The start of a variable.
    Variable(VariableRef),
    /// Address 0 of the space.
    Absolute,
}

/// A variable that an instruction names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VariableRef {
    /// An index in [`Module::variables`].
    Module(usize),
    /// An index in [`Function::variables`].
    Frame(usize),
}

/// A special register, which the machine sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpecialRegister {
    /// `%tid`
    ThreadIndex(Axis),
    /// `%ntid`: the threads of a block along an axis.
    BlockExtent(Axis),
    /// `%ctaid`
    BlockIndex(Axis),
    /// `%nctaid`: the blocks of the grid along an axis.
    GridExtent(Axis),
    /// `%laneid`
    Lane,
    /// `%warpid`: the warp's number in its block.
    Warp,
    /// `%nwarpid`
    WarpCount,
    /// `%lanemask_eq`, `_lt`, `_le`, `_gt`, `_ge`
    LaneMask(LaneRelation),
    /// `%clock`: the lower half of `%clock64`.
    Clock,
    /// `%clock_hi`
    ClockHigh,
    /// `%clock64`
    Clock64,
    /// `%globaltimer`: nanoseconds.
    GlobalTimer,
    /// `%globaltimer_lo`
    GlobalTimerLow,
    /// `%globaltimer_hi`
    GlobalTimerHigh,
    /// `%smid`
    Multiprocessor,
    /// `%nsmid`
    MultiprocessorCount,
    /// `%gridid`: the number of the launch.
    Grid,
    /// `%dynamic_smem_size`: what the launch asks for beyond the variables.
    DynamicSharedBytes,
    /// `%total_smem_size`
    TotalSharedBytes,
    /// Half of the address of what the blocks of a cooperative launch share, or of null.
    Workspace(WordHalf),
}

/// A half of a 64-bit value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WordHalf {
    /// Bits 0 to 31.
    Low,
    /// Bits 32 to 63.
    High,
}

/// An axis of blocks and grids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// `.x`, along which neighbours are in one warp.
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
}

/// The lanes that a lane mask contains, compared with the thread's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneRelation {
    /// The thread's own lane.
    Equal,
    /// Lower lanes.
    Less,
    /// Lower lanes and its own.
    LessEqual,
    /// Higher lanes.
    Greater,
    /// Higher lanes and its own.
    GreaterEqual,
}

impl SpecialRegister {
    /// The value of a register of that name that always holds the same.
    pub fn constant(name: &str) -> Option<u64> {
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
    pub fn from_name(name: &str) -> Option<SpecialRegister> {
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
            "%envreg1" => Workspace(WordHalf::High),
            "%envreg2" => Workspace(WordHalf::Low),
            _ => return None,
        })
    }
}
