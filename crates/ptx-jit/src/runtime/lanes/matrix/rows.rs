//! The exchanges between lanes that hold rows of 8 x 8 matrices of halves, and all lanes, which hold two
//! elements of each matrix.

use ptx::RowExchange;

use super::registers::MatrixRegisters;
use crate::runtime::lanes::area::LANES;
use crate::runtime::lanes::widest;

/// A row of eight halves, as it lies in memory.
type Row = [u16; 8];

/// A load of the rows of 8 x 8 matrices by `ldmatrix`.
#[repr(C)]
pub(crate) struct RowLoad {
    /// By lane, the address of a row in shared memory: lane 8 n + i has that of row i of matrix n.
    addresses: *const [u32; LANES],
    /// The host address of the block's shared memory.
    memory: *const u8,
    /// The number of aligned rows that it has room for.
    slots: u64,
    /// The addresses of the lanes of the results.
    results: [*mut [Row; 8]; 4],
    /// Whether all rows lie inside of it, and are aligned; nothing is loaded otherwise.
    are_inside: u32,
}

impl RowLoad {
    pub(crate) const ADDRESSES: usize = std::mem::offset_of!(RowLoad, addresses);
    pub(crate) const MEMORY: usize = std::mem::offset_of!(RowLoad, memory);
    pub(crate) const SLOTS: usize = std::mem::offset_of!(RowLoad, slots);
    pub(crate) const RESULTS: usize = std::mem::offset_of!(RowLoad, results);
    pub(crate) const ARE_INSIDE: usize = std::mem::offset_of!(RowLoad, are_inside);

    /// The bytes of a row.
    pub(crate) const ROW_BYTES: u32 = size_of::<Row>() as u32;
}

/// Loads rows of shared memory, and gives each lane two elements of each matrix, as the number of an
/// exchange says.
pub(crate) unsafe extern "C" fn load_rows(load: *mut RowLoad, number: u32, _: u32) {
    let exchange = RowExchange::numbered(number);
    // SAFETY: native code hands over a load of its own stack.
    let load = unsafe { &mut *load };
    // SAFETY: the lanes of the addresses lie there.
    let addresses = unsafe { &*load.addresses };
    let matrices = usize::from(exchange.count);
    let log = RowLoad::ROW_BYTES.ilog2();
    let is_inside = |&address: &u32| u64::from(address).rotate_right(log) < load.slots;
    load.are_inside = addresses[..8 * matrices].iter().all(is_inside).into();
    if load.are_inside == 0 {
        return;
    }
    widest(
        #[inline(always)]
        || {
            for (addresses, &result) in addresses.chunks_exact(8).zip(&load.results[..matrices]) {
                // SAFETY: the row is inside of the block's shared memory, and aligned, which was just
                // checked; a block runs on one thread, so nobody writes it now.
                let row = |row: usize| unsafe {
                    load.memory.add(addresses[row] as usize).cast::<Row>().read()
                };
                let elements = elements(std::array::from_fn(row), exchange.transposed);
                // SAFETY: all lanes of the result can be written. Where they lie may be less aligned.
                unsafe { result.write_unaligned(elements) };
            }
        },
    );
}

/// The pairs of elements of a matrix that the lanes have, one after the other, from its rows.
#[inline(always)]
fn elements(rows: [Row; 8], transposed: bool) -> [Row; 8] {
    match transposed {
        // Lane l has the elements 2 l and 2 l + 1 in the order of the rows.
        false => rows,
        true => std::array::from_fn(|column| rows.map(|row| row[column])),
    }
}

/// Exchanges the rows in those registers, as the number of an exchange says.
pub(crate) unsafe extern "C" fn exchange_rows(
    registers: *mut MatrixRegisters,
    number: u32,
    _: u32,
) {
    // SAFETY: native code hands over four words and the results of this exchange, and nobody else knows
    // them.
    exchange(unsafe { &mut *registers }, RowExchange::numbered(number));
}

/// The exchange of rows, which are four words of a lane, and elements.
pub(crate) fn exchange(registers: &mut MatrixRegisters, exchange: RowExchange) {
    match exchange.gathers {
        true => gather(registers, exchange.transposed),
        false => spread(registers, exchange),
    }
}

/// Gives each lane two elements of each matrix, whose rows are four words of a lane each.
fn spread(registers: &mut MatrixRegisters, exchange: RowExchange) {
    let words: [[u32; LANES]; 4] = std::array::from_fn(|word| *registers.operand(word));
    for matrix in 0..exchange.count.into() {
        let row = |row: usize| {
            let word = |word: usize| words[word][8 * matrix + row];
            std::array::from_fn(|column| (word(column / 2) >> (column % 2 * 16)) as u16)
        };
        let elements = elements(std::array::from_fn(row), exchange.transposed);
        let pairs: &mut [[u16; 2]; LANES] = registers.result(matrix);
        pairs.as_flattened_mut().copy_from_slice(elements.as_flattened());
    }
}

/// Gives the lanes from 8 n on the rows of matrix n, of which each lane has two elements.
fn gather(registers: &mut MatrixRegisters, transposed: bool) {
    let pairs: [[[u16; 2]; LANES]; 4] = std::array::from_fn(|matrix| *registers.operand(matrix));
    for word in 0..4 {
        let result: &mut [[u16; 2]; LANES] = registers.result(word);
        for (lane, value) in result.iter_mut().enumerate() {
            let (matrix, row) = (lane / 8, lane % 8);
            *value = match transposed {
                false => pairs[matrix][4 * row + word],
                // Row and column change places: element `row` of the rows 2 word and 2 word + 1.
                true => [0, 1].map(|next| pairs[matrix][4 * (2 * word + next) + row / 2][row % 2]),
            };
        }
    }
}
