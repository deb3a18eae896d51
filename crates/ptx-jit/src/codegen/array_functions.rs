//! The functions over arrays of lanes that native code calls, as imports of every module.
//!
//! The code of a vector operation is made without its module at hand. So these functions are declared
//! first in each, and have the same numbers in all. By their addresses, which differ from process to
//! process, code could be called as well, but not be kept for other processes.

use cranelift_codegen::ir::{
    AbiParam, ExtFuncData, ExternalName, FuncRef, Function, Signature, UserExternalName, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Linkage, Module};

use super::jit_module::describe;
use crate::runtime::{
    self, Area, BitsCall, ConvertCall, FloatCall, HalfCall, IntegerCall, MatrixRegisters, RowLoad,
    WarpCall,
};

/// A function that gets the address of an array, and two words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayFunction {
    Bits,
    Convert,
    Float,
    Half,
    Integer,
    Warp,
    MultiplyMatrices,
    ExchangeRows,
    LoadRows,
}

/// A function of lanes: it is told which of those that it stands for is asked for.
type LaneEntry<C> = unsafe extern "C" fn(*mut Area, C, u32);

type RowEntry = unsafe extern "C" fn(*mut RowLoad, u32, u32);

type MatrixEntry = unsafe extern "C" fn(*mut MatrixRegisters, u32, u32);

/// Cranelift's namespace of a module's functions.
const FUNCTIONS: u32 = 0;

impl ArrayFunction {
    const ALL: [ArrayFunction; 9] = [
        ArrayFunction::Bits,
        ArrayFunction::Convert,
        ArrayFunction::Float,
        ArrayFunction::Half,
        ArrayFunction::Integer,
        ArrayFunction::Warp,
        ArrayFunction::MultiplyMatrices,
        ArrayFunction::ExchangeRows,
        ArrayFunction::LoadRows,
    ];

    /// The symbol and the address.
    fn symbol(self) -> (&'static str, usize) {
        match self {
            ArrayFunction::Bits => ("lanes_bits", runtime::bits as LaneEntry<BitsCall> as usize),
            ArrayFunction::Convert => {
                ("lanes_convert", runtime::convert as LaneEntry<ConvertCall> as usize)
            }
            ArrayFunction::Float => {
                ("lanes_float", runtime::float as LaneEntry<FloatCall> as usize)
            }
            ArrayFunction::Half => ("lanes_half", runtime::half as LaneEntry<HalfCall> as usize),
            ArrayFunction::Integer => {
                ("lanes_integer", runtime::integer as LaneEntry<IntegerCall> as usize)
            }
            ArrayFunction::Warp => ("lanes_warp", runtime::warp as LaneEntry<WarpCall> as usize),
            ArrayFunction::MultiplyMatrices => {
                ("lanes_multiply_matrices", runtime::multiply_matrices as MatrixEntry as usize)
            }
            ArrayFunction::ExchangeRows => {
                ("lanes_exchange_rows", runtime::exchange_rows as MatrixEntry as usize)
            }
            ArrayFunction::LoadRows => ("lanes_load_rows", runtime::load_rows as RowEntry as usize),
        }
    }

    /// Tells a module's builder the addresses.
    pub(super) fn add_symbols(builder: &mut JITBuilder) {
        for (name, address) in ArrayFunction::ALL.map(ArrayFunction::symbol) {
            builder.symbol(name, address as *const u8);
        }
    }

    /// Declares all of them in a module that has no function so far.
    ///
    /// # Errors
    /// The module has functions.
    pub(super) fn declare_all(module: &mut JITModule) -> Result<(), String> {
        let signature = signature(module.target_config().default_call_conv);
        for function in ArrayFunction::ALL {
            let (name, _) = function.symbol();
            let id =
                module.declare_function(name, Linkage::Import, &signature).map_err(describe)?;
            if id.as_u32() != function as u32 {
                return Err(format!("{name} is function {id} of its module"));
            }
        }
        Ok(())
    }

    /// The function in a caller's code.
    pub(super) fn import(self, caller: &mut Function) -> FuncRef {
        let name = UserExternalName::new(FUNCTIONS, self as u32);
        let name = ExternalName::User(caller.declare_imported_user_function(name));
        let known = caller.dfg.ext_funcs.iter().find(|(_, data)| data.name == name);
        if let Some((known, _)) = known {
            return known;
        }
        let signature = signature(caller.signature.call_conv);
        let signature = caller.import_signature(signature);
        caller.import_function(ExtFuncData { name, signature, colocated: false, patchable: false })
    }
}

fn signature(convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend([types::I64, types::I32, types::I32].map(AbiParam::new));
    signature
}
